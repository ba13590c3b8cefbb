import type { ShownRuns } from '../../../agent/journal/shown-runs.ts'
import type { Logger } from '../../../core/logger.ts'

/** How long an answer holds, in milliseconds: whoever asks more often writes no more. */
const holdsMs = 1_000

/** Whether the journal can be written, found out by writing. */
export class WriteCheck {
  readonly #shown: Pick<ShownRuns, 'tryWriting'>
  readonly #logger: Logger
  #tried: { at: number; worked: Promise<boolean> } | undefined
  #couldWrite = true

  constructor(shown: Pick<ShownRuns, 'tryWriting'>, logger: Logger) {
    this.#shown = shown
    this.#logger = logger
  }

  canWrite(): Promise<boolean> {
    const now = performance.now()
    if (this.#tried === undefined || now - this.#tried.at >= holdsMs) this.#tried = { at: now, worked: this.#try() }
    return this.#tried.worked
  }

  async #try(): Promise<boolean> {
    try {
      await this.#shown.tryWriting?.()
      this.#couldWrite = true
    } catch (error) {
      if (this.#couldWrite) this.#logger.error({ error }, 'no run can be stored')
      this.#couldWrite = false
    }
    return this.#couldWrite
  }
}
