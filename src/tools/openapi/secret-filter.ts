import { REDACTED } from '../../core/logger.ts'
import { isJsonObject, type Json } from '../../core/messages.ts'

/** The longest form of one character of a secret: `\\\\ud83d\\\\ude00` with two more backslashes each. */
const maxFormLength = 18
/** A random secret of 4,000 characters needs fewer. */
const maxLooks = 10_000

/**
 * Removes secrets from a server's answers, however they are written: as they are, or with the escapes of JSON (also of JSON within JSON), URLs
 * and HTML.
 */
export class SecretFilter {
  readonly #pattern: RegExp | undefined
  readonly #secrets: readonly (readonly WrittenCharacter[])[]

  constructor(secrets: readonly string[]) {
    // The longest first: else a part of one might be removed and the rest left.
    const texts = [...new Set(secrets)].filter((secret) => secret !== '').sort((a, b) => b.length - a.length)
    this.#secrets = texts.map((secret) => [...secret].map(writtenCharacter))
    const patterns = this.#secrets.map((characters) => characters.map(({ pattern }) => pattern).join(''))
    this.#pattern = texts.length === 0 ? undefined : new RegExp(patterns.join('|'), 'g')
  }

  clean(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, REDACTED)
  }

  /** For a text cut off perhaps in the middle of a secret: also removes what may be the beginning of one. */
  cleanCut(text: string): string {
    if (this.#pattern === undefined) return text
    // What is left of a character that was cut in two.
    const whole = text.replace(/\ufffd{1,3}$/, '')
    let end = whole.length
    for (const secret of this.#secrets) end = Math.min(end, startOfBeginning(whole, secret))
    let cleaned = ''
    let at = 0
    for (const { index, 0: found } of whole.matchAll(this.#pattern)) {
      // A secret may end as it begins: no part of a whole one may be left.
      if (index + found.length > end) {
        end = Math.min(end, index)
        break
      }
      cleaned += whole.slice(at, index) + REDACTED
      at = index + found.length
    }
    return cleaned + whole.slice(at, end)
  }

  /** The same value with all texts cleaned, including names. */
  cleanJson(value: Json): Json {
    if (this.#pattern === undefined) return value
    if (typeof value === 'string') return this.clean(value)
    if (Array.isArray(value)) return value.map((item) => this.cleanJson(item))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [this.clean(name), this.cleanJson(item)]))
  }
}

/** One character of a secret in all forms. */
interface WrittenCharacter {
  pattern: string
  /** Matches the whole character. */
  whole: RegExp
  /** Matches every beginning of a form of it. */
  beginning: RegExp
}

function writtenCharacter(character: string): WrittenCharacter {
  const forms = formsOf(character)
  const pattern = `(?:${forms.map((form) => form.join('')).join('|')})`
  const beginnings = forms.map((form) => form.reduceRight((rest, part) => (rest === '' ? part : `${part}(?:${rest})?`), ''))
  return { pattern, whole: new RegExp(`^${pattern}$`), beginning: new RegExp(`^(?:${beginnings.join('|')})$`) }
}

/**
 * Where the longest beginning of a secret starts that `text` ends with; else the text's end. The time does not grow with the text: only as much
 * of its end as a secret can fill is searched, and if very many places there could begin one, all of it is left out.
 */
function startOfBeginning(text: string, secret: readonly WrittenCharacter[]): number {
  let first = text.length
  let looks = 0
  /** Where each part of the secret found so far ends, and the earliest place where it starts. */
  let found = new Map<number, number>()
  for (let at = Math.max(0, text.length - secret.length * maxFormLength); at < text.length; at++) found.set(at, at)
  for (const { whole, beginning } of secret) {
    const longer = new Map<number, number>()
    for (const [end, start] of found) {
      if (start >= first || !beginning.test(text.charAt(end))) continue
      if (++looks > maxLooks) return [...found.values()].reduce((one, other) => Math.min(one, other), first)
      const rest = text.slice(end, end + maxFormLength)
      if (end + rest.length === text.length && beginning.test(rest)) first = Math.min(first, start)
      for (let length = 1; length <= rest.length; length++) {
        if (whole.test(rest.slice(0, length))) longer.set(end + length, Math.min(start, longer.get(end + length) ?? start))
      }
    }
    if (longer.size === 0) break
    found = longer
  }
  return first
}

const named: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }
const short: Readonly<Record<string, string>> = { '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't' }

/**
 * Patterns of one character in all forms, each as a list of parts. At most four backslashes: with any number the search would not be linear.
 */
function formsOf(character: string): string[][] {
  const code = character.codePointAt(0) ?? 0
  const units = character.split('').flatMap((unit) => ['\\\\{1,4}', 'u', ...hex(unit.charCodeAt(0), 4)])
  const bytes = [...Buffer.from(character.toWellFormed())].flatMap((byte) => ['%', ...hex(byte, 2)])
  const entities = [
    ['#', 'x', '0{0,4}', ...hex(code, 1)],
    ['#', '0{0,4}', ...String(code)],
    ...(named[character] === undefined ? [] : [[...named[character]]]),
  ]
  const escaped = short[character] ?? (/["\\/]/.test(character) ? literal(character) : undefined)
  return [
    character.split('').map(literal),
    units,
    bytes,
    ...entities.map((entity) => ['&', ...entity, ';?']),
    ...(escaped === undefined ? [] : [['\\\\{1,4}', escaped]]),
  ]
}

function literal(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** A pattern for each hexadecimal digit, in either case. */
function hex(code: number, digits: number): string[] {
  return [...code.toString(16).padStart(digits, '0')].map((digit) => (/[a-f]/.test(digit) ? `[${digit}${digit.toUpperCase()}]` : digit))
}
