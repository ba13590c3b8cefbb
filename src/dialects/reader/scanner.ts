import type { Cursor } from './cursor.ts'
import { announcesCall, announcesExample, beginsItem, endsInColon, lastLineOf } from './examples.ts'
import { backtick, LineState, midLine, newline } from './line-state.ts'
import { type MarkerSet, wide } from './markers.ts'
import { OpenValue } from './open-value.ts'

/** `scan` read the piece to its end. */
export const nothing = -1
/** `scan` stopped before a character that may begin an unmarked call. */
export const bareStart = -2

/** How many characters before a position its surroundings are judged by. */
const leadLength = 240
/** And how many of its own line. */
const ownLength = 32
/** What a line ends in, blanks aside, if a call behind it stands alone. */
const beforeAlone = ':：*_-+•>.)'

/** What a scanner looks for. */
export interface Lookout {
  readonly markers: MarkerSet
  /** Not 0 for characters that must be looked at past a line's head. Most text has few of them. */
  readonly starts: Uint8Array
  /** Characters that begin an unmarked call wherever one may stand. */
  readonly bare: readonly number[]
  /** Characters that begin one at a line's head. */
  readonly bareAtHead: ReadonlySet<number>
}

/**
 * Finds markers in text across the borders of its pieces. All other text goes out at once; held back is only what may be the
 * beginning of a marker. Each character is looked at once.
 */
export class TextScanner {
  readonly line: LineState = new LineState()
  /** Whether the marker found last began its line. */
  foundAtHead = false
  /** Whether what `scan` stopped before stands alone: at a line's head, behind a colon or behind another call. */
  alone = false
  #lookout: Lookout
  /** The state of the markers: what was read that may begin one. */
  #node: number
  /** The line state before the marker that is being read. */
  readonly #before: LineState = new LineState()
  readonly #value: OpenValue = new OpenValue()
  /** The last characters given out. */
  #lead = ''
  /** The last of them that is no blank. */
  #last = ''
  readonly #out: (text: string) => void

  constructor(out: (text: string) => void, lookout: Lookout) {
    this.#out = out
    this.#lookout = lookout
    this.#node = lookout.markers.root
  }

  /** Looks for something else from now on. Nothing may be held back. */
  watch(lookout: Lookout): void {
    this.#lookout = lookout
    this.#node = lookout.markers.root
  }

  /** Reads on from the cursor. Returns the index of the marker it stopped behind, `bareStart`, or `nothing`. */
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

  /** Gives out as text what `scan` has stopped behind or before. */
  pass(text: string): void {
    this.#out(text)
    this.#remember(text)
  }

  /** Goes back to where the line was before the marker found last. */
  rewindLine(): void {
    this.line.copyFrom(this.#before)
  }

  /** Gives out what a reader found to be text; an unmarked value that was no call holds none either, to its end. */
  passRead(text: string, unmarked: boolean): void {
    this.line.note(text)
    if (unmarked) this.#value.enter(text)
    this.pass(text)
  }

  /** From here on the line goes on behind a call. */
  passCall(): void {
    this.line.state = midLine
    this.line.afterCall = true
    this.line.example = false
    this.#forget()
  }

  /** Forgets what came before: another text begins here. Nothing may be held back. */
  reset(): void {
    this.line.reset()
    this.#forget()
  }

  /** Gives out what was held back. */
  end(): void {
    const { markers } = this.#lookout
    const held = markers.pathOf(this.#node)
    this.#node = markers.root
    if (held !== '') this.pass(held)
  }

  /** Gives out `length` characters of `held` (of older pieces, when positive lengths don't reach it) and the chunk from `from` on. */
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
    // Cut now and then, not each time: a cut flattens the text.
    if (text.length >= leadLength) this.#lead = text.slice(-leadLength)
    else {
      this.#lead += text
      if (this.#lead.length > 8 * leadLength) this.#cutLead()
    }
  }

  /** Looking at the lead flattens it, so it is cut first: the next look copies little. */
  #cutLead(): string {
    if (this.#lead.length > leadLength) this.#lead = this.#lead.slice(-leadLength)
    return this.#lead
  }

  /** True when the text, as far as it has been given out, announces what comes next as an example. */
  get announcesExample(): boolean {
    const line = lastLineOf(this.#cutLead())
    return this.line.example ? !announcesCall(line) : announcesExample(line)
  }

  /** Gives out a call that is an example. What stands below it, up to a blank line, belongs to it. */
  passExample(text: string): void {
    this.line.note(text)
    this.line.example = true
    this.pass(text)
  }

  #startsBare(code: number, held: string, chunk: string, from: number, at: number): boolean {
    if (this.#value.open) return false
    const { line } = this
    // A fence that holds calls is read as a whole.
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

/** The last character that is no blank, `''` if none is. */
function lastOf(text: string): string {
  for (let at = text.length - 1; at >= 0; at--) {
    const char = text.charAt(at)
    if (char.trim() !== '') return char
  }
  return ''
}
