import { visibleLines } from '../../core/text/visible.ts'

/** Characters that a browser lays out at once. */
const blockOfText = 10_000
/** Characters that are shown at first, and by each click. */
const firstPage = 200_000
const nextPage = 1_000_000

/** A long text, shown in parts as far as it is wanted; only what is in view is laid out. */
export class TextBlocks {
  #text
  #more = document.createElement('button')
  #shown = 0
  /** Where each block begins. */
  #blocks: { start: number; element: HTMLElement }[] = []

  /** It is put into `place`, behind what is there. */
  constructor(text: string, place: HTMLElement) {
    this.#text = text
    this.#more.type = 'button'
    this.#more.className = 'link-button'
    this.#more.addEventListener('click', () => this.#show(this.#shown + nextPage))
    place.append(this.#more)
    this.#show(firstPage)
  }

  /** Where a part of the text is on the page; what is before it is shown as well. */
  rangeOf(start: number, end: number) {
    this.#show(end)
    const range = new Range()
    const [first, last] = [this.#blocks.findLast((block) => block.start <= start), this.#blocks.findLast((block) => block.start < end)]
    if (first?.element.firstChild) range.setStart(first.element.firstChild, visibleLines(this.#text.slice(first.start, start)).length)
    if (last?.element.firstChild) range.setEnd(last.element.firstChild, visibleLines(this.#text.slice(last.start, end)).length)
    return range
  }

  /** Shows all of it, a part at a time. */
  *all() {
    while (this.#shown < this.#text.length) yield this.#show(this.#shown + 10 * blockOfText)
  }

  /** At least as far as `end`. */
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

/** Where a block of a long text ends: behind a line, or at least behind a word, where there is one. */
export function endOfBlock(text: string, start: number, most: number) {
  const longest = start + most
  if (longest >= text.length) return text.length
  const least = start + most / 2
  // Only here: the last of a character may be at the text's beginning.
  const piece = text.slice(start, longest)
  const ends = ['\n', ' '].map((border) => start + piece.lastIndexOf(border) + 1)
  const end = ends.find((at) => at > least) ?? longest
  // Not within a character of two.
  return /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end - 1 : end
}
