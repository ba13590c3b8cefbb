import type { ToolloopError } from '../../core/errors.ts'
import { type Json, storedText } from '../../core/messages.ts'
import { endStep, isDoneAgain, isSteering, isTurn, iterationOf, stepOfRecord } from '../step-keys.ts'
import type { Steering } from '../types/recorded.ts'
import type { Durable, RecordEntry, StepContext } from './journal.ts'
import type { Trial } from './recovery.ts'
import { type EngineStore, parseStored, type Store, type Taken } from './store.ts'

/** The data that an execution starts from. */
interface Begun extends Pick<Taken, 'epoch' | 'steps' | 'decisions'> {
  trial: Trial | undefined
  givenUp?: string
}

/**
 * The steps of one execution. Recorded steps return their values. Other steps are executed and recorded, with two exceptions. A step that
 * found no messages for the run is not recorded, because a later recorded step implies that it found none. The end of the run is recorded
 * by `finish` or `suspend`.
 */
export class StoredSteps implements Durable {
  readonly runId: string
  readonly attempt: string = crypto.randomUUID()
  readonly epoch: number
  readonly survivesCrashes = true
  readonly resumed: boolean
  readonly signal: AbortSignal
  readonly givenUp?: string
  readonly #store: Store | EngineStore
  readonly #steps: Map<string, string>
  readonly #decisions: Map<string, string>
  readonly #keys: string[]
  readonly #timeouts = new Map<string, number>()
  readonly #trial: Trial | undefined
  /** The reason why nothing more is recorded. Set when the run is released. */
  #left: ToolloopError | undefined
  /** Functions that record the values that the store could not record before, for example because the disk was full. */
  readonly unrecorded: (() => Promise<void>)[] = []
  /** The steps that are running. */
  readonly #underWay = new Map<string, (problem: ToolloopError) => void>()
  /** Steps that have rejected before their work ended. */
  readonly #brokenOff = new Set<string>()

  constructor(store: Store | EngineStore, runId: string, { epoch, steps, decisions, trial, givenUp }: Begun, signal: AbortSignal) {
    this.#store = store
    this.runId = runId
    this.epoch = epoch
    this.signal = signal
    this.#steps = new Map(steps.map(({ name, value }) => [name, value]))
    this.#keys = [...this.#steps.keys()]
    this.resumed = this.#keys.some(isTurn)
    this.#decisions = new Map(decisions.map(({ name, value }) => [name, value]))
    this.#trial = trial
    if (givenUp !== undefined) this.givenUp = givenUp
  }

  async step<T>(key: string, fn: (step: StepContext) => Promise<T>): Promise<T> {
    const known = this.#steps.get(key)
    if (known !== undefined) {
      // Each value is needed only once, so deleting it saves memory.
      this.#steps.delete(key)
      return parseStored(known, this.runId, key) as T
    }
    if (key === endStep) return this.#orLeft(key, this.#onlyDo(fn))
    let work = fn
    if (isSteering(key)) {
      if (this.#isPast(key)) return silence as T
      const heard = await this.#orLeft(key, this.#onlyDo(fn))
      if (isSilent(heard as Steering)) return heard
      work = () => Promise.resolve(heard)
    }
    const value = await this.#orLeft(key, this.#carryOut(key, work))
    this.#keys.push(key)
    if (this.#trial !== undefined) await this.#trial.pass()
    // The value is parsed, so that it is the same as in a later execution.
    return JSON.parse(value)
  }

  /** Whether a later step of the run is recorded. */
  #isPast(key: string): boolean {
    return [...this.#steps.keys()].some((later) => iterationOf(later) >= iterationOf(key))
  }

  async #onlyDo<T>(fn: (step: StepContext) => Promise<T>): Promise<T> {
    if (this.#left !== undefined) throw this.#left
    return fn({ signal: this.signal })
  }

  /** Releases the run: current steps reject, and their later results are not recorded. */
  leave(problem: ToolloopError): void {
    this.#left = problem
    for (const reject of this.#underWay.values()) reject(problem)
  }

  async #carryOut<T>(key: string, fn: (step: StepContext) => Promise<T>): Promise<string> {
    if (this.#left !== undefined) throw this.#left
    const work = async (): Promise<string> => {
      const done = await fn({ signal: this.signal })
      // If the step has already been rejected, the promise never settles, so that the value is not recorded.
      const isOver = this.#left !== undefined || this.#brokenOff.has(key)
      return isOver ? new Promise<never>(() => {}) : storedText(done ?? null)
    }
    const { runId, epoch } = this
    const store = this.#store
    if (hasEngine(store)) return store.step(runId, epoch, key, work)
    const value = await work()
    try {
      await store.record(runId, epoch, key, value)
    } catch (error) {
      this.unrecorded.push(() => store.record(runId, epoch, key, value))
      throw error
    }
    return value
  }

  #orLeft<T>(key: string, step: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#underWay.set(key, reject)
    step.then(resolve, reject).finally(() => this.#underWay.delete(key))
    return promise
  }

  /** Rejects the step before its work has ended, because the store failed. */
  #breakOff(key: string, problem: ToolloopError): void {
    this.#brokenOff.add(key)
    const reject = this.#underWay.get(key)
    if (reject === undefined) this.leave(problem)
    else reject(problem)
  }

  async all<T>(steps: Promise<T>[]): Promise<T[]> {
    try {
      return await Promise.all(steps)
    } catch (error) {
      // Waits for the other calls that are running, because their results can still be recorded later.
      if (this.unrecorded.length > 0) await Promise.allSettled(steps)
      throw error
    }
  }

  async wait<T extends Json>(name: string, { timeoutMs }: { timeoutMs?: number } = {}): Promise<T | null | undefined> {
    const decided = this.#decisions.get(name)
    if (decided !== undefined) return parseStored(decided, this.runId, name) as T
    if (timeoutMs !== undefined && Number.isFinite(timeoutMs)) this.#timeouts.set(name, timeoutMs)
    return undefined
  }

  keep(name: string, text: string, maxBytes: number): Promise<boolean> {
    const kept = { name, value: storedText(text), bytes: Buffer.byteLength(text) }
    return this.#store.keep(this.runId, this.epoch, kept, maxBytes)
  }

  async kept(name: string): Promise<string | undefined> {
    const value = await this.#store.kept(this.runId, name)
    return value === undefined ? undefined : (parseStored(value, this.runId, name) as string)
  }

  async append(record: string, { value, ...entry }: RecordEntry): Promise<void> {
    if (this.#left !== undefined) throw this.#left
    const { runId, epoch } = this
    const stored = { ...entry, value: storedText(value) }
    const add = () => this.#store.append(runId, epoch, record, stored)
    try {
      await this.#orLeft(`${record} ${entry.position}`, add())
    } catch (error) {
      if (this.#left !== undefined) throw error
      this.unrecorded.push(async () => {
        // The store may have added the entry before it failed.
        if (!(await this.entries(record)).some(({ position }) => position === entry.position)) await add()
      })
      // The name of a record is the key of its call.
      this.#breakOff(stepOfRecord(runId, record), error as ToolloopError)
      throw error
    }
    if (this.#trial !== undefined) await this.#trial.pass()
  }

  async entries(record: string): Promise<RecordEntry[]> {
    const entries = await this.#store.entries(this.runId, record)
    return entries.map(({ value, ...entry }) => ({ ...entry, value: parseStored(value, this.runId, record) }))
  }

  suspension(output: Json, waits: readonly string[], model: string | undefined): Parameters<Store['suspend']>[2] {
    const iteration = iterationOf(waits[0])
    return {
      output: storedText(output),
      model,
      waits: waits.map((name) => {
        const timeoutMs = this.#timeouts.get(name)
        return { name, timeoutMs }
      }),
      forget: this.#keys.filter((key) => isDoneAgain(key, iteration)),
    }
  }
}

const silence: Steering = { messages: [], stops: false }

/** Whether the run has read no messages, was not told to stop, and continues to read messages. */
function isSilent({ messages, stops, unread }: Steering): boolean {
  return messages.length === 0 && !stops && unread === undefined
}

export function hasEngine(store: Store | EngineStore): store is EngineStore {
  return 'execute' in store
}
