import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { Wait } from '../dialect.ts'
import type { Cursor } from '../reader/cursor.ts'

/** A gap for an ASCII name, at most 64 characters long. */
export const nameGap = -1
/** A gap for text of any length, up to the character that follows in the form. */
export const textGap = -2
/** A gap for blanks, or for nothing. */
export const blankGap = -3

const longestName = 64

/** What markup looks like when nothing is odd about it: its characters, and the gaps between them. */
export type Form = readonly number[]

/** A form as it is written: `` form`<${nameGap} value="${textGap}"${blankGap}/>` ``. At most one name, then one
 * text; a gap is followed by a character. */
export function form(texts: TemplateStringsArray, ...gaps: readonly (number | string)[]): Form {
  const steps: number[] = []
  const add = (text: string): void => {
    for (let i = 0; i < text.length; i++) steps.push(text.charCodeAt(i))
  }
  texts.forEach((text, index) => {
    add(text)
    const gap = gaps[index]
    if (typeof gap === 'number') steps.push(gap)
    else if (gap !== undefined) add(gap)
  })
  return steps
}

/**
 * Reads markup that has the expected form, in one wait where readers that expect everything need many. With the first character that is
 * anything else, or at the text's end, all that was read is given back, `fits` stays false, and the markup is left to such a reader.
 */
export class Usual implements Wait {
  fits = false
  readonly #form: Form
  readonly #read: TextBuffer = new TextBuffer()
  #step = 0
  #nameFrom = 0
  #nameTo = 0
  #textFrom = 0
  #textTo = 0

  constructor(form: Form) {
    this.#form = form
  }

  /** All that was read. */
  get whole(): string {
    return this.#read.text
  }

  /** What stood in the gap for a name. */
  get name(): string {
    return this.whole.slice(this.#nameFrom, this.#nameTo)
  }

  /** What stood in the gap for text. */
  get text(): string {
    return this.whole.slice(this.#textFrom, this.#textTo)
  }

  feed(cursor: Cursor): boolean {
    const { chunk } = cursor
    const form = this.#form
    const from = cursor.at
    const base = this.#read.length - from
    let step = this.#step
    let wanted = form[step] ?? 0
    for (let i = from; i < chunk.length; i++) {
      if (wanted === textGap) {
        const end = form[step + 1] ?? 0
        while (i < chunk.length && chunk.charCodeAt(i) !== end) i++
        if (i === chunk.length) break
        this.#textTo = base + i
        wanted = end
        step++
      }
      const code = chunk.charCodeAt(i)
      if (wanted < 0) {
        if (wanted === nameGap ? isNameCode(code) : isSpace(code)) continue
        if (wanted === nameGap) {
          this.#nameTo = base + i
          const length = this.#nameTo - this.#nameFrom
          if (length === 0 || length > longestName) return giveBack(cursor, this.#read, i)
        }
        wanted = form[++step] ?? 0
      }
      if (code !== wanted) return giveBack(cursor, this.#read, i)
      if (++step === form.length) {
        this.#read.add(chunk.slice(from, i + 1))
        cursor.at = i + 1
        this.fits = true
        return true
      }
      wanted = form[step] ?? 0
      if (wanted === nameGap) this.#nameFrom = base + i + 1
      else if (wanted === textGap) this.#textFrom = base + i + 1
    }
    cursor.at = chunk.length
    if (cursor.atEnd) {
      cursor.at = from
      return giveBack(cursor, this.#read, chunk.length)
    }
    this.#step = step
    this.#read.add(from === 0 ? chunk : chunk.slice(from))
    return false
  }
}

/** Ends a wait that did not get what it waits for: all it has read, up to `to`, is there to be read again. */
export function giveBack(cursor: Cursor, read: TextBuffer, to: number): true {
  const newest = cursor.chunk.slice(cursor.at, to)
  cursor.at = to
  cursor.unread(read.text + newest)
  return true
}

export function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 13
}

/** Letters, digits and `- . _`. */
export function isNameCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95 || code === 45 || code === 46
  )
}
