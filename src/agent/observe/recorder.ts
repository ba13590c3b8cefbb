import { callUnawaited, syncAnswer } from '../../core/callbacks/callbacks.ts'
import { messageOf, show } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import { isJsonObject, type Json } from '../../core/messages.ts'
import type { ChatModel, ModelResponse } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { ToolCallEnd } from '../../tools/tool-runner.ts'
import type { Durable } from '../journal/journal.ts'
import type { AroundModel, ModelCall } from '../types/model-call.ts'
import type { RunResult } from '../types/result.ts'
import type { AroundTool, RunningCall } from '../types/running-call.ts'

/** A run, as passed to its recorder. */
export interface RecordedScope {
  readonly runId: string
  /** The call of another run that started this run. */
  readonly within: { runId: string; toolCallId: string | undefined } | undefined
  readonly agent: { readonly model: ChatModel; readonly offered: ToolSet; readonly callbacks: { around: { calls: readonly unknown[] } } }
  /** All settings of the run, including code. */
  readonly settings: object
  /** Whether the run continues after a turn that an earlier execution has recorded. */
  readonly resumed: boolean
  readonly interruption: 'aborted' | 'deadline' | undefined
  interrupt(why: 'aborted' | 'deadline'): void
}

/**
 * Records the inputs and results of a run and of its nested runs, so that the run can be replayed.
 *
 * Contract of all methods: called synchronously, not awaited. If one throws, the error is logged and the run continues.
 */
export interface RunRecorder {
  /** An execution starts: the first one, or one that continues the run. `input`: the input as a journal would record it. */
  begins(run: RecordedScope, input: Json): void
  /**
   * Called before a step is executed, and after a wait under `key` has ended. The returned function is called with the step's value before
   * it is recorded, or with the decision after a wait. `about`: the pending item that was decided.
   */
  step(run: RecordedScope, key: string, about: object | undefined): (value: unknown) => void
  /**
   * Called before a request that hooks may answer themselves. The returned function is called with the response, whether it came from a
   * hook or from the model.
   */
  asks(run: RecordedScope, call: Pick<ModelCall, 'model' | 'request'>): (response: ModelResponse) => void
  /** Returns the model to ask instead of `model`. It is called inside hooks and guardrails, so it sees the final requests. */
  watched(run: RecordedScope, model: ChatModel): ChatModel
  /** Called before a tool is started, inside hooks and guardrails. The returned function is called with the call's end. */
  calls(run: RecordedScope, call: RunningCall): (end: ToolCallEnd) => void
  ended(run: RecordedScope, result: RunResult): void
}

/** Wraps the recorder so that its failures don't affect the run. Logs the first failure of each method. */
export function failSafe(recorder: RunRecorder, runId: string, logger: Logger): RunRecorder {
  const failed = new Set<string>()
  const fail = (method: string) => (error: unknown) => {
    if (!failed.has(method)) logger.error({ runId, method, error: messageOf(error) }, 'the recorder failed; the run continues')
    failed.add(method)
  }
  const tell = (method: string, call: () => unknown) => callUnawaited(call, fail(method))
  const ask = <T>(method: string, call: () => T, isOne: (answer: T) => boolean): T | undefined => {
    try {
      const answer = syncAnswer(method, call())
      if (isOne(answer)) return answer
      throw new TypeError(`Expected \`${method}\` of a recorder to return something else, got \`${show(answer)}\``)
    } catch (error) {
      fail(method)(error)
      return undefined
    }
  }
  const isFunction = (answer: unknown) => typeof answer === 'function'
  return {
    begins: (...given) => tell('begins', () => recorder.begins(...given)),
    step: (...given) => {
      const done = ask('step', () => recorder.step(...given), isFunction)
      return (value) => tell('step', () => done?.(value))
    },
    asks: (...given) => {
      const answered = ask('asks', () => recorder.asks(...given), isFunction)
      return (response) => tell('asks', () => answered?.(response))
    },
    watched: (run, model) =>
      ask(
        'watched',
        () => recorder.watched(run, model),
        (watched) => typeof watched?.generate === 'function',
      ) ?? model,
    calls: (...given) => {
      const ended = ask('calls', () => recorder.calls(...given), isFunction)
      return (end) => tell('calls', () => ended?.(end))
    },
    ended: (...given) => tell('ended', () => recorder.ended(...given)),
  }
}

/** Wraps the steps of a run, and reports steps and waits to the recorder. */
export function reportedSteps(steps: Durable, run: RecordedScope, recorder: RunRecorder): Durable {
  return aroundSteps(steps, {
    step: (key, fn, about) =>
      steps.step(
        key,
        async (step) => {
          const done = recorder.step(run, key, about)
          const value = await fn(step)
          done(value)
          return value
        },
        about,
      ),
    async wait<T extends Json>(...given: Parameters<Durable['wait']>) {
      const value = await steps.wait<T>(...given)
      const [place, { about } = {}] = given
      if (value !== undefined && isJsonObject(about)) recorder.step(run, place, about)(value)
      return value
    },
  })
}

/** Wraps the hooks that wrap a request. */
export function recordAnswers(run: RecordedScope, recorder: RunRecorder): AroundModel {
  return (next) => async (call) => {
    const answered = recorder.asks(run, call)
    const response = await next(call)
    answered(response)
    return response
  }
}

export function recordRequests(run: RecordedScope, recorder: RunRecorder): AroundModel {
  return (next) => (call) => next({ ...call, model: recorder.watched(run, call.model) })
}

export function recordCalls(run: RecordedScope, recorder: RunRecorder): AroundTool {
  return (next) => async (call) => {
    const ended = recorder.calls(run, call)
    const outcome = await next(call)
    if (outcome.end.outcome !== 'uncertain') ended(outcome.end)
    return outcome
  }
}

/** The methods that replace a journal port's own steps and waits. */
export type AroundSteps = Pick<Durable, 'step' | 'wait'>

/** Returns a port whose other methods are unchanged. */
export function aroundSteps(steps: Durable, around: AroundSteps): Durable {
  return new Proxy(steps, {
    get(port, name) {
      if (name === 'step' || name === 'wait') return around[name].bind(around)
      const own: unknown = Reflect.get(port, name)
      return typeof own === 'function' ? own.bind(port) : own
    },
  })
}
