import type { Cursor } from './cursor.ts'
import { announcesCall, announcesExample, beginsItem, endsInColon, lastLineOf } from './examples.ts'
import { backtick, LineState, midLine, newline } from './line-state.ts'
import { type MarkerSet, wide } from './markers.ts'
import { OpenValue } from './open-value.ts'

/** `scan` read the piece to its end. */
export const nothing = -1
/** `scan` stopped before a character that may start an unmarked call. */
export const bareStart = -2

/** The number of characters before a position that count as its context. */
const leadLength = 240
/** How many of those may be in the same line. */
const ownLength = 32
/** The characters, besides blanks, that may precede a call that stands alone in its line. */
const beforeAlone = ':：*_-+•>.)'

/** What a scanner looks for. */
export interface Lookout {
  readonly markers: MarkerSet
  /** Not 0 for characters that must be examined in the middle of a line. Most text has few of them. */
  readonly starts: Uint8Array
  /** Characters that start an unmarked call anywhere. */
  readonly bare: readonly number[]
  /** Characters that start an unmarked call at the start of a line. */
  readonly bareAtHead: ReadonlySet<number>
}

/**
 * Finds markers in text, across the borders of its pieces. Holds back only what may be the start of a marker and passes on everything else
 * at once. Looks at each character once.
 */
export class TextScanner {
  readonly line: LineState = new LineState()
  /** Whether the last marker was found at the start of its line. */
  foundAtHead = false
  /** Whether the position where `scan` stopped is at the start of a line, after a colon or after another call. */
  alone = false
  #lookout: Lookout
  /** The state of the markers: the characters that may start one. */
  #node: number
  /** The state of the line before the marker that is being read. */
  readonly #before: LineState = new LineState()
  readonly #value: OpenValue = new OpenValue()
  /** The last characters that were passed on. */
  #lead = ''
  /** The last of them that is not blank. */
  #last = ''
  readonly #out: (text: string) => void

  constructor(out: (text: string) => void, lookout: Lookout) {
    this.#out = out
    this.#lookout = lookout
    this.#node = lookout.markers.root
  }

  /** Changes what is looked for. Nothing may be held back. */
  watch(lookout: Lookout): void {
    this.#lookout = lookout
    this.#node = lookout.markers.root
  }

  /** Reads on from the cursor. Returns the index of the marker after which it stopped, `bareStart`, or `nothing`. */
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

  /** Passes on as text what `scan` stopped after or before. */
  pass(text: string): void {
    this.#out(text)
    this.#remember(text)
  }

  /** Restores the state of the line before the last marker. */
  rewindLine(): void {
    this.line.copyFrom(this.#before)
  }

  /** Passes on what a reader found to be text. The rest of an unmarked value that was not a call is text too. */
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

  /** Forgets what came before, because another text begins here. Nothing may be held back. */
  reset(): void {
    this.line.reset()
    this.#forget()
  }

  /** Passes on what was held back. */
  end(): void {
    const { markers } = this.#lookout
    const held = markers.pathOf(this.#node)
    this.#node = markers.root
    if (held !== '') this.pass(held)
  }

  /** Passes on `length` characters of `held` and of the chunk from `from` on. A negative length cuts the end of `held`. */
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
    // Cut only occasionally, because cutting flattens the text.
    if (text.length >= leadLength) this.#lead = text.slice(-leadLength)
    else {
      this.#lead += text
      if (this.#lead.length > 8 * leadLength) this.#cutLead()
    }
  }

  /** Cuts the lead before it is read: reading flattens it, and a short one is cheap to copy. */
  #cutLead(): string {
    if (this.#lead.length > leadLength) this.#lead = this.#lead.slice(-leadLength)
    return this.#lead
  }

  /** Whether the text that was passed on announces what follows as an example. */
  get announcesExample(): boolean {
    const line = lastLineOf(this.#cutLead())
    return this.line.example ? !announcesCall(line) : announcesExample(line)
  }

  /** Passes on a call that is an example. What follows, up to a blank line, belongs to it. */
  passExample(text: string): void {
    this.line.note(text)
    this.line.example = true
    this.pass(text)
  }

  #startsBare(code: number, held: string, chunk: string, from: number, at: number): boolean {
    if (this.#value.open) return false
    const { line } = this
    // A fence with calls is read as a whole.
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

/** The last character that is not blank; `''` if there is none. */
function lastOf(text: string): string {
  for (let at = text.length - 1; at >= 0; at--) {
    const char = text.charAt(at)
    if (char.trim() !== '') return char
  }
  return ''
}
