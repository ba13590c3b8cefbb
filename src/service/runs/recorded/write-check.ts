import type { ShownRuns } from '../../../agent/journal/shown-runs.ts'
import type { Logger } from '../../../core/logger.ts'

/** How long the result of a check is valid, in milliseconds. A check within this time returns the previous result and writes nothing. */
const holdsMs = 1_000

/** Checks whether the journal is writable, by writing to it. */
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
