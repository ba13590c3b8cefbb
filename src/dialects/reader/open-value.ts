import { JsonScanner } from '../../core/json/json-scanner.ts'
import { newline } from './line-state.ts'

/**
 * Finds the end of a JSON value that is not a call, so that nothing inside the value is read as a call. A blank line also ends the value,
 * because the bracket may not have started a value at all.
 */
export class OpenValue {
  #json = new JsonScanner({ endsWithLine: true })
  /** Whether there is only white space since the last line break. */
  #isBlank = false

  get open(): boolean {
    return this.#json.depth > 0
  }

  /** Starts with the first characters of the value. */
  enter(text: string): void {
    this.#json = new JsonScanner({ endsWithLine: true })
    this.#isBlank = false
    for (let i = 0; i < text.length; i++) this.step(text.charCodeAt(i))
  }

  step(code: number): void {
    const isStructure = this.#json.read(code)
    this.#json.depth = Math.max(this.#json.depth, 0)
    if (code === newline) {
      if (this.#isBlank) this.#json.depth = 0
      this.#isBlank = true
    } else if (isStructure || this.#json.isInString) this.#isBlank = false
  }
}
