import { jsonIn } from '../../core/json.ts'
import { type Json, type JsonObject, setField } from '../../core/messages.ts'

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end' | 'nothing'
type Container = Json[] | JsonObject

/**
 * Parses JSON that arrives in pieces. Unfinished texts, arrays and objects already contain what has arrived. Numbers, `true`, `false` and
 * `null` are available when they are complete. Reads each character once, and extends the same `value`. Ignores everything after a syntax
 * error.
 */
export class PartialJson {
  value: Json | undefined
  /** Whether the value is complete. */
  isWhole = false
  readonly #mostLevels: number
  readonly #open: Container[] = []
  #expected: Expected = 'value'
  /** The key of the next value. */
  #key = ''
  /** The text, key, number or word that is incomplete. */
  #token: { kind: 'text' | 'key' | 'word'; text: string } | undefined
  /** An incomplete escape, starting with its backslash. */
  #escape = ''
  /** The first half of a surrogate pair. It is added to the text together with the second half. */
  #half = ''

  /** `mostLevels`: the maximum depth of nesting. Deeper nesting counts as a syntax error. */
  constructor(mostLevels: number = Number.POSITIVE_INFINITY) {
    this.#mostLevels = mostLevels
  }

  /** Returns the number of characters read. Stops reading at the end of the value or at a syntax error. */
  add(piece: string): number {
    let at = 0
    while (at < piece.length && this.#expected !== 'nothing') {
      if (this.#token === undefined) this.#readSign(piece[at++] ?? '')
      else if (this.#token.kind === 'word') at = this.#readWord(piece, at, this.#token)
      else at = this.#readText(piece, at, this.#token)
    }
    if (this.#token?.kind === 'text') this.#replace(this.#token.text)
    return at
  }

  #readSign(sign: string): void {
    if (sign === ' ' || sign === '\n' || sign === '\r' || sign === '\t') return
    const expected = this.#expected
    const container = this.#open.at(-1)
    const closing = Array.isArray(container) ? ']' : '}'
    const mayClose = expected === ', or end' || expected === 'value or ]' || expected === 'key or }'
    if (sign === closing && mayClose) this.#close()
    else if (expected === 'value' || expected === 'value or ]') this.#beginValue(sign)
    else if (sign === '"' && (expected === 'key' || expected === 'key or }')) this.#token = { kind: 'key', text: '' }
    else if (sign === ':' && expected === ':') this.#expected = 'value'
    else if (sign === ',' && expected === ', or end') this.#expected = Array.isArray(container) ? 'value' : 'key'
    else this.#expected = 'nothing'
  }

  #beginValue(sign: string): void {
    if ((sign === '{' || sign === '[') && this.#open.length < this.#mostLevels) {
      const container: Container = sign === '{' ? {} : []
      this.#place(container)
      this.#open.push(container)
      this.#expected = sign === '{' ? 'key or }' : 'value or ]'
    } else if (sign === '"') {
      this.#place('')
      this.#token = { kind: 'text', text: '' }
    } else if (/[-\dtfn]/.test(sign)) this.#token = { kind: 'word', text: sign }
    else this.#expected = 'nothing'
  }

  #readWord(piece: string, from: number, token: { text: string }): number {
    let at = from
    while (at < piece.length && /[-+.\w]/.test(piece[at] ?? '')) at++
    token.text += piece.slice(from, at)
    if (at === piece.length) return at
    this.#token = undefined
    const value = jsonIn(token.text)
    if (value === undefined) this.#expected = 'nothing'
    else {
      this.#place(value)
      this.#end()
    }
    return at
  }

  #readText(piece: string, from: number, token: { kind: string; text: string }): number {
    if (this.#escape !== '') return this.#readEscape(piece, from, token)
    special.lastIndex = from
    const at = special.exec(piece)?.index ?? piece.length
    this.#append(token, piece.slice(from, at))
    if (at === piece.length) return at
    if (piece[at] === '\\') this.#escape = '\\'
    else this.#endText(token)
    return at + 1
  }

  #readEscape(piece: string, at: number, token: { text: string }): number {
    this.#escape += piece[at]
    if (this.#escape.length < (this.#escape[1] === 'u' ? 6 : 2)) return at + 1
    const text = jsonIn(`"${this.#escape}"`)
    if (typeof text === 'string') this.#append(token, text)
    else this.#expected = 'nothing'
    this.#escape = ''
    return at + 1
  }

  #append(token: { text: string }, text: string): void {
    const whole = this.#half + text
    const endsInHalf = /[\ud800-\udbff]$/.test(whole.slice(-1))
    this.#half = endsInHalf ? whole.slice(-1) : ''
    token.text += endsInHalf ? whole.slice(0, -1) : whole
  }

  #endText(token: { kind: string; text: string }): void {
    token.text += this.#half
    this.#half = ''
    this.#token = undefined
    if (token.kind === 'key') {
      this.#key = token.text
      this.#expected = ':'
    } else {
      this.#replace(token.text)
      this.#end()
    }
  }

  #place(value: Json): void {
    const container = this.#open.at(-1)
    if (Array.isArray(container)) container.push(value)
    else this.#replace(value)
  }

  /** Sets the value that is being read. */
  #replace(value: Json): void {
    const container = this.#open.at(-1)
    if (container === undefined) this.value = value
    else if (Array.isArray(container)) container[container.length - 1] = value
    else setField(container, this.#key, value)
  }

  #close(): void {
    this.#open.pop()
    this.#end()
  }

  #end(): void {
    this.isWhole = this.#open.length === 0
    this.#expected = this.isWhole ? 'nothing' : ', or end'
  }
}

/** Characters that end a stretch of plain text. */
const special = /["\\]/g
