import type { ToolloopError } from '../../core/errors.ts'
import type { StopReason } from '../../core/events.ts'
import { startDeadline } from '../options/limits.ts'
import { abortErrorOf } from './run-error.ts'

export type Interruption = Extract<StopReason, 'aborted' | 'deadline'>

/** The lifetime of a run. It ends when the run is aborted or its deadline passes. `dispose` releases every timer and listener. */
export class Lifetime {
  readonly #controller = new AbortController()
  readonly #release = new Set<() => void>()
  /** The listeners for an interruption. A plain set, because listeners on a signal cost more than everything else that a turn records. */
  readonly #waiting = new Set<() => void>()
  #interruption: Interruption | undefined
  #abortError: ToolloopError | undefined

  /** Aborted when the caller aborts, when the consumer stops watching, or when the deadline passes. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why the run has to end now. Undefined if it may continue. */
  get interruption(): Interruption | undefined {
    return this.#interruption
  }

  /** Why it was aborted, if that happened in this process. */
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

  /** Ends the run when `signal` is aborted. Returns the function that stops following it. */
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

  /** Calls `listener` when the run is interrupted, until the returned function is called. */
  readonly whenInterrupted = (listener: () => void): (() => void) => {
    this.#waiting.add(listener)
    return () => this.#waiting.delete(listener)
  }

  /**
   * Settles like `work`, or resolves with undefined as soon as the run is interrupted. Abandoned work is not awaited, and its rejection is
   * ignored.
   */
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

  /** Ends the run after this many milliseconds, if `isDue` returns true at that time. */
  protected endAfter(milliseconds: number, isDue: () => boolean = () => true): void {
    this.#release.add(startDeadline(milliseconds, () => isDue() && this.interrupt('deadline')))
  }

  /** Ends this run when the outer run ends, even if the outer call's attempt has ended and its signal no longer fires. */
  protected endWith(outer: Lifetime): void {
    const abort = () => this.interrupt('aborted', outer.signal.reason)
    if (outer.interruption !== undefined) abort()
    this.#release.add(outer.whenInterrupted(abort))
  }
}
