import { InvalidOptionError, messageOf, ToolloopError } from '../../core/errors.ts'
import { isJsonObject, type Json, storedText } from '../../core/messages.ts'
import { giveWay } from '../../core/time/give-way.ts'
import {
  type DurableBody,
  type Engine,
  type Journal,
  type KeptRun,
  loopVersion,
  type PruneOptions,
  type RunPage,
  type RunQuery,
  waitsOf,
} from './journal.ts'
import { type Release, Releases, TakeOver, type TakeOverOptions, type Trial, Trials } from './recovery.ts'
import {
  type EngineStore,
  type ExecutionOutcome,
  type NamedValue,
  type NewRun,
  parseStored,
  type Store,
  type Taken,
  unknownRun,
} from './store.ts'
import { hasEngine, StoredSteps } from './stored-steps.ts'

/** How often to look for runs and cancellations of other processes and to retry failed releases, in milliseconds. */
const lookEveryMs = 200

/**
 * A journal that stores its runs in `store`. With `takeOver`, a process that has started a run or called `pending` resumes runs that no
 * process executes. Without `takeOver`, only `start` resumes runs. `maxTakeOvers`: a run is ended after this number of processes in a row
 * have died while executing it. A recorded step resets the count. Default 10.
 */
export function storeJournal(
  store: Store | EngineStore,
  { takeOver, maxTakeOvers = 10 }: { takeOver?: TakeOverOptions | undefined; maxTakeOvers?: number | undefined } = {},
): Journal & { close(): Promise<void> } {
  return new StoreJournal(store, takeOver, maxTakeOvers)
}

/** Throws `invalid_option` if `maxTakeOvers` is invalid. */
export function checkMaxTakeOvers(maxTakeOvers: number | undefined): void {
  if (maxTakeOvers === undefined || maxTakeOvers === Number.POSITIVE_INFINITY) return
  if (!Number.isSafeInteger(maxTakeOvers) || maxTakeOvers < 1) throw new InvalidOptionError('maxTakeOvers', 'an integer ≥ 1', maxTakeOvers)
}

/** A run that this process executes. */
interface Running {
  readonly body: DurableBody
  readonly controller: AbortController
  output: Promise<Json>
  durable?: StoredSteps
  /** Rejects when the connection releases the run, even if the execution still waits. */
  readonly left: PromiseWithResolvers<never>
}

/** The arguments of one execution. */
interface Execution {
  running: Running
  runId: string
  taken: Taken
  input: string
  trial: Trial | undefined
  givenUp?: string
}

/** The outcome of an execution that has ended or waits. */
interface Executed extends ExecutionOutcome {
  output: Json
  durable: StoredSteps
}

class StoreJournal implements Journal {
  readonly #store: Store | EngineStore
  readonly #takeOverOptions: TakeOverOptions | undefined
  readonly #trials: Trials
  readonly #takingOver: TakeOver[] = []
  readonly #executions = new Map<string, Running>()
  readonly #starting = new Map<string, Promise<Running | undefined>>()
  /** Connections that no longer execute runs, with the reason. */
  readonly #left = new Map<DurableBody, ToolloopError>()
  readonly #releases: Releases
  #looking: NodeJS.Timeout | undefined
  #isLooking = false
  #closed = false

  constructor(store: Store | EngineStore, takeOver: TakeOverOptions | undefined, maxTakeOvers: number) {
    this.#store = store
    this.#takeOverOptions = takeOver
    this.#releases = new Releases(store)
    this.#trials = new Trials(store, maxTakeOvers)
    store.onLost?.((problem) => this.#abortAll(problem))
  }

  connect(body: DurableBody): Engine {
    const store = this.#store
    const pending = async () => {
      await this.#releases.retry()
      return (await store.pending()).filter((runId) => !this.#executions.has(runId) && !this.#releases.has(runId))
    }
    const takeOver = this.#takeOver(body, pending)
    return {
      start: async (runId, input, metadata, session) => {
        takeOver?.begin()
        await this.#start(body, runId, input, { metadata, session })
      },
      deliver: (runId, values) =>
        store.deliver(
          runId,
          Object.entries(values).map(([name, value]) => ({ name, value: storedText(value) })),
        ),
      cancel: (runId, reason) => this.#cancel(body, runId, reason),
      result: (runId) => this.#result(body, runId),
      pending: () => {
        takeOver?.begin()
        return pending()
      },
      get: (runId) => this.#get(runId),
      news: async (runId, known) => {
        const news = await store.news(runId, known)
        return news && { ...news, steps: news.steps.map(({ name, value }) => [name, parseStored(value, runId, name)]) }
      },
      isHere: (runId) => this.#executions.has(runId),
      list: (query: RunQuery): Promise<RunPage> => store.list(query),
      prune: (which: PruneOptions) => store.prune(which),
      close: async (drained, problem) => {
        takeOver?.end()
        await drained
        await this.#leave(body, problem)
      },
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const takeOver of this.#takingOver) takeOver.end()
    clearInterval(this.#looking)
    // Once the store is closed, the results of ended calls can no longer be recorded.
    if (this.#releases.size > 0 && !hasEngine(this.#store)) await this.#releases.retry()
    try {
      await this.#store.close(this.#trials.counts())
    } finally {
      // Runs are aborted only now, because an abort ends calls, and these ends must not be recorded.
      this.#abortAll(new ToolloopError('journal_failed', 'The journal was closed'))
    }
  }

  /** Releases all runs of a connection. Stops recording first, then ends the executions. */
  async #leave(body: DurableBody, problem: ToolloopError): Promise<void> {
    this.#left.set(body, problem)
    await Promise.allSettled(this.#starting.values())
    const left = [...this.#executions.values()].filter((running) => running.body === body)
    for (const running of left) {
      running.durable?.leave(problem)
      running.left.reject(problem)
      running.controller.abort(problem)
    }
    await Promise.allSettled(left.map(({ output }) => output))
  }

  #takeOver(body: DurableBody, pending: () => Promise<string[]>): TakeOver | undefined {
    if (this.#takeOverOptions === undefined) return undefined
    const execute = async (runId: string) => (await this.#start(body, runId))?.output
    const takeOver = new TakeOver(this.#takeOverOptions, { pending, execute })
    this.#takingOver.push(takeOver)
    return takeOver
  }

  #abortAll(problem: ToolloopError): void {
    for (const { controller } of this.#executions.values()) controller.abort(problem)
  }

  /**
   * Takes the run if no process executes it, and returns its execution. Undefined if another process executes the run, or if the run can't
   * continue. Concurrent callers share one attempt to take the run.
   */
  #start(body: DurableBody, runId: string, input?: Json, about?: Pick<NewRun, 'metadata' | 'session'>): Promise<Running | undefined> {
    const under = this.#starting.get(runId)
    if (under !== undefined) return under
    const here = this.#executions.get(runId)
    if (here !== undefined) return Promise.resolve(here)
    const starting = this.#take(body, runId, input, about).finally(() => this.#starting.delete(runId))
    this.#starting.set(runId, starting)
    return starting
  }

  async #take(body: DurableBody, runId: string, input?: Json, about?: Pick<NewRun, 'metadata' | 'session'>): Promise<Running | undefined> {
    const created = input === undefined ? undefined : { ...about, input: storedText(input), loop: loopVersion }
    this.#checkHere(body)
    await this.#releases.settle(runId)
    const taken = await this.#store.take(runId, created)
    if (taken.kind !== 'taken') return undefined
    const left = Promise.withResolvers<never>()
    left.promise.catch(() => {})
    const running: Running = { body, controller: new AbortController(), output: Promise.resolve(null), left }
    running.output = this.#execute(running, runId, taken, taken.input ?? created?.input ?? 'null')
    // Prevents an unhandled rejection if nobody asks for the result.
    running.output.catch(() => {})
    this.#executions.set(runId, running)
    this.#keepLooking()
    return running
  }

  #checkHere(body: DurableBody): void {
    const left = this.#left.get(body)
    if (left !== undefined) throw left
  }

  /** Executes the run until it has ended or has to wait longer. */
  async #execute(running: Running, runId: string, first: Taken, input: string): Promise<Json> {
    const { body, controller } = running
    let taken = first
    let trial: Trial | undefined
    try {
      if (first.cancelled !== undefined) controller.abort(first.cancelled)
      trial = await this.#openTrial(running, runId, first)
      const refusal = this.#trials.refusal(first)
      if (refusal !== undefined) controller.abort(refusal)
      const givenUp = refusal !== undefined && this.#trials.isGivenUp(first) ? { givenUp: refusal } : {}
      for (;;) {
        this.#checkHere(body)
        const executing = this.#executeOnce({ running, runId, taken, input, trial, ...givenUp })
        const { output, durable, ...outcome } = await Promise.race([executing, running.left.promise])
        const waits = waitsOf(output)
        if (waits === undefined) {
          await this.#store.finish(runId, taken.epoch, storedText(output), outcome)
          return output
        }
        await trial?.pass()
        const next = await this.#store.suspend(runId, taken.epoch, durable.suspension(output, waits, outcome.model))
        if (next === undefined) return output
        taken = next
        if (taken.cancelled !== undefined) controller.abort(taken.cancelled)
      }
    } catch (error) {
      controller.abort(error)
      // If the connection has left, the run was released on purpose, so there is no problem to store.
      const problem = this.#left.has(body) ? undefined : messageOf(error)
      const args: Release['args'] = [runId, taken.epoch, problem, trial?.untried.tries]
      // A closed store has already released all runs.
      if (!this.#closed) await this.#releases.add({ args, unrecorded: running.durable?.unrecorded ?? [] })
      throw error
    } finally {
      if (trial !== undefined) this.#trials.end(trial)
      this.#executions.delete(runId)
      this.#keepLooking()
    }
  }

  /** Resolves when the run may start, and rejects if the run is released first. */
  async #openTrial(running: Running, runId: string, taken: Taken): Promise<Trial | undefined> {
    const opening = this.#trials.open(runId, taken, running.controller.signal)
    try {
      return await Promise.race([opening, running.left.promise])
    } catch (error) {
      const end = (late: Trial | undefined) => late && this.#trials.end(late)
      opening.then(end, () => {})
      throw error
    }
  }

  #executeOnce({ running, runId, taken, input, ...begun }: Execution): Promise<Executed> {
    const store = this.#store
    const { body, controller } = running
    const work = async (steps: readonly NamedValue[]): Promise<Executed> => {
      this.#checkHere(body)
      const durable = new StoredSteps(store, runId, { ...taken, ...begun, steps }, controller.signal)
      running.durable = durable
      const output = await body(durable, parseStored(input, runId, 'input'))
      return { output, durable, ...outcomeOf(output) }
    }
    return hasEngine(store) ? store.execute(runId, taken.epoch, work) : work(taken.steps)
  }

  /** Starts the periodic check for cancelled runs and failed releases, or stops it if there is nothing to check. */
  #keepLooking(): void {
    if (!this.#closed && this.#executions.size + this.#releases.size > 0) {
      this.#looking ??= setInterval(() => void this.#look(), lookEveryMs).unref()
    } else {
      clearInterval(this.#looking)
      this.#looking = undefined
    }
  }

  async #look(): Promise<void> {
    // If the store is locked, a check may take longer than the time between two checks.
    if (this.#isLooking) return
    this.#isLooking = true
    await this.#releases.retry()
    if (this.#executions.size > 0) await this.#lookForCancelled()
    this.#isLooking = false
    this.#keepLooking()
  }

  async #cancel(body: DurableBody, runId: string, reason = 'cancelled'): Promise<void> {
    await this.#store.cancel(runId, reason)
    await this.#starting.get(runId)
    this.#executions.get(runId)?.controller.abort(reason)
    // A cancelled run that waits, or whose process has died, ends only if it is executed.
    if (!this.#left.has(body)) await this.#start(body, runId)
  }

  async #lookForCancelled(): Promise<void> {
    try {
      for (const { runId, reason } of await this.#store.cancelled()) this.#executions.get(runId)?.controller.abort(reason)
    } catch {
      // A failure of the store is ignored, because the run's next step gets the error, and the next check follows soon.
    }
  }

  async #result(body: DurableBody, runId: string): Promise<Json> {
    for (;;) {
      const here = this.#executions.get(runId)
      if (here !== undefined) return here.output
      const run = await this.#store.get(runId)
      if (run === undefined) throw unknownRun(runId)
      if (run.status !== 'running' && run.output !== undefined) return parseStored(run.output, runId, 'output')
      // Another process executes the run. If that process dies, the run continues here.
      const taken = await this.#start(body, runId)
      // The execution may have failed already; its error is thrown here.
      if (taken !== undefined) return taken.output
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
    }
  }

  async #get(runId: string): Promise<KeptRun | undefined> {
    const run = await this.#store.get(runId)
    if (run === undefined) return undefined
    // Yields to the event loop, because many large results may be read at once.
    await giveWay()
    const { input, output, ...rest } = run
    return {
      ...rest,
      input: parseStored(input, runId, 'input'),
      ...(output === undefined ? {} : { output: parseStored(output, runId, 'output') }),
    }
  }
}

function outcomeOf(output: Json): ExecutionOutcome {
  if (!isJsonObject(output) || output.stopReason === undefined) return { stopReason: 'answered' }
  const last = Array.isArray(output.steps) ? output.steps.at(-1) : undefined
  const model = isJsonObject(last) ? { model: `${last.provider}/${last.model}` } : {}
  return { stopReason: String(output.stopReason), ...model }
}
