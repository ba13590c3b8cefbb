import {
  type AroundSteps,
  aroundSteps,
  type Durable,
  type DurableBody,
  type Engine,
  type Journal,
  type KeptRun,
  type StepContext,
} from '../../../agent/journal/journal.ts'
import type { ShownRuns } from '../../../agent/journal/shown-runs.ts'
import { isSteering, unreadStep } from '../../../agent/step-keys.ts'
import type { Steering, Turn } from '../../../agent/types/recorded.ts'
import { type ChatMessage, isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import type { ServiceRun } from '../service-run.ts'
import type { RunHead } from '../stored-run.ts'
import { isJournalFault, RunsElsewhere } from './problems.ts'
import { allEvents, rowOf } from './stored-rows.ts'

interface RunJournalParts {
  journal: Journal
  shown: ShownRuns
  /** Returns the run with this id if this process follows it. */
  runOf(runId: string): ServiceRun | undefined
}

/**
 * Wraps the journal for the runners of the service. Stores the head of a run together with the input. A run that was cancelled before its
 * execution starts ends without being executed.
 */
export class RunJournal implements Journal {
  readonly #parts: RunJournalParts
  #engine: Engine | undefined

  constructor(parts: RunJournalParts) {
    this.#parts = parts
  }

  connect(body: DurableBody): Engine {
    const engine = this.#parts.journal.connect((durable, input) => this.#execute(body, durable, input as never))
    this.#engine ??= engine
    return {
      ...engine,
      start: async (runId, input, metadata) => {
        const run = this.#parts.runOf(runId)
        const recorded = input === undefined || run === undefined ? input : ({ head: run.head, run: input } as never)
        await engine.start(runId, recorded, metadata, run?.head.thread)
        // Without an input, the runner resumes a run whose decisions are already stored.
        await this.#checkHere(engine, runId, input === undefined)
      },
      result: async (runId) => {
        await engine.start(runId)
        await this.#checkHere(engine, runId, false)
        return engine.result(runId)
      },
      get: async (runId) => {
        const kept = await engine.get?.(runId)
        return kept && { ...kept, input: inputOf(kept).run }
      },
    }
  }

  /** Reads the head of a run from the journal. Returns undefined if the run is unknown. */
  async headOf(runId: string): Promise<RunHead | undefined> {
    const kept = await this.#engine?.get?.(runId)
    return kept && inputOf(kept).head
  }

  async #execute(body: DurableBody, durable: Durable, { head, run: input }: RecordedInput): Promise<Json> {
    const { runId, attempt, epoch, signal } = durable
    const { shown, runOf } = this.#parts
    try {
      const run = runOf(runId)
      const begun = await shown.begin(rowOf(head, run?.title ?? ''), { attempt, epoch })
      if (begun === undefined) return abortedOutput(runId)
      if (run === undefined) return await body(durable, input)
      run.beginAttempt(attempt)
      if (run.log.lastId !== begun.lastEventId) run.log.fill(await allEvents(shown, runId), begun.lastEventId)
      return await body(watchedSteps(durable, run, shown), input)
    } catch (error) {
      // A run that was cancelled ends even if it can't be resumed.
      if (signal?.aborted && !isJournalFault(error)) return abortedOutput(runId)
      throw error
    }
  }

  /** Rejects with `RunsElsewhere` if another process executes the run. */
  async #checkHere(engine: Engine, runId: string, isDecided: boolean): Promise<void> {
    if (engine.isHere?.(runId) || this.#parts.runOf(runId) === undefined) return
    if ((await engine.get?.(runId))?.status === 'running' && !engine.isHere?.(runId)) throw new RunsElsewhere(runId, isDecided)
  }
}

interface RecordedInput {
  head: RunHead
  run: Json
}

function inputOf({ input }: Pick<KeptRun, 'input'>): RecordedInput {
  return input as never
}

/** The recorded output of an aborted run. */
function abortedOutput(runId: string): Json {
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  const nothing = { output: '', text: '', messages: [], newMessages: [], usage, iterations: 0, steps: [], toolCalls: [], pending: [] }
  return { runId, ...nothing, stopReason: 'aborted', error: { code: 'aborted', message: 'The run was given up' } }
}

/**
 * Wraps the steps of an execution. Collects secrets from recorded steps, and delivers messages that any process has received for the run.
 */
export function watchedSteps(steps: Durable, run: ServiceRun, shown: Pick<ShownRuns, 'messages' | 'closeMessages'>): Durable {
  return aroundSteps(steps, new WatchedSteps(steps, run, shown))
}

class WatchedSteps implements AroundSteps {
  readonly #steps: Durable
  readonly #run: ServiceRun
  readonly #shown: Pick<ShownRuns, 'messages' | 'closeMessages'>
  /** The number of messages that have been delivered to the run. */
  #taken = 0

  constructor(steps: Durable, run: ServiceRun, shown: Pick<ShownRuns, 'messages' | 'closeMessages'>) {
    this.#steps = steps
    this.#run = run
    this.#shown = shown
  }

  async step<T>(key: string, fn: (step: StepContext) => Promise<T>): Promise<T> {
    const steers = isSteering(key)
    let isNew = false
    const value = await this.#steps.step(key, async (step) => {
      isNew = true
      return steers || key === unreadStep ? this.#hear(() => fn(step)) : fn(step)
    })
    if (steers) this.#taken += (value as Steering).messages.length
    else if (!isNew) this.#learn(value as never)
    return value
  }

  async wait<T extends Json>(name: string, options?: { timeoutMs?: number; about?: Json }): Promise<T | null | undefined> {
    const decided = await this.#steps.wait<T>(name, options)
    const about = options?.about
    // A decision may have replaced the arguments of a call, so their secrets are collected, too.
    if (isJsonObject(decided) && isJsonObject(decided.args) && isJsonObject(about))
      this.#run.redactor.learn(String(about.tool), decided.args as JsonObject)
    return decided
  }

  /** Lets the run read its messages. After the last read, the run can't receive any more messages, in any process. */
  async #hear<T>(look: () => Promise<T>): Promise<T> {
    const { control } = this.#run
    for (;;) {
      await this.#bringMessages()
      const heard = await look()
      if (control.listens || (heard as Partial<Steering>).stops) return heard
      // `closeMessages` resolves with false if another message has arrived meanwhile.
      if (await this.#shown.closeMessages(this.#steps.runId, this.#taken + control.waiting.length)) return heard
    }
  }

  async #bringMessages(): Promise<void> {
    const { control } = this.#run
    for (const text of await this.#shown.messages(this.#steps.runId, this.#taken + control.waiting.length)) {
      control.send([JSON.parse(text) as ChatMessage])
    }
  }

  #learn(turn: Partial<Turn> | null): void {
    if (turn === null || turn.kind !== 'reply') return
    for (const { name, args, rawArguments } of turn.planned ?? []) this.#run.redactor.learn(name, args ?? rawArguments)
  }
}
