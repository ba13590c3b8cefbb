import { messageOf } from '../../../core/errors.ts'
import { isJsonObject, type JsonObject, setField } from '../../../core/messages.ts'

export type ReadValue = { ok: true; value: unknown; strict: boolean } | { ok: false; problem: string }

/** Maximum nesting depth. Real calls are never nested this deeply, and recursion to this depth does not exhaust the stack. */
export const deepest = 128

/** Parses a complete text as JSON. If strict parsing fails, accepts comments, single quotes and similar deviations. Never throws. */
export function readJsonText(text: string): ReadValue {
  let problem: string | undefined
  // A `JSON.parse` that throws is slow, so it is called only if it may succeed.
  if (mayBeStrict(text)) {
    try {
      return { ok: true, value: JSON.parse(text), strict: true }
    } catch (error) {
      problem = messageOf(error)
    }
  }
  const reader = new LooseReader(text)
  const value = reader.readWhole()
  if (reader.problem === undefined) return { ok: true, value, strict: false }
  return { ok: false, problem: problem ?? reader.problem }
}

/**
 * Reads an object whose strings may lack quotes: `{city:New York, days:2}`. A comma ends an unquoted string only if a key follows. `known`
 * limits these keys. Returns undefined for any other input.
 */
export function readBareObject(text: string, known?: Readonly<Record<string, unknown>>): JsonObject | undefined {
  const reader = new LooseReader(text, { known })
  const value = reader.readWhole()
  return reader.problem === undefined && isJsonObject(value) ? value : undefined
}

const beginning = /^\s*(?:(\{)\s*["}]|(\[)\s*[[\]{"\dtfn-]|["\dtfn-])/

/** Whether a text begins and ends as JSON does, so that strict parsing may succeed. */
function mayBeStrict(text: string): boolean {
  const begun = beginning.exec(text)
  if (begun === null) return false
  const [, brace, bracket] = begun
  const end = brace !== undefined ? '}' : bracket !== undefined ? ']' : ''
  return text.trimEnd().endsWith(end)
}

const backslash = 92
const words: Readonly<Record<string, unknown>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  null: null,
  None: null,
  undefined: null,
}
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '0': '\0', a: '\u0007', v: '\v' }

/** Whether a code unit is an ASCII letter, a digit, or one of `$ - . _`. */
export function isPlainWordCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45 ||
    code === 46 ||
    code === 36
  )
}

function isQuote(code: number): boolean {
  return code === 34 || code === 39
}

/** A key or word without quotes. */
const bareWord = /[\p{L}\p{N}_$.-]*/uy

/** A key and its colon, which mark the end of an unquoted string before them. */
const keyBehind = /\s*(?:([\w$.-]+)|"((?:[^"\\]|\\.)*)")\s*:/y

/** Options for objects with unquoted strings. If `known` is undefined, all keys are allowed. */
interface BareTexts {
  known: Readonly<Record<string, unknown>> | undefined
}

/**
 * Reads JSON as models write it: single quotes, bare keys, Python literals, comments, extra commas, line breaks in strings. Also reads
 * tuples, triple quotes and string prefixes of Python, so that the arguments of Python calls need no reader of their own.
 */
export class LooseReader {
  at = 0
  problem: string | undefined
  readonly text: string
  readonly #bareTexts: BareTexts | undefined
  /** Whether the model escapes underscores as in Markdown: `get\\_weather`. */
  #markdown = false

  constructor(text: string, bareTexts?: BareTexts) {
    this.text = text
    this.#bareTexts = bareTexts
  }

  readWhole(): unknown {
    const value = this.readValue(0)
    this.skipBlanks()
    if (this.at < this.text.length) this.fail('the end')
    return value
  }

  fail(expected: string): undefined {
    this.problem ??= `expected ${expected} at position ${this.at}`
    // Moves to the end of the input, so that every loop stops.
    this.at = this.text.length
    return undefined
  }

  stands(char: string): boolean {
    return this.code() === char.charCodeAt(0)
  }

  /** Skips blanks, then returns whether the next character is `char`. */
  nextIs(char: string): boolean {
    this.skipBlanks()
    return this.stands(char)
  }

  /**
   * The code of the next character, or -1 at the end. The end is checked first, because a call of `charCodeAt` beyond the end makes all
   * later calls slower in V8.
   */
  code(): number {
    return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1
  }

  /** Skips blanks and comments. If unquoted strings are allowed, a slash starts a string, not a comment. */
  skipBlanks(): void {
    for (;;) {
      const code = this.code()
      if (code > 32 && code < 128 && (code !== 47 || this.#bareTexts !== undefined)) return
      if (code === 32) {
        this.at++
        continue
      }
      if (code < 0) return
      const char = this.text.charAt(this.at)
      if (char.trim() === '') this.at++
      else if (char === '/' && this.text.charAt(this.at + 1) === '/') this.#skipTo('\n')
      else if (char === '/' && this.text.charAt(this.at + 1) === '*') this.#skipTo('*/')
      else return
    }
  }

  standsAtQuote(): boolean {
    return isQuote(this.code())
  }

  take(char: string): boolean {
    this.skipBlanks()
    if (!this.stands(char)) return false
    this.at++
    return true
  }

  readValue(depth: number, isField = false): unknown {
    this.skipBlanks()
    if (depth > deepest) return this.fail('less nesting')
    if (this.standsAtQuote()) return this.#readStrings()
    if (this.stands('{')) return this.#readObject(depth)
    if (this.stands('[')) return this.#readList(depth, ']')
    if (this.#bareTexts !== undefined) return this.#readBareText(this.#bareTexts, depth, isField)
    if (this.stands('(')) return this.#readList(depth, ')')
    if (isQuote(this.text.charCodeAt(this.at + 1)) && 'rRbBfFuU'.includes(this.text.charAt(this.at))) {
      const raw = this.stands('r') || this.stands('R')
      this.at++
      return raw ? this.#readString(true) : this.#readStrings()
    }
    return this.#readWord()
  }

  #readObject(depth: number): unknown {
    this.at++
    const object: Record<string, unknown> = {}
    for (;;) {
      if (this.take('}') || this.problem !== undefined) return object
      const key = this.readKey()
      if (key === undefined) return undefined
      if (!this.take(':')) return this.fail('":"')
      setField(object, key, this.readValue(depth + 1, true))
      if (!this.take(',') && !this.stands('}')) return this.fail('"," or "}"')
    }
  }

  readKey(): string | undefined {
    this.skipBlanks()
    if (this.standsAtQuote()) return this.#readString(false)
    const word = this.readName()
    return word === '' ? this.fail('a key') : word
  }

  /** Reads a name without quotes, and removes its Markdown escapes. Returns `''` if there is no name. */
  readName(): string {
    const { text } = this
    const from = this.at
    let end = this.#endOfName(from)
    if (text.charAt(end) === '\\' && text.charAt(end + 1) === '_') {
      while (text.charAt(end) === '\\' && text.charAt(end + 1) === '_') end = this.#endOfName(end + 2)
      this.#markdown = true
      this.at = end
      return text.slice(from, end).replaceAll('\\_', '_')
    }
    this.at = end
    return text.slice(from, end)
  }

  #endOfName(from: number): number {
    const { text } = this
    let end = from
    while (end < text.length && isPlainWordCode(text.charCodeAt(end))) end++
    // Most names are ASCII, and for these a loop is faster than the regular expression.
    if (end < text.length && text.charCodeAt(end) >= 128) {
      bareWord.lastIndex = from
      end = from + (bareWord.exec(text)?.[0] ?? '').length
    }
    return end
  }

  #readList(depth: number, end: string): unknown {
    this.at++
    const list: unknown[] = []
    for (;;) {
      if (this.take(end) || this.problem !== undefined) return list
      list.push(this.readValue(depth + 1))
      if (!this.take(',') && !this.stands(end)) return this.fail(`"," or "${end}"`)
    }
  }

  /** Reads a string, or several adjacent Python strings. */
  #readStrings(): string | undefined {
    let text = this.#readString(false)
    for (;;) {
      const at = this.at
      this.skipBlanks()
      if (text === undefined || !this.standsAtQuote()) {
        this.at = at
        return text
      }
      const more = this.#readString(false)
      text = more === undefined ? undefined : text + more
    }
  }

  #readString(raw: boolean): string | undefined {
    const { text } = this
    const char = text.charAt(this.at)
    const quote = text.charAt(this.at + 1) === char && text.charAt(this.at + 2) === char ? char.repeat(3) : char
    let from = this.at + quote.length
    let read = ''
    const quoteCode = char.charCodeAt(0)
    for (let i = from; i < text.length; i++) {
      const here = text.charCodeAt(i)
      if (here === backslash) {
        if (raw) {
          i++
          continue
        }
        read += text.slice(from, i)
        const escaped = readEscape(text, i)
        read += this.#markdown && escaped.text === '\\_' ? '_' : escaped.text
        i = escaped.end - 1
        from = escaped.end
      } else if (here === quoteCode && (quote === char || text.startsWith(quote, i))) {
        this.at = i + quote.length
        return read + text.slice(from, i)
      }
    }
    return this.fail('the end of a string')
  }

  /**
   * Reads an unquoted string. Inside an object, a comma ends the string only if a key follows. In the outermost object, the key must be in
   * `known`.
   */
  #readBareText({ known }: BareTexts, depth: number, isField: boolean): unknown {
    const { text } = this
    const from = this.at
    for (; this.at < text.length; this.at++) {
      const char = text.charAt(this.at)
      if (char === '{' || char === '[') return this.fail('a value')
      if (char === '}' || char === ']') break
      if (char === ',' && (!isField || this.#isKeyBehind(depth === 1 ? known : undefined))) break
    }
    return readBareWord(text.slice(from, this.at).trim())
  }

  #isKeyBehind(known: Readonly<Record<string, unknown>> | undefined): boolean {
    keyBehind.lastIndex = this.at + 1
    const found = keyBehind.exec(this.text)
    return found !== null && (known === undefined || Object.hasOwn(known, found[1] ?? found[2] ?? ''))
  }

  #readWord(): unknown {
    const from = this.at
    if (this.stands('+')) this.at++
    const word = this.readName()
    if (Object.hasOwn(words, word)) return words[word]
    // `readName` stops before the sign in a number such as `1e+5`.
    let written = word
    if (this.stands('+') && /^-?[\d.]+[eE]$/.test(word)) {
      this.at++
      written = `${word}+${this.readName()}`
    }
    const digits = written.includes('_') ? written.replaceAll('_', '') : written
    if (/^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(digits)) {
      const value = Number(digits)
      if (Number.isFinite(value)) return value
    } else if (/^-?0[xX][\da-fA-F]+$/.test(digits)) return digits.startsWith('-') ? -Number(digits.slice(1)) : Number(digits)
    this.at = from
    return this.fail('a value')
  }

  #skipTo(end: string): void {
    const found = this.text.indexOf(end, this.at + 2)
    this.at = found < 0 ? this.text.length : found + end.length
  }
}

/** Numbers and the literals of JSON and Python are values; everything else is text. */
function readBareWord(word: string): unknown {
  if (Object.hasOwn(words, word) && word !== 'undefined') return words[word]
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word) ? Number(word) : word
}

/**
 * Reads the escape at a backslash. An unknown escape is kept unchanged, because it is more likely part of a Windows path than a mistake.
 */
export function readEscape(text: string, at: number): { text: string; end: number } {
  const char = text.charAt(at + 1)
  if (char === 'u' || char === 'x') {
    const length = char === 'u' ? 4 : 2
    const hex = text.slice(at + 2, at + 2 + length)
    if (hex.length === length && /^[\da-fA-F]+$/.test(hex))
      return { text: String.fromCharCode(Number.parseInt(hex, 16)), end: at + 2 + length }
  }
  if (char === '\n') return { text: '', end: at + 2 }
  if ('"\'\\/`'.includes(char) && char !== '') return { text: char, end: at + 2 }
  const known = Object.hasOwn(escapes, char) ? escapes[char] : undefined
  return known === undefined ? { text: `\\${char}`, end: at + 1 + char.length } : { text: known, end: at + 2 }
}
