import type { ToolloopError } from '../../core/errors.ts'
import type { StopReason } from '../../core/events.ts'
import { startDeadline } from '../options/limits.ts'
import { abortErrorOf } from './run-error.ts'

export type Interruption = Extract<StopReason, 'aborted' | 'deadline'>

/** How long a run lasts: until it is aborted, or a deadline passes. `dispose` releases every timer and listener. */
export class Lifetime {
  readonly #controller = new AbortController()
  readonly #release = new Set<() => void>()
  /** Told of an interruption; a plain set, because listeners on a signal cost more than the rest of a turn's bookkeeping. */
  readonly #waiting = new Set<() => void>()
  #interruption: Interruption | undefined
  #abortError: ToolloopError | undefined

  /** Aborted when the caller aborts, the consumer goes away, or the deadline passes. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why the run has to end now, if it has to. */
  get interruption(): Interruption | undefined {
    return this.#interruption
  }

  /** Why it was aborted, if it was in this process. */
  get abortError(): ToolloopError | undefined {
    return this.#abortError
  }

  interrupt(why: Interruption, reason?: unknown): void {
    if (this.#interruption !== undefined) return
    this.#interruption = why
    if (why === 'aborted') this.#abortError = abortErrorOf(reason)
    this.#controller.abort(reason)
    for (const stopWaiting of this.#waiting) stopWaiting()
  }

  /** Ends the run when `signal` is aborted; returns the function that stops following it. */
  follow(signal: AbortSignal): () => void {
    const abort = () => this.interrupt('aborted', signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    const release = () => {
      signal.removeEventListener('abort', abort)
      this.#release.delete(release)
    }
    this.#release.add(release)
    return release
  }

  /** Calls `listener` when the run is interrupted, until what it returns is called. */
  readonly whenInterrupted = (listener: () => void): (() => void) => {
    this.#waiting.add(listener)
    return () => this.#waiting.delete(listener)
  }

  /** The outcome of `work`, or undefined as soon as the run is interrupted. Work left behind is not waited for; a later rejection is ignored. */
  untilInterrupted<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const stopWaiting = () => resolve(undefined)
      this.#waiting.add(stopWaiting)
      if (this.#interruption !== undefined) stopWaiting()
      work.then(
        (value) => {
          this.#waiting.delete(stopWaiting)
          resolve(value)
        },
        (error: unknown) => {
          this.#waiting.delete(stopWaiting)
          reject(error)
        },
      )
    })
  }

  dispose(): void {
    for (const release of this.#release) release()
  }

  /** Ends the run after so many milliseconds, if `isDue` then. */
  protected endAfter(milliseconds: number, isDue: () => boolean = () => true): void {
    this.#release.add(startDeadline(milliseconds, () => isDue() && this.interrupt('deadline')))
  }

  /** Ends this run with the one outside, also if the attempt at the call it was made in is over, and the signal of that one silent. */
  protected endWith(outer: Lifetime): void {
    const abort = () => this.interrupt('aborted', outer.signal.reason)
    if (outer.interruption !== undefined) abort()
    this.#release.add(outer.whenInterrupted(abort))
  }
}
