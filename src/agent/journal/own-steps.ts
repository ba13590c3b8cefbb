import { copyAsJson } from '../../core/json.ts'
import { isJsonObject, type Json } from '../../core/messages.ts'
import { processClock } from '../../core/time/process-clock.ts'
import { callNameOf, isDoneAgain, isTurn } from '../step-keys.ts'
import type { FinishedCall } from '../types/recorded.ts'
import type { RunState } from '../types/result.ts'
import type { Durable, RecordEntry, StepContext } from './journal.ts'
import type { RunRecord } from './run-record.ts'

interface Owner {
  readonly runId: string
  readonly signal: AbortSignal
}

/** The place where a nested run is recorded. */
export interface RecordPlace {
  record: RunRecord
  /** The journal connection of the run that made the call. */
  outer: Durable
}

/** A state that is about to be resumed. */
export interface DecidedState extends RunState {
  /** When the decisions were checked. A wait has timed out if its time was over by then. */
  asOf: number
}

type Waiting = Pick<RunState, 'decisions' | 'waitingSince'>

/**
 * The steps of a run without a journal, kept in memory. The steps of a nested run are also kept in the record of the call that started the
 * nested run.
 */
export class OwnSteps implements Durable {
  readonly runId: string
  readonly attempt: string
  readonly survivesCrashes: boolean
  readonly signal: AbortSignal
  resumed = false
  readonly #place: RecordPlace | undefined
  #steps = new Map<string, unknown>()
  readonly #waits = new Waits()
  /** The records of the run's calls, if this is the outermost run. */
  #records = new Map<string, RecordEntry[]>()

  constructor({ runId, signal }: Owner, place?: RecordPlace) {
    this.runId = runId
    this.signal = signal
    this.survivesCrashes = place !== undefined
    this.attempt = place === undefined ? runId : crypto.randomUUID()
    this.#place = place
  }

  /** Restores the steps, waits and records of earlier executions. */
  recall(recorded: DecidedState): void {
    this.#steps = new Map(Object.entries(recorded.steps))
    this.resumed = [...this.#steps.keys()].some(isTurn)
    this.#waits.recall(recorded)
    this.#records = new Map(Object.entries(recorded.records ?? {}))
  }

  async step<T>(key: string, fn: (step: StepContext) => Promise<T>): Promise<T> {
    if (this.#steps.has(key)) return this.#steps.get(key) as T
    const value = await fn({ signal: this.signal })
    this.#steps.set(key, value)
    if (this.#place !== undefined) await this.#place.record.addStep(key, value, this.signal.aborted)
    if (this.#records.size > 0 && isSettled(value)) this.#forgetRecords(value.record.callKey?.idempotencyKey ?? callNameOf(this.runId, key))
    return value
  }

  all<T>(steps: Promise<T>[]): Promise<T[]> {
    return Promise.all(steps)
  }

  async wait<T extends Json>(name: string, { timeoutMs }: { timeoutMs?: number } = {}): Promise<T | null | undefined> {
    return this.#waits.look<T>(name, timeoutMs)
  }

  /** Keeps texts in the outer run. Undefined without an outer run, or if the outer run can't keep texts. */
  get keep(): Required<Durable>['keep'] | undefined {
    const { outer } = this.#place ?? {}
    if (outer?.keep === undefined) return undefined
    return async (name, text, maxBytes) => (await outer.keep?.(this.#nameOutside(name), text, maxBytes)) === true
  }

  async kept(name: string): Promise<string | undefined> {
    return this.#place?.outer.kept?.(this.#nameOutside(name))
  }

  #nameOutside(name: string): string {
    return `${this.runId}/${name}`
  }

  async append(record: string, entry: RecordEntry): Promise<void> {
    if (this.#place !== undefined) return this.#place.outer.append?.(record, entry)
    const entries = this.#records.get(record)
    if (entries === undefined) this.#records.set(record, [entry])
    else entries.push(entry)
  }

  async entries(record: string): Promise<RecordEntry[]> {
    if (this.#place !== undefined) return (await this.#place.outer.entries?.(record)) ?? []
    return this.#records.get(record) ?? []
  }

  get waits(): Waiting {
    return this.#waits.recorded()
  }

  /** The state that the run needs to continue, without the steps that each execution repeats. */
  recorded(): Waiting & Pick<RunState, 'steps' | 'records'> {
    const steps = [...this.#steps].filter(([key]) => !isDoneAgain(key, 0))
    return copyAsJson({
      steps: Object.fromEntries(steps) as RunState['steps'],
      ...this.waits,
      ...(this.#records.size === 0 ? {} : { records: Object.fromEntries(this.#records) }),
    })
  }

  /** Deletes the records of a call that will not run again, and of the calls inside it. */
  #forgetRecords(call: string): void {
    for (const name of this.#records.keys()) if (name === call || name.startsWith(`${call}/`)) this.#records.delete(name)
  }
}

/** Whether a step's value is a call that has ended and will not run again. */
function isSettled(value: unknown): value is FinishedCall {
  if (!isJsonObject(value) || !('record' in value)) return false
  const { record, interrupted, question }: FinishedCall = value as never
  return interrupted === undefined && question === undefined && (record.callKey === undefined || record.callKey.settled === true)
}

/** The waits of a run without a journal. Stores when each wait started, and the decisions. */
class Waits {
  #decisions: RunState['decisions'] = {}
  #waitingSince: RunState['waitingSince'] = {}
  #asOf: number | undefined

  recall({ decisions, waitingSince, asOf }: DecidedState): void {
    this.#decisions = decisions
    this.#waitingSince = { ...waitingSince }
    this.#asOf = asOf
  }

  /** The decision on a wait. Null if the wait has timed out, undefined if there is no decision yet. */
  look<T extends Json>(name: string, timeoutMs: number | undefined): T | null | undefined {
    const waited = this.#waitingSince[name]
    const since = waited ?? processClock.now()
    this.#waitingSince[name] = since
    if (Object.hasOwn(this.#decisions, name)) return this.#decisions[name] as T
    const now = waited === undefined ? since : (this.#asOf ?? processClock.now())
    return timeoutMs !== undefined && now - since >= timeoutMs ? null : undefined
  }

  recorded(): Waiting {
    return { decisions: this.#decisions, waitingSince: this.#waitingSince }
  }
}
