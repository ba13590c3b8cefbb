import type { Json } from '../messages.ts'

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
  /** Waits for a value delivered from outside; null when the time is over. */
  wait<T extends Json>(name: string, options?: { timeoutMs?: number; about?: Json }): Promise<T | null>
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

/** The port when nothing is recorded: every step simply runs. */
export function inMemory(runId: string, signal: AbortSignal): Durable {
  return {
    runId,
    attempt: runId,
    survivesCrashes: false,
    step: (key, fn) => fn({ idempotencyKey: `${runId}/${key}`, signal }),
    all: (steps) => Promise.all(steps),
    wait: async () => null,
  }
}
