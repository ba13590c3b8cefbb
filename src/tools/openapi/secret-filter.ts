import { REDACTED } from '../../log.ts'
import { isJsonObject, type Json } from '../../messages.ts'

/** Most characters one character of a text is written as: `\\\\u0026`, `%F0%9F%98%80`. */
const longestEscape = 12

/**
 * Takes secrets out of what a server answers, however it writes them: as they are, with the escapes of JSON (also of JSON inside of JSON), of
 * addresses and of HTML.
 */
export class SecretFilter {
  readonly #pattern: RegExp | undefined
  readonly #longest: number

  constructor(secrets: readonly string[]) {
    // The longest first, lest a part of one be taken out and the rest be left.
    const texts = [...new Set(secrets)].filter((secret) => secret !== '').sort((a, b) => b.length - a.length)
    this.#pattern = texts.length === 0 ? undefined : new RegExp(texts.map(patternOf).join('|'), 'g')
    this.#longest = (texts[0]?.length ?? 0) * longestEscape
  }

  clean(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, REDACTED)
  }

  /** A text whose end was cut off, perhaps in the middle of a secret: what may be the beginning of one is left out. */
  cleanCut(text: string): string {
    return this.clean(text.slice(0, Math.max(0, text.length - this.#longest)))
  }

  /** The same value with its texts cleaned, names included. */
  cleanJson(value: Json): Json {
    if (this.#pattern === undefined) return value
    if (typeof value === 'string') return this.clean(value)
    if (Array.isArray(value)) return value.map((item) => this.cleanJson(item))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [this.clean(name), this.cleanJson(item)]))
  }
}

function patternOf(secret: string): string {
  return [...secret].map(formsOf).join('')
}

const named: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }
const short: Readonly<Record<string, string>> = { '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't' }

/** A pattern for one character in all ways it may be written. At most four backslashes: with any number the search would not be linear. */
function formsOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const units = Array.from({ length: character.length }, (_, at) => `\\\\{1,4}u${hex(character.charCodeAt(at), 4)}`)
  const bytes = Array.from(Buffer.from(character.toWellFormed()), (byte) => `%${hex(byte, 2)}`)
  const entities = [`#x0{0,4}${hex(code, 1)};?`, `#0{0,4}${code};?`, ...(named[character] === undefined ? [] : [`${named[character]};?`])]
  const escaped = short[character] ?? (/["\\/]/.test(character) ? literal(character) : undefined)
  const forms = [
    literal(character),
    units.join(''),
    bytes.join(''),
    `&(?:${entities.join('|')})`,
    ...(escaped === undefined ? [] : [`\\\\{1,4}${escaped}`]),
  ]
  return `(?:${forms.join('|')})`
}

function literal(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** Hexadecimal digits in either case. */
function hex(code: number, digits: number): string {
  return code
    .toString(16)
    .padStart(digits, '0')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}
