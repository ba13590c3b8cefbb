import { endOfBlock } from './text-blocks.ts'

/**
 * The sizes of a part, in characters. Once a part is larger than `leastPart`, it ends at the next block boundary. A part is never larger
 * than `mostPart`, even if it has to end inside a block.
 */
const leastPart = 4_000
const mostPart = 8_000

/** A piece of a Markdown text that is parsed separately. If the text grows, only its last part changes. */
export interface Part {
  start: number
  end: number
  /** The text to put before the part when it is parsed: the opening line of its code fence, or the header of its table. */
  prefix: string
  /** Whether the part may grow. */
  isOpen: boolean
}

/** Returns the part that starts at `start`. `next` is the prefix of the following part. */
export function partAt(text: string, start: number, prefix: string): { part: Part; next: string } {
  const block = new Block(prefix)
  let at = start
  while (at < text.length) {
    const lineEnd = text.indexOf('\n', at) + 1 || text.length
    const isLong = lineEnd - start > mostPart
    if (isLong) {
      // A line that is longer than a part is split between words, if possible.
      const end = at > start + leastPart ? at : endOfBlock(text, start, mostPart)
      return { part: { start, end, prefix, isOpen: false }, next: at === end ? block.prefix : '' }
    }
    const line = text.slice(at, lineEnd)
    if (at - start > leastPart && block.isBetween && /^[^\s]/.test(line))
      return { part: { start, end: at, prefix, isOpen: false }, next: '' }
    block.take(line)
    at = lineEnd
  }
  return { part: { start, end: text.length, prefix, isOpen: true }, next: '' }
}

/** The Markdown block that is still open after the lines read so far. */
class Block {
  isBetween = false
  #fence = ''
  #opening = ''
  #before = ''
  #table = ''

  constructor(prefix: string) {
    for (const line of prefix.split(/(?<=\n)/)) this.take(line)
  }

  /** The prefix of a part that starts at this position. */
  get prefix() {
    return this.#fence === '' ? this.#table : this.#opening
  }

  take(line: string) {
    const [, marks = '', info = ''] = /^ {0,3}(`{3,}|~{3,})(.*)/.exec(line) ?? []
    if (this.#fence !== '') {
      if (marks.startsWith(this.#fence) && info.trim() === '') this.#fence = ''
    } else if (marks !== '' && !(marks[0] === '`' && info.includes('`'))) {
      this.#fence = marks
      this.#opening = line
    }
    const isBlank = line.trim() === ''
    this.isBetween = isBlank && this.#fence === ''
    if (!line.includes('|')) this.#table = ''
    else if (/^[ |:-]*-[ |:-]*\n$/.test(line) && this.#before.includes('|')) this.#table = this.#before + line
    this.#before = line
  }
}
