import { type Json, storedText } from '../../core/messages.ts'
import { type Durable, isDoneAnew, isTurn, type StepContext } from './journal.ts'
import type { EngineStore, Store, Taken } from './store.ts'
import type { Trial } from './trials.ts'

/** What an execution begins with. */
interface Begun extends Pick<Taken, 'epoch' | 'steps' | 'decisions'> {
  trial: Trial | undefined
  givenUp?: string
}

/** The port for one execution: steps that are recorded are read, the others are carried out and recorded. */
export class StoredSteps implements Durable {
  readonly runId: string
  readonly attempt: string = crypto.randomUUID()
  readonly survivesCrashes = true
  readonly resumed: boolean
  readonly signal: AbortSignal
  readonly givenUp?: string
  readonly #store: Store | EngineStore
  readonly #epoch: number
  readonly #steps: Map<string, string>
  readonly #decisions: Map<string, string>
  readonly #keys: string[]
  readonly #timeouts = new Map<string, number>()
  readonly #trial: Trial | undefined

  constructor(store: Store | EngineStore, runId: string, { epoch, steps, decisions, trial, givenUp }: Begun, signal: AbortSignal) {
    this.#store = store
    this.runId = runId
    this.#epoch = epoch
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
      // It is asked for once: a long run need not be kept twice.
      this.#steps.delete(key)
      return JSON.parse(known)
    }
    const work = async () => storedText((await fn({ idempotencyKey: `${this.runId}/${key}`, signal: this.signal })) ?? null)
    const value = await this.#carryOut(key, work)
    this.#keys.push(key)
    if (this.#trial !== undefined) await this.#trial.pass()
    // As a later execution will read it.
    return JSON.parse(value)
  }

  async #carryOut(key: string, work: () => Promise<string>): Promise<string> {
    if (hasEngine(this.#store)) return this.#store.step(this.runId, this.#epoch, key, work)
    const value = await work()
    await this.#store.record(this.runId, this.#epoch, key, value)
    return value
  }

  all<T>(steps: Promise<T>[]): Promise<T[]> {
    return Promise.all(steps)
  }

  async wait<T extends Json>(name: string, { timeoutMs }: { timeoutMs?: number } = {}): Promise<T | null | undefined> {
    const decided = this.#decisions.get(name)
    if (decided !== undefined) return JSON.parse(decided)
    if (timeoutMs !== undefined && Number.isFinite(timeoutMs)) this.#timeouts.set(name, timeoutMs)
    return undefined
  }

  keep(name: string, text: string, maxBytes: number): Promise<boolean> {
    const kept = { name, value: storedText(text), bytes: Buffer.byteLength(text) }
    return this.#store.keep(this.runId, this.#epoch, kept, maxBytes)
  }

  async kept(name: string): Promise<string | undefined> {
    const value = await this.#store.kept(this.runId, name)
    return value === undefined ? undefined : JSON.parse(value)
  }

  suspension(output: Json, waits: readonly string[]): Parameters<Store['suspend']>[2] {
    const iteration = Number.parseInt(waits[0] ?? '', 10)
    return {
      output: storedText(output),
      waits: waits.map((name) => {
        const timeoutMs = this.#timeouts.get(name)
        return { name, ...(timeoutMs === undefined ? {} : { timeoutMs }) }
      }),
      forget: this.#keys.filter((key) => isDoneAnew(key, iteration)),
    }
  }
}

export function hasEngine(store: Store | EngineStore): store is EngineStore {
  return 'execute' in store
}
