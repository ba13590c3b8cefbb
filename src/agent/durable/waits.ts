import type { Json } from '../../core/messages.ts'
import { keepShape } from '../../core/v8/keep-shape.ts'
import type { RecordedSteps } from './journal.ts'

/** What a run without a journal waits for: since when, and what was decided. */
export class Waits {
  #decisions: RecordedSteps['decisions'] = {}
  #waitingSince: RecordedSteps['waitingSince'] = {}
  #asOf: number | undefined

  recall({ decisions, waitingSince, asOf }: RecordedSteps): void {
    this.#decisions = decisions
    this.#waitingSince = { ...waitingSince }
    this.#asOf = asOf
  }

  /** What was decided; null when the time for it is over, undefined while it is not. */
  look<T extends Json>(name: string, timeoutMs: number | undefined): T | null | undefined {
    const waited = this.#waitingSince[name]
    const since = waited ?? Date.now()
    this.#waitingSince[name] = since
    if (Object.hasOwn(this.#decisions, name)) return this.#decisions[name] as T
    const now = waited === undefined ? since : (this.#asOf ?? Date.now())
    return timeoutMs !== undefined && now - since >= timeoutMs ? null : undefined
  }

  recorded(): Pick<RecordedSteps, 'decisions' | 'waitingSince'> {
    return { decisions: this.#decisions, waitingSince: this.#waitingSince }
  }
}

keepShape(Waits)
