import type { Durable, DurableBody, Engine, Journal, KeptRun } from '../../../agent/journal/journal.ts'
import type { ShownRuns } from '../../../agent/journal/shown-runs.ts'
import type { Json } from '../../../core/messages.ts'
import type { ServiceRun } from '../service-run.ts'
import { wordsOf } from '../stored-run.ts'
import { isJournalFault, RunsElsewhere } from './problems.ts'
import { allEvents, headOf, type StoredHead } from './stored-rows.ts'
import { watchedSteps } from './watched-steps.ts'

interface RunJournalParts {
  journal: Journal
  shown: ShownRuns
  /** Returns the run if this process follows it. */
  runOf(runId: string): ServiceRun | undefined
}

/**
 * The journal as the service's runners see it. It stores the head of a run with its input, and tells readers of the run when an execution
 * starts. A run that was given up meanwhile ends without being executed.
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
        const recorded = input === undefined || run === undefined ? input : ({ head: headOf(run), run: input } as never)
        await engine.start(runId, recorded, metadata, run?.head.thread)
        // A runner resumes a known run when decisions have been stored.
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

  /** Reads the head of a run in the journal; undefined if it is unknown. */
  async headOf(runId: string): Promise<StoredHead | undefined> {
    const kept = await this.#engine?.get?.(runId)
    return kept && inputOf(kept).head
  }

  async #execute(body: DurableBody, durable: Durable, { head, run: input }: RecordedInput): Promise<Json> {
    const { runId, attempt, epoch, signal } = durable
    const { shown, runOf } = this.#parts
    try {
      const run = runOf(runId)
      const title = run?.title ?? ''
      const { caller, agent, thread, request, tags } = head
      const createdAt = Date.parse(head.createdAt)
      const words = wordsOf(runId, head)
      const record = { runId, caller: caller.name, agent, thread, request, tags, title, words, createdAt, head: JSON.stringify(head) }
      const begun = await shown.begin(record, { attempt, epoch })
      if (begun === undefined) return abortedOutput(runId)
      if (run === undefined) return await body(durable, input)
      run.beginAttempt(attempt)
      if (run.log.lastId !== begun.lastEventId) run.log.fill(await allEvents(shown, runId), begun.lastEventId)
      return await body(watchedSteps(durable, run, shown), input)
    } catch (error) {
      // A cancelled run ends, even if it could not be resumed.
      if (signal?.aborted && !isJournalFault(error)) return abortedOutput(runId)
      throw error
    }
  }

  /** Rejects with `RunsElsewhere`. */
  async #checkHere(engine: Engine, runId: string, isDecided: boolean): Promise<void> {
    if (engine.isHere?.(runId) || this.#parts.runOf(runId) === undefined) return
    if ((await engine.get?.(runId))?.status === 'running' && !engine.isHere?.(runId)) throw new RunsElsewhere(runId, isDecided)
  }
}

interface RecordedInput {
  head: StoredHead
  run: Json
}

function inputOf({ input }: Pick<KeptRun, 'input'>): RecordedInput {
  return input as never
}

/** The recorded form of an aborted run's output. */
function abortedOutput(runId: string): Json {
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  const nothing = { output: '', text: '', messages: [], newMessages: [], usage, iterations: 0, steps: [], toolCalls: [], pending: [] }
  return { runId, ...nothing, stopReason: 'aborted', error: { code: 'aborted', message: 'The run was given up' } }
}
