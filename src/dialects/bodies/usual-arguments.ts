import { setField } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { Wait } from '../dialect.ts'
import type { Cursor } from '../reader/cursor.ts'
import { giveBack, isNameCode, isSpace } from './usual.ts'

const odd = -1
const beforeKey = 0
const inKey = 1
const beforeValue = 2
const inText = 3
const inNumber = 4
const behindValue = 5
const behindCall = 6
const over = 7

const quote = 34
const backslash = 92
const longestNumber = 15

/**
 * Reads ` query="text", limit=3)]` behind a python call's parenthesis, as most calls have it: text without escapes, whole numbers. With
 * the first character that is anything else, or past `limit` characters, it gives back all it has read, and `fits` stays false.
 */
export class UsualArguments implements Wait {
  fits = false
  readonly #limit: number
  readonly #read: TextBuffer = new TextBuffer()
  /** Where each key and each value begins and ends; a text's opening quote is part of it. */
  readonly #bounds: number[] = []
  #state = beforeKey

  constructor(limit: number) {
    this.#limit = limit
  }

  get args(): Record<string, unknown> {
    const { text } = this.#read
    const args: Record<string, unknown> = {}
    const bounds = this.#bounds
    for (let i = 0; i + 3 < bounds.length; i += 4) {
      const value = text.slice(bounds[i + 2], bounds[i + 3])
      setField(args, text.slice(bounds[i], bounds[i + 1]), value.charCodeAt(0) === quote ? value.slice(1) : Number(value))
    }
    return args
  }

  feed(cursor: Cursor): boolean {
    const { chunk } = cursor
    const from = cursor.at
    const base = this.#read.length - from
    let state = this.#state
    for (let i = from; i < chunk.length; i++) {
      if (state === inText) {
        i = endOfText(chunk, i)
        if (i === chunk.length) break
      }
      const next = stepFrom(state, chunk.charCodeAt(i))
      if (next === state) continue
      if (next === odd || (state === inNumber && base + i - (this.#bounds.at(-1) ?? 0) > longestNumber))
        return giveBack(cursor, this.#read, i)
      if (next === inKey || (state >= inKey && state <= inNumber)) this.#bounds.push(base + i)
      state = next
      if (state !== over) continue
      this.#read.add(chunk.slice(from, i + 1))
      cursor.at = i + 1
      this.fits = true
      return true
    }
    this.#state = state
    cursor.at = chunk.length
    const held = this.#read.length + chunk.length - from
    if (cursor.atEnd || held > this.#limit) {
      cursor.at = from
      return giveBack(cursor, this.#read, chunk.length)
    }
    this.#read.add(from === 0 ? chunk : chunk.slice(from))
    return false
  }
}

function endOfText(chunk: string, from: number): number {
  for (let i = from; i < chunk.length; i++) {
    const code = chunk.charCodeAt(i)
    if (code === quote || code === backslash) return i
  }
  return chunk.length
}

function stepFrom(state: number, code: number): number {
  switch (state) {
    case beforeKey:
      if (isSpace(code)) return beforeKey
      return isNameCode(code) ? inKey : code === 41 ? behindCall : odd
    case inKey:
      return isNameCode(code) ? inKey : code === 61 ? beforeValue : odd
    case beforeValue:
      return code === quote ? inText : isDigit(code) ? inNumber : odd
    case inText:
      return code === quote ? behindValue : odd
    case inNumber:
      if (isDigit(code)) return inNumber
      return code === 44 ? beforeKey : code === 41 ? behindCall : odd
    case behindValue:
      if (isSpace(code)) return behindValue
      return code === 44 ? beforeKey : code === 41 ? behindCall : odd
    default:
      return isSpace(code) ? behindCall : code === 93 ? over : odd
  }
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}
