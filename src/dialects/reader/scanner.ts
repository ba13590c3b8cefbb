import type { Cursor } from './cursor.ts'
import { announcesCall, announcesExample, beginsItem, endsInColon, lastLineOf } from './examples.ts'
import { backtick, LineState, midLine, newline } from './line-state.ts'
import { type MarkerSet, wide } from './markers.ts'
import { OpenValue } from './open-value.ts'

/** Returned if `scan` has read the whole chunk. */
export const nothing = -1
/** Returned if `scan` has stopped before a character that may start an unmarked call. */
export const bareStart = -2

/** The number of characters to look back for a sentence that announces an example. */
const leadLength = 240
/** The number of characters to look back on the same line, to decide whether a call stands alone. */
const ownLength = 32
/** The characters that may precede a call that stands alone on its line, besides blanks. */
const beforeAlone = ':：*_-+•>.)'

/** The markers and characters that a scanner looks for. */
export interface Lookout {
  readonly markers: MarkerSet
  /** Not 0 for characters that must be examined in the middle of a line. */
  readonly starts: Uint8Array
  /** Characters that start an unmarked call anywhere. */
  readonly bare: readonly number[]
  /** Characters that start an unmarked call at the start of a line. */
  readonly bareAtHead: ReadonlySet<number>
}

/**
 * Finds markers in text that arrives in chunks. Holds back only text that may be the start of a marker, and passes on all other text at
 * once.
 */
export class TextScanner {
  readonly line: LineState = new LineState()
  /** Whether the last marker was found at the start of its line. */
  foundAtHead = false
  /** Whether the position where `scan` stopped is at the start of a line, after a colon or after another call. */
  alone = false
  #lookout: Lookout
  /** The state of the search, which identifies the held-back start of a marker. */
  #node: number
  /** The state of the line before the marker that is being read. */
  readonly #before: LineState = new LineState()
  readonly #value: OpenValue = new OpenValue()
  /** The last characters of the text that was passed on. */
  #lead = ''
  /** The last character that was passed on and is not blank. */
  #last = ''
  readonly #out: (text: string) => void

  constructor(out: (text: string) => void, lookout: Lookout) {
    this.#out = out
    this.#lookout = lookout
    this.#node = lookout.markers.root
  }

  /** Changes the markers to look for. Must not be called while text is held back. */
  watch(lookout: Lookout): void {
    this.#lookout = lookout
    this.#node = lookout.markers.root
  }

  /** Reads up to the next marker, and returns the marker's index. If there is no marker, returns `bareStart` or `nothing`. */
  scan(cursor: Cursor): number {
    const { chunk } = cursor
    const from = cursor.at
    const { markers, starts } = this.#lookout
    const { root } = markers
    const { line } = this
    const value = this.#value
    const held = markers.pathOf(this.#node)
    let node = this.#node
    let depth = markers.depthOf(node)
    for (let i = from; i < chunk.length; i++) {
      if (node === root && line.state === midLine && !value.open) {
        while (i < chunk.length && starts[Math.min(chunk.charCodeAt(i), wide)] === 0) i++
        if (i === chunk.length) break
      }
      const code = chunk.charCodeAt(i)
      const before = depth
      node = markers.step(node, code)
      depth = markers.depthOf(node)
      if (depth === 1) this.#before.copyFrom(line)
      else if (depth <= before) this.#before.state = midLine
      if (node === root && this.#startsBare(code, held, chunk, from, i)) {
        this.#node = root
        this.#release(held, chunk, from, i - from)
        cursor.at = i
        return bareStart
      }
      if (line.state !== midLine || code === newline || code === backtick) line.step(code)
      if (value.open) value.step(code)
      const end = markers.endOf(node)
      if (end >= 0) {
        this.#node = root
        this.#release(held, chunk, from, i + 1 - from - depth)
        this.foundAtHead = this.#before.atHead
        cursor.at = i + 1
        return end
      }
    }
    this.#node = node
    this.#release(held, chunk, from, chunk.length - from - depth)
    cursor.at = chunk.length
    return nothing
  }

  /** Passes on a marker or character as text. */
  pass(text: string): void {
    this.#out(text)
    this.#remember(text)
  }

  /** Restores the state that the line had before the last marker. */
  rewindLine(): void {
    this.line.copyFrom(this.#before)
  }

  /**
   * Passes on text in which a reader found no call. If the text is the start of a JSON value, the rest of the value is not searched for
   * calls either.
   */
  passRead(text: string, unmarked: boolean): void {
    this.line.note(text)
    if (unmarked) this.#value.enter(text)
    this.pass(text)
  }

  /** Marks the rest of the line as following a call. */
  passCall(): void {
    this.line.state = midLine
    this.line.afterCall = true
    this.line.example = false
    this.#forget()
  }

  /** Forgets the text so far. Must not be called while text is held back. */
  reset(): void {
    this.line.reset()
    this.#forget()
  }

  /** Passes on the text that was held back. */
  end(): void {
    const { markers } = this.#lookout
    const held = markers.pathOf(this.#node)
    this.#node = markers.root
    if (held !== '') this.pass(held)
  }

  /** Passes on `held` and `length` characters of the chunk. If `length` is negative, the end of `held` stays held back. */
  #release(held: string, chunk: string, from: number, length: number): void {
    const total = held.length + length
    if (total <= 0) return
    let text: string
    if (length <= 0) text = held.slice(0, total)
    else {
      text = from === 0 && length === chunk.length ? chunk : chunk.slice(from, from + length)
      if (held !== '') text = held + text
    }
    this.#out(text)
    this.#remember(text)
  }

  #forget(): void {
    this.#lead = ''
    this.#last = ''
  }

  #remember(text: string): void {
    this.#last = lastOf(text) || this.#last
    // Cutting is slow for long text, so `#lead` is cut only occasionally.
    if (text.length >= leadLength) this.#lead = text.slice(-leadLength)
    else {
      this.#lead += text
      if (this.#lead.length > 8 * leadLength) this.#cutLead()
    }
  }

  /** Cuts `#lead` to its maximum length and returns it. A long text would be slow to read. */
  #cutLead(): string {
    if (this.#lead.length > leadLength) this.#lead = this.#lead.slice(-leadLength)
    return this.#lead
  }

  get announcesExample(): boolean {
    const line = lastLineOf(this.#cutLead())
    return this.line.example ? !announcesCall(line) : announcesExample(line)
  }

  /** Passes on a call that is an example. The text after it, up to a blank line, belongs to the example. */
  passExample(text: string): void {
    this.line.note(text)
    this.line.example = true
    this.pass(text)
  }

  #startsBare(code: number, held: string, chunk: string, from: number, at: number): boolean {
    if (this.#value.open) return false
    const { line } = this
    // Calls in a fence are found by the reader of the fence.
    if (line.fence !== 0 && !line.afterCall) return false
    const named = line.atHead && this.#lookout.bareAtHead.has(code)
    if (!named && !this.#lookout.bare.includes(code)) return false
    if (line.afterCall) {
      this.alone = true
      return true
    }
    this.alone = line.atHead
    if (this.alone) return true
    let lead = chunk.slice(Math.max(from, at - ownLength), at)
    if (!beforeAlone.includes(lastOf(lead) || lastOf(held) || this.#last)) return !line.inCode
    if (lead.length < ownLength) lead = (this.#cutLead() + held + lead).slice(-ownLength)
    const own = lead.slice(lead.lastIndexOf('\n') + 1).trimEnd()
    this.alone = endsInColon(own) || beginsItem(own)
    return this.alone || !line.inCode
  }
}

/** Returns the last character that is not blank, or `''` if all characters are blank. */
function lastOf(text: string): string {
  for (let at = text.length - 1; at >= 0; at--) {
    const char = text.charAt(at)
    if (char.trim() !== '') return char
  }
  return ''
}
