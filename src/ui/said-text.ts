import type { RunEnding } from '../agent/web/run-ending.ts'
import { TextBuffer } from '../core/text/text-buffer.ts'

/** What the model has said since it was last asked, so that an answer that was not said piece by piece is not missing at the end. */
export class SaidText {
  #said = new TextBuffer()
  /** The text that the response under way continues. */
  #earlier = ''

  asked(): void {
    this.#said = new TextBuffer()
    this.#earlier = ''
  }

  /** The model is asked to continue the text. */
  continued(): void {
    this.#earlier = this.#said.toString()
  }

  /** Forgets what the response under way has said. Returns the text that it continues; `''` for none. */
  discarded(): string {
    this.#said = new TextBuffer()
    this.#said.add(this.#earlier)
    return this.#earlier
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
