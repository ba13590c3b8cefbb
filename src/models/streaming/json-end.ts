import { JsonScanner } from '../../core/json/json-scanner.ts'
import { isDeepEqual } from '../../core/json.ts'

/** The state of a JSON text: empty, inside a value, exactly at the end of a value, or past the end (more text follows). */
export type JsonState = 'empty' | 'open' | 'complete' | 'overrun'

/**
 * Finds the end of a JSON text that arrives in pieces. Does not validate the text; only counts brackets and skips strings. A text that is
 * neither an object nor an array counts as complete.
 */
export class JsonEnd {
  readonly #json = new JsonScanner()
  #state: JsonState = 'empty'
  #isScalar = false

  get state(): JsonState {
    return this.#state
  }

  push(piece: string): JsonState {
    for (let at = 0; at < piece.length && !this.#isScalar && this.#state !== 'overrun'; at++)
      if (this.#json.read(piece.charCodeAt(at))) this.#follow()
    return this.#state
  }

  #follow(): void {
    const { depth } = this.#json
    this.#isScalar = this.#state === 'empty' && depth <= 0
    if (this.#state === 'complete') this.#state = 'overrun'
    else this.#state = depth > 0 ? 'open' : 'complete'
  }
}

/** Whether two texts are equal, or are JSON with the same value. */
export function isSameJson(a: string, b: string): boolean {
  if (a.trim() === b.trim()) return true
  try {
    return isDeepEqual(JSON.parse(a), JSON.parse(b))
  } catch {
    // One of the texts is not JSON, so the two can't be the same value.
    return false
  }
}

/** Whether removing some characters from `whole` gives `part`. */
export function isPartOf(part: string, whole: string): boolean {
  let found = 0
  for (let at = 0; at < whole.length && found < part.length; at++) if (whole.charCodeAt(at) === part.charCodeAt(found)) found++
  return found === part.length
}
