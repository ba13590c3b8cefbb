import type { Cursor } from '../cursor.ts'
import type { Wait } from '../dialect.ts'
import { Rope } from '../rope.ts'

/** A gap for an ASCII name, at most 64 characters long. */
export const name = -1
/** A gap for text of any length, up to the character that follows in the form. */
export const value = -2
/** A gap for blanks, or for nothing. */
export const blanks = -3

const longestName = 64

/** What markup looks like when nothing is odd about it: its characters, and the gaps between them. */
export type Form = readonly number[]

/** A form as it is written: `` form`<${name} value="${value}"${blanks}/>` ``. At most one name, then one value; a gap is followed by a character. */
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
  readonly #text: Rope = new Rope()
  #step = 0
  #nameFrom = 0
  #nameTo = 0
  #valueFrom = 0
  #valueTo = 0

  constructor(form: Form) {
    this.#form = form
  }

  /** All that was read. */
  get text(): string {
    return this.#text.text
  }

  get name(): string {
    return this.text.slice(this.#nameFrom, this.#nameTo)
  }

  get value(): string {
    return this.text.slice(this.#valueFrom, this.#valueTo)
  }

  feed(cursor: Cursor): boolean {
    const { chunk } = cursor
    const form = this.#form
    const from = cursor.at
    const base = this.#text.length - from
    let step = this.#step
    let wanted = form[step] ?? 0
    for (let i = from; i < chunk.length; i++) {
      const code = chunk.charCodeAt(i)
      if (wanted < 0) {
        const at = base + i
        if (wanted === value ? code !== form[step + 1] : wanted === name ? isNameCode(code) : isSpace(code)) continue
        if (wanted === value) this.#valueTo = at
        else if (wanted === name) {
          if (at === this.#nameFrom || at - this.#nameFrom > longestName) return this.#giveBack(cursor, i)
          this.#nameTo = at
        }
        wanted = form[++step] ?? 0
      }
      if (code !== wanted) return this.#giveBack(cursor, i)
      if (++step === form.length) {
        this.#text.add(chunk.slice(from, i + 1))
        cursor.at = i + 1
        this.fits = true
        return true
      }
      wanted = form[step] ?? 0
      if (wanted === name) this.#nameFrom = base + i + 1
      else if (wanted === value) this.#valueFrom = base + i + 1
    }
    cursor.at = chunk.length
    if (cursor.atEnd) {
      cursor.at = from
      return this.#giveBack(cursor, chunk.length)
    }
    this.#step = step
    this.#text.add(from === 0 ? chunk : chunk.slice(from))
    return false
  }

  #giveBack(cursor: Cursor, to: number): true {
    const newest = cursor.chunk.slice(cursor.at, to)
    cursor.at = to
    cursor.unread(this.#text.text + newest)
    return true
  }
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 13
}

/** Letters, digits and `- . _`. */
function isNameCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95 || code === 45 || code === 46
  )
}
