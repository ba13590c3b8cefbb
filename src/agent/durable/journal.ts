import { copyAsJson } from '../../core/json.ts'
import type { Json } from '../../core/messages.ts'

/** What a step is given: the key that stays the same over every attempt at it, and the signal that ends it. */
export interface StepContext {
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

/**
 * The port the loop is written against. Outside `step` and `wait` the loop computes only from its input and from recorded values,
 * so that running it again over the recorded values takes it to where it was.
 */
export interface Durable {
  readonly runId: string
  /** Random for each execution of the run; compared only inside a step. */
  readonly attempt: string
  /** Whether recorded values outlive the process. */
  readonly survivesCrashes: boolean
  /**
   * Runs `fn` and records its value under `key`, or gives the recorded value without running it. The value is plain JSON (the type
   * can't say so: an interface is never assignable to `Json`). Rejects only for a fault of the engine.
   */
  step<T>(key: string, fn: (step: StepContext) => Promise<T>): Promise<T>
  /** Joins steps that were started in the same tick; resolves in their order. */
  all<T>(steps: Promise<T>[]): Promise<T[]>
  /**
   * Waits for a value delivered from outside; null when the time is over. Undefined where nothing outlives the process to wait in: the run
   * has to pause.
   */
  wait<T extends Json>(name: string, options?: { timeoutMs?: number; about?: Json }): Promise<T | null | undefined>
}

/** The workflow a journal runs: the loop, from its JSON input to its JSON output. */
export type DurableBody = (durable: Durable, input: Json) => Promise<Json>

/** What the host sees of a journal that has been given the loop. */
export interface Engine {
  /** Starts the run, or takes it up again if it is known. Resolves when it is recorded. */
  start(runId: string, input: Json): Promise<void>
  /** Hands a value to the `wait` of that name. */
  deliver(runId: string, name: string, value: Json): Promise<void>
  cancel(runId: string, reason?: string): Promise<void>
  /** The run's output, once it has one. Rejects for a fault of the engine. */
  result(runId: string): Promise<Json>
  /** Ids of the runs that have no output yet. */
  pending(): Promise<string[]>
}

/** A place where runs are kept. `connect` is called once by each runner. */
export interface Journal {
  connect(body: DurableBody): Engine
}

/** What an event carries of the step it came from, where that step may be carried out again. */
export type StepTags = { step?: string; attempt?: string }

export function tagsOf({ survivesCrashes, attempt }: Durable, key: string): StepTags {
  return survivesCrashes ? { step: key, attempt } : {}
}

/** What a run in memory has come to, as plain JSON. */
export interface RecordedSteps {
  steps: { [key: string]: Json }
  decisions: { [place: string]: Json }
  waitingSince: { [place: string]: number }
  /** By which time what waits already is judged. Default: the time at which it is looked at. */
  asOf?: number
}

/** The port in memory. What its steps come to is kept, so that a run that has to wait can be taken up again from there, anywhere. */
export class InMemory implements Durable {
  readonly runId: string
  readonly attempt: string
  readonly survivesCrashes = false
  readonly #signal: AbortSignal
  readonly #steps: Map<string, unknown>
  readonly #decisions: RecordedSteps['decisions']
  readonly #waitingSince: RecordedSteps['waitingSince']
  readonly #asOf: number | undefined

  constructor(
    runId: string,
    signal: AbortSignal,
    { steps, decisions, waitingSince, asOf }: RecordedSteps = { steps: {}, decisions: {}, waitingSince: {} },
  ) {
    this.#asOf = asOf
    this.runId = runId
    this.attempt = runId
    this.#signal = signal
    this.#steps = new Map(Object.entries(steps))
    this.#decisions = decisions
    this.#waitingSince = { ...waitingSince }
  }

  async step<T>(key: string, fn: (step: StepContext) => Promise<T>): Promise<T> {
    if (this.#steps.has(key)) return this.#steps.get(key) as T
    const value = await fn({ idempotencyKey: `${this.runId}/${key}`, signal: this.#signal })
    this.#steps.set(key, value)
    return value
  }

  all<T>(steps: Promise<T>[]): Promise<T[]> {
    return Promise.all(steps)
  }

  async wait<T extends Json>(name: string, { timeoutMs }: { timeoutMs?: number } = {}): Promise<T | null | undefined> {
    const waited = this.#waitingSince[name]
    const since = waited ?? Date.now()
    this.#waitingSince[name] = since
    if (Object.hasOwn(this.#decisions, name)) return this.#decisions[name] as T
    const now = waited === undefined ? since : (this.#asOf ?? Date.now())
    return timeoutMs !== undefined && now - since >= timeoutMs ? null : undefined
  }

  /** What there is to go on from: without what is done anew by each execution. */
  recorded(): RecordedSteps {
    const steps = [...this.#steps].filter(([key]) => key !== 'start' && key !== 'end' && !/^\d+\.pause$/.test(key))
    return copyAsJson({
      steps: Object.fromEntries(steps) as RecordedSteps['steps'],
      decisions: this.#decisions,
      waitingSince: this.#waitingSince,
    })
  }
}
