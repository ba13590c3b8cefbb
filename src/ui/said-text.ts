import type { RunEnding } from '../agent/web/run-ending.ts'
import { TextBuffer } from '../core/text-buffer.ts'

/** What the model has said since it was last asked, so that an answer that was not said piece by piece is not missing at the end. */
export class SaidText {
  #said = new TextBuffer()

  asked(): void {
    this.#said = new TextBuffer()
  }

  add(text: string): void {
    this.#said.add(text)
  }

  /** The answer, where it was not said: the result of a `final` tool, or one that had to fit a schema. */
  unsaid({ text, stopReason }: RunEnding): string {
    const isAnswer = stopReason !== undefined && stopReason !== 'paused' && stopReason !== 'aborted'
    return isAnswer && !this.#said.toString().endsWith(text) ? text : ''
  }
}
