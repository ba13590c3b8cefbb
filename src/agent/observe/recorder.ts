import { callUnawaited, syncAnswer } from '../../core/callbacks/callbacks.ts'
import { messageOf, show } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import type { Json, JsonObject } from '../../core/messages.ts'
import type { ChatModel, ModelResponse } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { ToolCallEnd } from '../../tools/tool-runner.ts'
import type { AroundTool, RunningCall } from '../calls/running-call.ts'
import type { Steering } from '../recorded.ts'
import type { RunResult } from '../run/result.ts'
import type { AroundModel, ModelCall } from '../turn/model-call.ts'

/** A run, as its recorder sees it. */
export interface RecordedScope {
  readonly runId: string
  /** The call of another run that it is made in. */
  readonly within: { runId: string; toolCallId: string | undefined } | undefined
  readonly agent: { readonly model: ChatModel; readonly offered: ToolSet; readonly callbacks: { around: { calls: readonly unknown[] } } }
  /** All that it was given, code too. */
  readonly settings: object
  /** Whether it goes on from a turn that an execution before this one has recorded. */
  readonly resumed: boolean
  readonly interruption: 'aborted' | 'deadline' | undefined
  interrupt(why: 'aborted' | 'deadline'): void
}

/** What was decided on a call: by `approve`, or by whoever resumed the run. */
export interface RecordedVerdict {
  /** Where in the run it was waited for. */
  place: string
  toolCallId: string
  tool: string
  args: JsonObject
  verdict: object
}

/**
 * Notes all that a run is given and that comes of it, so that the run can be played again; runs inside its calls too. Called synchronously, as
 * near to the model and the tools as can be: inside of hooks and guardrails. What one of its methods throws is logged, and the run goes on.
 */
export interface RunRecorder {
  /** An execution begins: the first, or one that goes on. `input` is what a journal would record of it. */
  begins(run: RecordedScope, input: Json): void
  /** A request is about to be made that hooks may answer by themselves; what it gives is called with the response, whosever it is. */
  asks(run: RecordedScope, call: Pick<ModelCall, 'model' | 'request'>): (response: ModelResponse) => void
  /** The model to ask in place of `model`. */
  watched(run: RecordedScope, model: ChatModel): ChatModel
  /** A call is about to run; what it gives is called with the call's end. */
  calls(run: RecordedScope, call: RunningCall): (end: ToolCallEnd) => void
  decided(run: RecordedScope, decision: RecordedVerdict): void
  steered(run: RecordedScope, steering: Steering): void
  ended(run: RecordedScope, result: RunResult): void
}

/** The recorder, whose failures are logged, each method's once, and change nothing about the run. */
export function failSafe(recorder: RunRecorder, runId: string, logger: Logger): RunRecorder {
  const failed = new Set<string>()
  const fail = (method: string) => (error: unknown) => {
    if (!failed.has(method)) logger.error({ runId, method, error: messageOf(error) }, 'the recorder failed; the run goes on')
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
    decided: (...given) => tell('decided', () => recorder.decided(...given)),
    steered: (...given) => tell('steered', () => recorder.steered(...given)),
    ended: (...given) => tell('ended', () => recorder.ended(...given)),
  }
}

/** Stands around the hooks that stand around a request. */
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
