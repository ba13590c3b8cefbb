import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { Wait } from '../dialect.ts'
import type { Cursor } from './cursor.ts'
import { type MarkerSet, wide } from './markers.ts'

/** A limit that is longer than any string. It is an integer, because `Infinity` would turn the arithmetic into floating point. */
export const noLimit: number = 2 ** 30 - 1

function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0xfeff || code === 0x3000
}

/** Reads blanks. Then `next` is the code of the next character, which has not been read. It is -1 at the end. */
export class Blanks implements Wait {
  text = ''
  next = -1

  feed(cursor: Cursor): boolean {
    const { chunk } = cursor
    const from = cursor.at
    let i = from
    while (i < chunk.length && isBlank(chunk.charCodeAt(i))) i++
    cursor.at = i
    if (i > from) this.text += chunk.slice(from, i)
    if (i < chunk.length) {
      this.next = chunk.charCodeAt(i)
      return true
    }
    return cursor.atEnd
  }
}

/**
 * Reads up to and including the first marker of a set. Then `marker` is that marker, and `text` is the text before it. `marker` is
 * undefined if the text ends first, or if it has more than `limit` characters before a marker.
 */
export class Until implements Wait {
  marker: string | undefined
  readonly #set: MarkerSet
  readonly #read: TextBuffer = new TextBuffer()
  #node: number
  /** The number of characters left to read. */
  #room: number

  constructor(set: MarkerSet, limit: number = noLimit) {
    this.#set = set
    this.#node = set.root
    this.#room = limit + 1
  }

  get text(): string {
    return this.#read.text
  }

  feed(cursor: Cursor): boolean {
    const { chunk } = cursor
    const from = cursor.at
    const set = this.#set
    const { root, starts } = set
    const held = set.pathOf(this.#node)
    const stop = Math.min(chunk.length, from + this.#room)
    let node = this.#node
    for (let i = from; i < stop; i++) {
      if (node === root) {
        while (i < stop && starts[Math.min(chunk.charCodeAt(i), wide)] === 0) i++
        if (i === stop) break
      }
      node = set.step(node, chunk.charCodeAt(i))
      const end = set.endOf(node)
      if (end >= 0) {
        this.#take(held, chunk, from, i + 1 - from - set.depthOf(node))
        this.marker = set.patterns[end]
        cursor.at = i + 1
        return true
      }
    }
    this.#take(held, chunk, from, stop - from - set.depthOf(node))
    this.#node = node
    this.#room -= stop - from
    cursor.at = stop
    if (this.#room > 0 && !cursor.atEnd) return false
    this.#read.add(set.pathOf(node))
    return true
  }

  #take(held: string, chunk: string, from: number, length: number): void {
    if (length > 0) {
      const part = from === 0 && length === chunk.length ? chunk : chunk.slice(from, from + length)
      this.#read.add(held === '' ? part : held + part)
    } else if (held.length + length > 0) this.#read.add(held.slice(0, held.length + length))
  }
}

/**
 * Reads the longest marker of a set at the cursor, and the blanks before it unless `skipBlanks` is false. Then `matched` is that marker. If
 * there is no marker, nothing is read. If the text ends inside a marker, the incomplete marker is read, and `partial` contains it.
 */
export class Match implements Wait {
  matched: string | undefined
  partial = ''
  blanks = ''
  readonly #set: MarkerSet
  readonly #skipBlanks: boolean
  #node: number
  #best = -1

  constructor(set: MarkerSet, skipBlanks = true) {
    this.#set = set
    this.#skipBlanks = skipBlanks
    this.#node = set.root
  }

  feed(cursor: Cursor): boolean {
    const { chunk } = cursor
    const set = this.#set
    let at = cursor.at
    let node = this.#node
    if (this.#skipBlanks && node === set.root) {
      while (at < chunk.length && isBlank(chunk.charCodeAt(at))) at++
      if (at > cursor.at) this.blanks += chunk.slice(cursor.at, at)
    }
    for (; at < chunk.length; at++) {
      const next = set.step(node, chunk.charCodeAt(at))
      if (set.depthOf(next) <= set.depthOf(node)) return this.#finish(cursor, at, node)
      node = next
      const end = set.endOf(node)
      if (end >= 0) {
        this.#best = end
        if (!set.mayContinue(node)) return this.#finish(cursor, at + 1, node)
      }
    }
    this.#node = node
    cursor.at = at
    if (!cursor.atEnd) return false
    if (this.#best >= 0 || node === set.root) return this.#finish(cursor, at, node)
    this.partial = set.pathOf(node)
    return true
  }

  /** Moves the cursor back over the characters that were read after the match. */
  #finish(cursor: Cursor, at: number, node: number): true {
    cursor.at = at
    const path = this.#set.pathOf(node)
    this.matched = this.#best < 0 ? undefined : this.#set.patterns[this.#best]
    const back = this.matched === undefined ? this.blanks + path : path.slice(this.matched.length)
    if (back !== '') cursor.unread(back)
    return true
  }
}

/** A `Match` that does not move the cursor. */
export class Peek extends Match {
  override feed(cursor: Cursor): boolean {
    if (!super.feed(cursor)) return false
    if (this.matched !== undefined) cursor.unread(this.blanks + this.matched)
    else if (this.partial !== '') cursor.unread(this.blanks + this.partial)
    return true
  }
}
