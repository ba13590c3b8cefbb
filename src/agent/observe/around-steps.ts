import type { Json } from '../../core/messages.ts'
import type { Durable, StepContext } from '../journal/journal.ts'

/** Passes everything on to another port. Subclasses see what goes through. */
export class AroundSteps implements Durable {
  readonly runId: string
  readonly attempt: string
  readonly epoch: Durable['epoch']
  readonly survivesCrashes: boolean
  readonly resumed: Durable['resumed']
  readonly signal: Durable['signal']
  readonly givenUp: Durable['givenUp']
  readonly keep: Durable['keep']
  readonly kept: Durable['kept']
  readonly append: Durable['append']
  readonly entries: Durable['entries']
  readonly #steps: Durable

  constructor(steps: Durable) {
    this.runId = steps.runId
    this.attempt = steps.attempt
    this.epoch = steps.epoch
    this.survivesCrashes = steps.survivesCrashes
    this.resumed = steps.resumed
    this.signal = steps.signal
    this.givenUp = steps.givenUp
    this.keep = steps.keep?.bind(steps)
    this.kept = steps.kept?.bind(steps)
    this.append = steps.append?.bind(steps)
    this.entries = steps.entries?.bind(steps)
    this.#steps = steps
  }

  step<T>(key: string, fn: (step: StepContext) => Promise<T>, about?: object): Promise<T> {
    return this.#steps.step(key, fn, about)
  }

  all<T>(steps: Promise<T>[]): Promise<T[]> {
    return this.#steps.all(steps)
  }

  wait<T extends Json>(name: string, options?: { timeoutMs?: number; about?: Json }): Promise<T | null | undefined> {
    return this.#steps.wait<T>(name, options)
  }
}
