import { TextBuffer } from '../../../core/text/text-buffer.ts'
import type { Wait } from '../../dialect.ts'
import type { Cursor } from '../../reader/cursor.ts'
import { noLimit } from '../../reader/waits.ts'
import { deepest, isPlainWordCode } from './json-text.ts'

const closerOf: Readonly<Record<number, number>> = { 91: 93, 123: 125, 40: 41 }
/** Values of `#last` after a string or a word. They are negative, so no character code equals them. */
const stringRead = -2
const wordRead = -3

/** Whether a value or a key may begin after this character: `{ [ ( , : =`, or -1 for the start. */
function opensValue(code: number): boolean {
  return code === -1 || code === 123 || code === 91 || code === 40 || code === 44 || code === 58 || code === 61
}

/**
 * Reads a bracketed value up to its closing bracket, without parsing it. Brackets inside strings don't count. Then `state` is `'complete'`,
 * or `'broken'` if quotes or brackets don't match. It is `'long'` if the value exceeds `limit` characters, and `'open'` if the text ends
 * inside the value.
 */
export class ValueFrame implements Wait {
  state: 'complete' | 'broken' | 'long' | 'open' = 'open'
  readonly #read: TextBuffer = new TextBuffer()
  /** The number of characters left before `limit` is exceeded. */
  #room: number
  readonly #python: boolean
  readonly #closers: number[] = []
  #quote = 0
  #triple = false
  #escaped = false
  /** The number of consecutive quotes so far. Used to recognize Python's triple quotes. */
  #quotes = 0
  /**
   * The state of comments. 0: outside a comment; 1: after a slash; 2: in a line comment; 3: in a block comment; 4: after a star in a block
   * comment.
   */
  #comment = 0
  #last = -1

  constructor(options: { python?: boolean; limit?: number } = {}) {
    this.#room = options.limit ?? noLimit
    this.#python = options.python ?? false
  }

  get text(): string {
    return this.#read.text
  }

  feed(cursor: Cursor): boolean {
    const { chunk } = cursor
    const from = cursor.at
    let i = from
    let over = false
    const stop = Math.min(chunk.length, from + this.#room)
    while (i < stop && !over) {
      if (this.#quote !== 0 && !this.#escaped && this.#quotes === 0) {
        const quote = this.#quote
        let code = 0
        while (i < stop) {
          code = chunk.charCodeAt(i)
          if (code === quote || code === 92) break
          i++
        }
        if (i === stop) break
        if (code === quote && !this.#triple) {
          this.#quote = 0
          i++
          continue
        }
      }
      if (this.#last === wordRead && this.#quote === 0 && this.#comment === 0) {
        // The rest of a word can't change the state.
        while (i < stop && isPlainWordCode(chunk.charCodeAt(i))) i++
        if (i === stop) break
      }
      over = this.#step(chunk.charCodeAt(i))
      if (!over || this.state === 'complete') i++
    }
    if (i > from) this.#read.add(from === 0 && i === chunk.length ? chunk : chunk.slice(from, i))
    cursor.at = i
    if (over) return true
    this.#room -= i - from
    if (this.#room <= 0) {
      this.state = 'long'
      return true
    }
    return cursor.atEnd
  }

  /** Reads one character. Returns true if the value is complete or broken. */
  #step(code: number): boolean {
    if (this.#comment > 1) return this.#stepComment(code)
    if (this.#quote !== 0) return this.#stepString(code)
    if (this.#comment === 1) {
      this.#comment = code === 47 ? 2 : code === 42 ? 3 : 0
      if (this.#comment === 0) this.#last = wordRead
      else return false
    }
    switch (code) {
      case 32:
      case 9:
      case 10:
      case 13:
        return false
      case 34:
      case 39:
        return this.#openString(code)
      case 123:
      case 91:
      case 40:
        if (!opensValue(this.#last) && !(this.#python && code === 40 && this.#last === wordRead)) return this.#break()
        this.#closers.push(closerOf[code] ?? 0)
        this.#last = code
        return this.#closers.length > deepest ? this.#break() : false
      case 125:
      case 93:
      case 41:
        if (this.#closers.pop() !== code) return this.#break()
        this.#last = code
        if (this.#closers.length > 0) return false
        this.state = 'complete'
        return true
      case 44:
      case 58:
      case 61:
        this.#last = code
        return false
      case 47:
        // In Python, `/` is a division and starts no comment.
        if (this.#python) this.#last = wordRead
        else this.#comment = 1
        return false
      default:
        // Only a comma, a colon or a bracket can follow a value.
        if (this.#last === stringRead || this.#last === 125 || this.#last === 93) return this.#break()
        this.#last = wordRead
        return false
    }
  }

  #stepComment(code: number): boolean {
    if (this.#comment === 2) {
      if (code === 10) this.#comment = 0
    } else if (this.#comment === 4 && code === 47) this.#comment = 0
    else this.#comment = code === 42 ? 4 : 3
    return false
  }

  #openString(code: number): boolean {
    const beside = this.#python && (this.#last === stringRead || this.#last === wordRead)
    if (!opensValue(this.#last) && !beside) return this.#break()
    this.#quote = code
    this.#escaped = false
    this.#triple = false
    // Two quotes may be an empty string or the start of a triple quote.
    this.#quotes = this.#python ? 1 : 0
    this.#last = stringRead
    return false
  }

  #stepString(code: number): boolean {
    const quote = this.#quote
    if (this.#quotes > 0) {
      if (code === quote) {
        this.#quotes++
        if (this.#triple ? this.#quotes === 3 : false) this.#closeString()
        else if (!this.#triple && this.#quotes === 3) {
          this.#triple = true
          this.#quotes = 0
        }
        return false
      }
      const empty = !this.#triple && this.#quotes === 2
      this.#quotes = 0
      if (empty) {
        this.#closeString()
        return this.#step(code)
      }
    }
    if (this.#escaped) this.#escaped = false
    else if (code === 92) this.#escaped = true
    else if (code === quote) {
      if (this.#triple) this.#quotes = 1
      else this.#closeString()
    }
    return false
  }

  #closeString(): void {
    this.#quote = 0
    this.#quotes = 0
  }

  #break(): boolean {
    this.state = 'broken'
    return true
  }
}
