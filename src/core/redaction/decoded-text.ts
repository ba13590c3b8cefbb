import type { InParts } from '../time/give-way.ts'

/** A text with its escapes decoded, and the position of each character in the original. */
export interface DecodedText {
  text: string
  /** The index in the original of each character of `text`. One more entry contains the length of the original. */
  starts: Int32Array
  /** The number of characters that later text can't change. Only an escape that starts after these characters may be incomplete. */
  decided: number
}

const escapes = /[%&\\]/
/** The longest name of an entity, between `&` and `;`. */
const longestEntity = 14
/** Maximum length of an escape after its last `\\`, `%` or `&`, in characters. */
const longestEscape = 16
const charactersInOnePart = 32_768

const codes = { backslash: 0x5c, percent: 0x25, ampersand: 0x26, semicolon: 0x3b, hash: 0x23, u: 0x75, x: 0x78 }
const { backslash, percent, ampersand, semicolon, hash, u, x } = codes
/**
 * Until all bytes of a character have been decoded, each byte is stored as a code unit: this value plus the byte. In well-formed text,
 * such code units never occur alone.
 */
const firstByte = 0xdc00

const afterBackslash = new Map(
  Object.entries({ '"': '"', "'": "'", '/': '/', '`': '`', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(([escaped, character]) => [
    escaped.charCodeAt(0),
    character.charCodeAt(0),
  ]),
)

/**
 * Entities for characters that occur in keys and passwords, and for those that HTML must escape.
 * https://html.spec.whatwg.org/#named-character-references
 */
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  excl: '!',
  num: '#',
  dollar: '$',
  percnt: '%',
  lpar: '(',
  rpar: ')',
  ast: '*',
  midast: '*',
  plus: '+',
  comma: ',',
  period: '.',
  sol: '/',
  colon: ':',
  semi: ';',
  equals: '=',
  quest: '?',
  commat: '@',
  lsqb: '[',
  lbrack: '[',
  bsol: '\\',
  rsqb: ']',
  rbrack: ']',
  hat: '^',
  lowbar: '_',
  grave: '`',
  lcub: '{',
  lbrace: '{',
  verbar: '|',
  vert: '|',
  rcub: '}',
  rbrace: '}',
  hyphen: '-',
  dash: '-',
  tab: '\t',
  newline: '\n',
}

/**
 * Decodes the escapes of JSON, URLs and HTML, including nested escapes such as `%2525` and `\\\\u0041`. Removes other backslashes.
 * Undefined if the text has no escapes.
 */
export function* decodeText(text: string): InParts<DecodedText | undefined> {
  if (!escapes.test(text)) return undefined
  const decoder = new Decoder(text.length)
  for (let from = 0; from < text.length; from += charactersInOnePart) {
    if (from > 0) yield
    const end = Math.min(text.length, from + charactersInOnePart)
    decoder.addPart(text, from, end)
  }
  return decoder.end(text.length)
}

interface Unit {
  unit: number
  start: number
}

/** Replaces an escape when its last character arrives. The result may complete another escape. */
class Decoder {
  readonly #units: Uint16Array
  readonly #starts: Int32Array
  #length = 0
  /** The position of the last `&` that may start an entity, or -1. */
  #ampersand = -1
  /** The number of characters since the last `\\`, `%` or `&`. Beyond `longestEscape`, no escape can be incomplete. */
  #plain = Number.POSITIVE_INFINITY
  /** Decoded characters that have not been added yet, in reverse order. */
  readonly #pending: Unit[] = []

  constructor(length: number) {
    this.#units = new Uint16Array(length)
    this.#starts = new Int32Array(length + 1)
  }

  addPart(text: string, from: number, end: number): void {
    for (let at = from; at < end; at++) {
      const unit = text.charCodeAt(at)
      if (unit === backslash || unit === percent || unit === ampersand) this.#plain = 0
      else if (this.#plain > longestEscape) {
        this.#starts[this.#length] = at
        this.#units[this.#length++] = unit
        continue
      }
      this.#plain++
      this.add(unit, at)
    }
  }

  /** Uses a loop instead of recursion, because one escape may complete another escape thousands of times in a row. */
  add(first: number, at: number): void {
    for (let next: Unit | undefined = { unit: first, start: at }; next !== undefined; next = this.#pending.pop()) {
      const { unit, start } = next
      if (this.#ampersand >= 0 && !isWordUnit(unit) && unit !== hash) this.#endEntity(unit, start)
      else this.#push(unit, start)
    }
  }

  end(textLength: number): DecodedText {
    const decided = this.#decided()
    this.#starts[this.#length] = textLength
    const units = this.#units.subarray(0, this.#length)
    let text = ''
    for (let at = 0; at < units.length; at += 8_192) text += textOf(units.subarray(at, at + 8_192))
    return { text, starts: this.#starts, decided }
  }

  #unit(behind: number): number {
    return this.#length < behind ? 0 : (this.#units[this.#length - behind] ?? 0)
  }

  #push(unit: number, start: number): void {
    const before = this.#unit(1)
    const escaped = before === backslash ? afterBackslash.get(unit) : undefined
    if (escaped !== undefined) this.#replace(1, escaped)
    else if (isHex(unit) && isHex(before) && this.#unit(2) === percent) this.#replaceByte(2, before, unit)
    else if (isHex(unit) && isHex(before) && this.#unit(2) === x && this.#unit(3) === backslash) this.#replaceByte(3, before, unit)
    else if (isHex(unit) && this.#endsInUnit()) this.#replace(5, this.#hexOf(3, unit))
    // The number of repeated backslashes shows only how deeply the text is quoted, so they are dropped.
    else if (before !== backslash || unit !== backslash) this.#put(unit, start)
  }

  #put(unit: number, start: number): void {
    // Removes a backslash that starts no escape.
    if (this.#unit(1) === backslash && unit !== u && unit !== x) this.#length--
    if (unit === ampersand) this.#ampersand = this.#length
    else if (this.#ampersand >= 0 && this.#length - this.#ampersand > longestEntity) this.#ampersand = -1
    this.#starts[this.#length] = start
    this.#units[this.#length++] = unit
    if (isByte(unit)) this.#joinBytes()
  }

  /** Whether one more character may complete an escape such as `\\u0041`. */
  #endsInUnit(): boolean {
    return this.#unit(5) === backslash && this.#unit(4) === u && [1, 2, 3].every((behind) => isHex(this.#unit(behind)))
  }

  #hexOf(last: number, unit: number): number {
    return Number.parseInt(textOf(this.#units.subarray(this.#length - last, this.#length)) + String.fromCharCode(unit), 16)
  }

  /** Replaces the last characters by one character, which may be part of another escape. */
  #replace(last: number, unit: number): void {
    this.#length -= last
    const start = this.#starts[this.#length] ?? 0
    if (this.#ampersand >= this.#length) this.#ampersand = -1
    this.#pending.push({ unit, start })
  }

  #replaceByte(last: number, high: number, low: number): void {
    const byte = Number.parseInt(String.fromCharCode(high, low), 16)
    this.#replace(last, byte < 0x80 ? byte : firstByte + byte)
  }

  /** Replaces the last bytes by a character if they are its UTF-8 encoding. */
  #joinBytes(): void {
    let count = 1
    while (count < 4 && isContinuation(this.#unit(count))) count++
    const first = this.#unit(count) - firstByte
    const expected = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
    if (first < 0xc0 || first > 0xf7 || expected !== count) return
    let code = first & (0xff >> (count + 1))
    for (let behind = count - 1; behind > 0; behind--) code = (code << 6) | (this.#unit(behind) & 0x3f)
    if (code > 0x10ffff) return
    this.#length -= count
    this.#putCharacter(code, this.#starts[this.#length] ?? 0)
  }

  #putCharacter(code: number, start: number): void {
    for (const unit of String.fromCodePoint(code).split('').reverse()) this.#pending.push({ unit: unit.charCodeAt(0), start })
  }

  /** Handles `unit`, which ends an entity. Without a semicolon, only a numeric entity is decoded. */
  #endEntity(unit: number, start: number): void {
    const from = this.#ampersand
    this.#ampersand = -1
    const code = entityCode(textOf(this.#units.subarray(from + 1, this.#length)), unit === semicolon)
    if (code === undefined || unit !== semicolon) this.#pending.push({ unit, start })
    if (code === undefined) return
    this.#length = from
    this.#putCharacter(code, this.#starts[from] ?? 0)
  }

  /** The number of characters that later text can't change. */
  #decided(): number {
    const last = textOf(this.#units.subarray(Math.max(0, this.#length - 16), this.#length))
    const undecided = /[\udc80-\udcff]{0,3}(?:\\(?:u[0-9a-f]{0,3}|x[0-9a-f]?)?)?(?:%[0-9a-f]?){0,2}$/i.exec(last)?.[0].length ?? 0
    const decided = this.#length - undecided
    return this.#ampersand < 0 ? decided : Math.min(decided, this.#ampersand)
  }
}

function entityCode(name: string, hasSemicolon: boolean): number | undefined {
  const number = /^#(?:x([0-9a-f]{1,12})|(\d{1,12}))$/i.exec(name)
  if (number !== null) {
    const code = number[1] === undefined ? Number(number[2]) : Number.parseInt(number[1], 16)
    return code <= 0x10ffff ? code : undefined
  }
  const known = name.toLowerCase()
  return hasSemicolon && Object.hasOwn(entities, known) ? entities[known]?.codePointAt(0) : undefined
}

function textOf(units: Uint16Array): string {
  return Reflect.apply(String.fromCharCode, undefined, units)
}

function isWordUnit(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a)
}

function isHex(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x46) || (unit >= 0x61 && unit <= 0x66)
}

/** Whether a code unit stands for a UTF-8 byte that is not part of a character yet. */
function isByte(unit: number): boolean {
  return unit >= firstByte + 0x80 && unit <= firstByte + 0xff
}

function isContinuation(unit: number): boolean {
  return unit >= firstByte + 0x80 && unit < firstByte + 0xc0
}
