import { setField } from '../../../core/messages.ts'
import { deepest, LooseReader } from './json-text.ts'

/** A key and its colon. */
const key = /\s*([\w$.-]+)\s*:/y
const quotedKey = /\s*"((?:[^"\\]|\\.)*)"\s*:/y
const ends = /[,{}[\]]/

/**
 * Reads an object whose texts may have no quotes: `{city:New York, days:2}`. A comma ends such a text if a key comes behind it, one of `known`
 * where they are given. Undefined for anything else.
 */
export function readBareObject(text: string, known?: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const reader = new BareReader(text, known)
  const value = reader.readObject(0)
  return reader.isAtEnd ? value : undefined
}

class BareReader {
  readonly #text: string
  readonly #known: Readonly<Record<string, unknown>> | undefined
  #at = 0
  #failed = false

  constructor(text: string, known: Readonly<Record<string, unknown>> | undefined) {
    this.#text = text
    this.#known = known
  }

  get isAtEnd(): boolean {
    return !this.#failed && this.#text.slice(this.#at).trim() === ''
  }

  readObject(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    this.#at++
    for (;;) {
      if (this.#take('}')) return object
      const name = this.#readKey(this.#at)
      if (name === undefined) return this.#fail(object)
      this.#at = name.end
      setField(object, name.key, this.#readValue(depth + 1, true))
      if (!this.#take(',') && this.#next() !== '}') return this.#fail(object)
    }
  }

  #readList(depth: number): unknown[] {
    const list: unknown[] = []
    this.#at++
    for (;;) {
      if (this.#take(']') || this.#failed) return list
      list.push(this.#readValue(depth + 1, false))
      if (!this.#take(',') && this.#next() !== ']') return this.#fail(list)
    }
  }

  #readValue(depth: number, isMember: boolean): unknown {
    if (depth > deepest) return this.#fail(undefined)
    const next = this.#next()
    if (next === '{') return this.readObject(depth)
    if (next === '[') return this.#readList(depth)
    if (next === '"' || next === "'") {
      const reader = new LooseReader(this.#text)
      reader.at = this.#at
      const value = reader.readValue(depth)
      if (reader.problem !== undefined) return this.#fail(undefined)
      this.#at = reader.at
      return value
    }
    const from = this.#at
    let at = from
    for (; at < this.#text.length; at++) {
      const char = this.#text.charAt(at)
      if (!ends.test(char)) continue
      if (char === '{' || char === '[') return this.#fail(undefined)
      if (char !== ',' || !isMember || this.#isKey(at + 1, depth)) break
    }
    this.#at = at
    return readWord(this.#text.slice(from, at).trim())
  }

  #isKey(at: number, depth: number): boolean {
    const found = this.#readKey(at)
    if (found === undefined) return false
    return depth > 1 || this.#known === undefined || Object.hasOwn(this.#known, found.key)
  }

  #readKey(at: number): { key: string; end: number } | undefined {
    for (const pattern of [key, quotedKey]) {
      pattern.lastIndex = at
      const match = pattern.exec(this.#text)
      if (match?.[1] !== undefined) return { key: match[1], end: pattern.lastIndex }
    }
    return undefined
  }

  /** The next character that is not blank, which is not read. */
  #next(): string {
    while (this.#at < this.#text.length && this.#text.charAt(this.#at).trim() === '') this.#at++
    return this.#text.charAt(this.#at)
  }

  #take(char: string): boolean {
    if (this.#next() !== char) return false
    this.#at++
    return true
  }

  #fail<Value>(value: Value): Value {
    this.#failed = true
    this.#at = this.#text.length
    return value
  }
}

/** Numbers and the words of JSON are values, everything else is text. */
function readWord(word: string): unknown {
  if (word === 'None') return null
  if (/^(?:true|false|null|True|False|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/.test(word)) return JSON.parse(word.toLowerCase())
  return word
}
