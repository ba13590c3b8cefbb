import { AsyncLocalStorage } from 'node:async_hooks'
import { isDeepStrictEqual } from 'node:util'
import type { Durable, DurableBody, Engine, Journal, RecordEntry } from '../../src/agent/journal/journal.ts'
import { type Json, storedText } from '../../src/core/messages.ts'

/** Where an execution dies: at the n-th moment (from 1) at which a process could die. `Infinity` never. */
export type CrashAt = number

interface Recorded {
  value: Json
}

/** The execution that code runs in, and its step. */
const running = new AsyncLocalStorage<{ journal: StrictJournal; step?: string }>()
let watchedExecutions = 0
let stopWatching = (): void => {}

/** Makes a call of `owner[name]` from the loop outside any step a violation. Returns what undoes it. */
function watchSource<T extends object, K extends keyof T & string>(owner: T, name: K): () => void {
  const original = owner[name]
  if (typeof original !== 'function') return () => {}
  const watched = (...args: unknown[]): unknown => {
    const { journal, step } = running.getStore() ?? {}
    const isOutside = journal !== undefined && step === undefined
    if (isOutside && new Error('where').stack?.includes('/src/agent/')) journal.violations.push(`${name} was called outside a step`)
    return original.apply(owner, args)
  }
  Object.assign(owner, { [name]: watched })
  return () => void Object.assign(owner, { [name]: original })
}

/** Watches the clocks and random sources until `execute` has settled. Executions share one watch, because they end in any order. */
async function watchSources<T>(execute: () => Promise<T>): Promise<T> {
  if (watchedExecutions++ === 0) {
    const undo = [watchSource(Math, 'random'), watchSource(Date, 'now'), watchSource(performance, 'now')]
    stopWatching = () => {
      for (const one of undo) one()
    }
  }
  try {
    return await execute()
  } finally {
    if (--watchedExecutions === 0) stopWatching()
  }
}

/**
 * A journal in memory that holds the loop to the port's rules and can kill an execution at every moment that matters: before a step's
 * function runs, after it ran and before its value is recorded, and after that. A killed execution's promises never settle; the run is
 * then executed again over what was recorded.
 */
export class StrictJournal implements Journal {
  /** What broke a rule. Empty for a loop that keeps them. */
  readonly violations: string[] = []
  /** Keys in the order an execution asked for them, one list for each execution. */
  readonly executions: string[][] = []
  moments = 0
  readonly #crashAt: CrashAt
  readonly #decide: (name: string, about: Json | undefined) => Json
  readonly #records = new Map<string, Recorded>()
  readonly #callRecords = new Map<string, RecordEntry[]>()

  constructor(crashAt: CrashAt, decide: (name: string, about: Json | undefined) => Json = () => null) {
    this.#crashAt = crashAt
    this.#decide = decide
  }

  connect(body: DurableBody): Engine {
    const results = new Map<string, Promise<Json>>()
    return {
      start: async (runId, input) => {
        const stored: Json = JSON.parse(JSON.stringify(input))
        results.set(runId, this.#runToEnd(body, runId, stored))
      },
      result: (runId) => results.get(runId) ?? Promise.reject(new Error(`no run ${runId}`)),
      deliver: async () => {},
      cancel: async () => {},
      pending: async () => [],
    }
  }

  async #runToEnd(body: DurableBody, runId: string, input: Json): Promise<Json> {
    for (let attempt = 1; ; attempt++) {
      const crash = Promise.withResolvers<'crashed'>()
      const execution = new Execution(this, runId, `attempt-${attempt}`, () => crash.resolve('crashed'))
      const execute = async () => ({ output: await body(execution.durable, structuredClone(input)) })
      const outcome = await running.run({ journal: this }, () => watchSources(() => Promise.race([execute(), crash.promise])))
      if (outcome !== 'crashed') {
        this.#checkJson('output', outcome.output)
        return outcome.output
      }
    }
  }

  /** True when the execution dies here. */
  passMoment(): boolean {
    this.moments++
    return this.moments === this.#crashAt
  }

  recorded(key: string): Recorded | undefined {
    return this.#records.get(key)
  }

  record(key: string, value: unknown): void {
    this.#checkJson(key, value)
    if (this.#records.has(key)) this.violations.push(`step ${key} was carried out again although it was recorded`)
    this.#records.set(key, { value: JSON.parse(JSON.stringify(value)) })
  }

  entriesOf(record: string): RecordEntry[] {
    return this.#callRecords.get(record) ?? []
  }

  append(record: string, entry: RecordEntry): void {
    const entries = this.entriesOf(record)
    this.#checkJson(`an entry of ${record}`, entry)
    if (entry.position !== entries.length) this.violations.push(`entry ${entry.position} of ${record} does not come next`)
    this.#callRecords.set(record, [...entries, JSON.parse(storedText(entry))])
  }

  decide(name: string, about: Json | undefined): Json {
    return this.#decide(name, about)
  }

  enter(key: string): void {
    const { journal, step: outer } = running.getStore() ?? {}
    if (journal === this && outer !== undefined) this.violations.push(`step ${key} was started inside step ${outer}`)
  }

  inside<T>(step: string, fn: () => Promise<T>): Promise<T> {
    return running.run({ journal: this, step }, fn)
  }

  #checkJson(what: string, value: unknown): void {
    const round: unknown = JSON.parse(JSON.stringify(value) ?? 'null')
    if (!isDeepStrictEqual(dropUndefined(value), round)) this.violations.push(`${what} is not plain JSON: ${JSON.stringify(value)}`)
  }
}

class Execution {
  readonly durable: Durable
  readonly #journal: StrictJournal
  readonly #asked: string[] = []
  readonly #open = new Set<string>()
  readonly #die: () => void
  #dead = false
  #tick = 0

  constructor(journal: StrictJournal, runId: string, attempt: string, die: () => void) {
    this.#journal = journal
    this.#die = die
    journal.executions.push(this.#asked)
    const signal = new AbortController().signal
    this.durable = {
      runId,
      attempt,
      survivesCrashes: true,
      step: (key, fn) => this.#step(key, () => fn({ signal })),
      all: (steps) => (this.#open.size <= steps.length ? Promise.all(steps) : this.#wrongJoin(steps)),
      append: (record, entry) => this.#append(record, entry),
      // A dead execution must not begin runs inside its calls.
      entries: async (record) => (this.#dead ? new Promise(() => {}) : structuredClone(journal.entriesOf(record))),
      wait: async (name, options) => this.#step(`wait:${name}`, async () => journal.decide(name, options?.about) as never),
    }
  }

  async #append(record: string, entry: RecordEntry): Promise<void> {
    if (this.#dead || this.#crash()) return new Promise(() => {})
    this.#journal.append(record, entry)
    if (this.#crash()) return new Promise(() => {})
  }

  #wrongJoin<T>(steps: Promise<T>[]): Promise<T[]> {
    this.#journal.violations.push(`all() joined ${steps.length} steps while ${this.#open.size} were open`)
    return Promise.all(steps)
  }

  async #step<T>(key: string, fn: () => Promise<T>): Promise<T> {
    this.#journal.enter(key)
    if (this.#dead) return new Promise(() => {})
    if (this.#asked.includes(key)) this.#journal.violations.push(`step ${key} was asked for twice in one execution`)
    this.#asked.push(key)
    if (this.#open.size > 0 && this.#tick === 0)
      this.#journal.violations.push(`step ${key} was started in a later tick than ${[...this.#open].join(', ')}`)
    this.#tick++
    queueMicrotask(() => {
      this.#tick = 0
    })
    this.#open.add(key)
    try {
      const known = this.#journal.recorded(key)
      if (known !== undefined) return structuredClone(known.value) as T
      if (this.#crash()) return await new Promise(() => {})
      const value = await this.#journal.inside(key, fn)
      if (this.#dead || this.#crash()) return await new Promise(() => {})
      this.#journal.record(key, value)
      if (this.#crash()) return await new Promise(() => {})
      return structuredClone(this.#journal.recorded(key)?.value) as T
    } finally {
      this.#open.delete(key)
    }
  }

  #crash(): boolean {
    if (this.#dead) return true
    if (!this.#journal.passMoment()) return false
    this.#dead = true
    this.#die()
    return true
  }
}

/** Fields that are undefined are simply absent from JSON. */
function dropUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropUndefined)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, dropUndefined(item)]),
  )
}
