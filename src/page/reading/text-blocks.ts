import { visibleLines } from '../../core/text/visible.ts'

/** Number of characters in a block, which the browser lays out at once. */
const blockOfText = 10_000
/** Number of characters that are shown at first, and number of characters that each click adds. */
const firstPage = 200_000
const nextPage = 1_000_000

/** A long text that is shown in parts, on request. The browser lays out only the visible part. */
export class TextBlocks {
  #text
  #more = document.createElement('button')
  #shown = 0
  #blocks: { start: number; element: HTMLElement }[] = []

  /** Appends the beginning of the text to `place`. */
  constructor(text: string, place: HTMLElement) {
    this.#text = text
    this.#more.type = 'button'
    this.#more.className = 'link-button'
    this.#more.addEventListener('click', () => this.#show(this.#shown + nextPage))
    place.append(this.#more)
    this.#show(firstPage)
  }

  /** Shows the text up to `end`, and returns the DOM range from `start` to `end`. */
  rangeOf(start: number, end: number) {
    this.#show(end)
    const range = new Range()
    const [first, last] = [this.#blocks.findLast((block) => block.start <= start), this.#blocks.findLast((block) => block.start < end)]
    if (first?.element.firstChild) range.setStart(first.element.firstChild, visibleLines(this.#text.slice(first.start, start)).length)
    if (last?.element.firstChild) range.setEnd(last.element.firstChild, visibleLines(this.#text.slice(last.start, end)).length)
    return range
  }

  /** Shows the rest of the text, one step per iteration. */
  *all() {
    while (this.#shown < this.#text.length) yield this.#show(this.#shown + 10 * blockOfText)
  }

  /** Shows the text at least up to the position `end`. */
  #show(end: number) {
    const wanted = Math.min(this.#text.length, end)
    while (this.#shown < wanted) {
      const next = endOfBlock(this.#text, this.#shown, blockOfText)
      const element = document.createElement('span')
      element.className = 'text-block'
      element.textContent = visibleLines(this.#text.slice(this.#shown, next))
      this.#blocks.push({ start: this.#shown, element })
      this.#more.before(element)
      this.#shown = next
    }
    const left = this.#text.length - this.#shown
    this.#more.textContent = `Show ${Math.min(nextPage, left).toLocaleString()} of ${left.toLocaleString()} more characters`
    if (left === 0) this.#more.remove()
  }
}

/** Returns the end of the block that starts at `start`: if possible after a line, otherwise after a word. */
export function endOfBlock(text: string, start: number, most: number) {
  const longest = start + most
  if (longest >= text.length) return text.length
  const least = start + most / 2
  // Searches only this block, because the last line break before `longest` may be far away.
  const piece = text.slice(start, longest)
  const ends = ['\n', ' '].map((border) => start + piece.lastIndexOf(border) + 1)
  const end = ends.find((at) => at > least) ?? longest
  // A block must not end inside a surrogate pair.
  return /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end - 1 : end
}
