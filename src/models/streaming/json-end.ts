import { isDeepEqual } from '../../core/json.ts'

/** Where a text of JSON stands: nothing yet, inside, exactly at its end, or past it (text follows the end). */
export type JsonState = 'empty' | 'open' | 'complete' | 'overrun'

const QUOTE = 34
const BACKSLASH = 92

/**
 * Finds the end of a JSON text that arrives in pieces, reading each character once. It does not validate: brackets are counted,
 * strings are skipped. A text that is neither object nor array counts as complete.
 */
export class JsonEnd {
  #depth = 0
  #inString = false
  #escaped = false
  #scalar = false
  #state: JsonState = 'empty'

  get state(): JsonState {
    return this.#state
  }

  push(piece: string): JsonState {
    for (let at = 0; at < piece.length && !this.#scalar && this.#state !== 'overrun'; at++) {
      if (this.#inString) at = this.#skipString(piece, at)
      else this.#read(piece.charCodeAt(at))
    }
    return this.#state
  }

  /** Returns the position of the string's end, or the last of the piece. */
  #skipString(piece: string, from: number): number {
    for (let at = from; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      if (this.#escaped) this.#escaped = false
      else if (code === BACKSLASH) this.#escaped = true
      else if (code === QUOTE) {
        this.#inString = false
        return at
      }
    }
    return piece.length
  }

  #read(code: number): void {
    if (isJsonSpace(code)) return
    if (this.#state === 'complete') {
      this.#state = 'overrun'
      return
    }
    const opens = code === 123 || code === 91
    if (this.#state === 'empty' && !opens) {
      this.#state = 'complete'
      this.#scalar = true
      return
    }
    this.#state = 'open'
    if (opens) this.#depth++
    else if (code === QUOTE) this.#inString = true
    else if ((code === 125 || code === 93) && --this.#depth === 0) this.#state = 'complete'
  }
}

function isJsonSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9
}

/** The same text, or the same value written otherwise. */
export function isSameJson(a: string, b: string): boolean {
  if (a.trim() === b.trim()) return true
  try {
    return isDeepEqual(JSON.parse(a), JSON.parse(b))
  } catch {
    // One of them is not JSON, so they can't be the same object.
    return false
  }
}

/** Whether `part` is what is left of `whole` when pieces of it are missing. */
export function isPartOf(part: string, whole: string): boolean {
  let found = 0
  for (let at = 0; at < whole.length && found < part.length; at++) if (whole.charCodeAt(at) === part.charCodeAt(found)) found++
  return found === part.length
}
