import { copyButton } from '../ui/copy.js'
import { h } from '../ui/dom.js'
import { icon } from '../ui/icons.js'
import { partAt } from './markdown-parts.js'
import { TextBlocks } from './text-blocks.js'

/** @typedef {import('./markdown-parts.js').Part} Part */

/** Characters that are shown of a text that is complete; of one that grows, until it is. */
const firstPage = 100_000
const mostWhileGrowing = 2_000_000
/** How long is drawn without a break, and how long not, in milliseconds. */
const drawMs = 25
const restMs = 50

/** Without one of these a text is shown as it is. */
const hasMarkup = /[*_`#[\]<>|~&\\]|^[ \t]*(?:[-+] |\d+[.)] |={3,}|-{3,})|https?:\/\/|www\./m

/** What reads Markdown is loaded when the first answer needs it. @type {Promise<void> | undefined} */
let loading
/** @type {typeof import('./markdown.js').blocksOf | undefined} */
let blocksOf

/** What a model says: Markdown, drawn a part at a time while it comes, or as it is written. */
export class Answer {
  element
  #body = h('div', { className: 'answer-body' })
  #more = h('button', { type: 'button', className: 'link-button' })
  #written = h('button', {
    type: 'button',
    className: 'quiet tool-button',
    'aria-label': 'As written',
    title: 'As written',
    'aria-pressed': 'false',
  })
  #text = ''
  #isGrowing = true
  /** As far as it is wanted. */
  #wanted = firstPage
  /** What is drawn, the last of it perhaps not to its end. @type {{ part: Part, element: HTMLElement, raws: string[] } | undefined} */
  #last
  /** What the part behind the last one begins with. */
  #next = ''
  /** @type {number | undefined} */
  #drawing

  constructor() {
    this.#written.append(icon('code'))
    this.#written.addEventListener('click', () => {
      this.#written.setAttribute('aria-pressed', String(!this.#isWritten))
      this.#redraw()
    })
    this.#more.addEventListener('click', () => {
      this.#wanted += firstPage
      this.#soon()
    })
    const tools = h(
      'div',
      { className: 'answer-tools' },
      this.#written,
      copyButton('Copy answer', () => this.#text),
    )
    this.element = h('div', { className: 'answer' }, tools, this.#body)
  }

  get #isWritten() {
    return this.#written.getAttribute('aria-pressed') === 'true'
  }

  /** @param {string} piece */
  append(piece) {
    this.#text += piece
    this.#soon()
  }

  /** The whole text, of which pieces may have been missed. @param {string} text */
  end(text) {
    this.#isGrowing = false
    const isKnown = text === this.#text
    this.#text = text
    if (!isKnown || this.#isWritten) this.#redraw()
    else this.#draw()
  }

  #redraw() {
    this.#body.replaceChildren()
    this.#last = undefined
    this.#next = ''
    if (this.#isWritten) {
      clearTimeout(this.#drawing)
      this.#drawing = undefined
      this.#more.remove()
      new TextBlocks(this.#text, this.#body)
    } else this.#draw()
  }

  #soon() {
    this.#drawing ??= setTimeout(() => (this.#isWritten ? this.#redraw() : this.#draw()), this.#last === undefined ? 0 : restMs)
  }

  #draw() {
    clearTimeout(this.#drawing)
    this.#drawing = undefined
    const most = this.#isGrowing ? mostWhileGrowing : this.#wanted
    const end = performance.now() + drawMs
    for (;;) {
      const last = this.#last?.part
      const start = last === undefined ? 0 : last.isOpen ? last.start : last.end
      if (start >= this.#text.length || (start >= most && !last?.isOpen)) break
      const { part, next } = partAt(this.#text, start, last?.isOpen ? last.prefix : this.#next)
      if (last?.isOpen && last.end === part.end) break
      this.#show(part, last?.isOpen === true)
      this.#next = next
      if (part.isOpen) break
      if (performance.now() > end) {
        this.#soon()
        break
      }
    }
    const left = this.#text.length - (this.#last?.part.end ?? 0)
    if (this.#isGrowing || left === 0) return this.#more.remove()
    this.element.append(this.#more)
    this.#more.textContent = `Show ${Math.min(firstPage, left).toLocaleString()} of ${left.toLocaleString()} more characters`
  }

  /** Until it is loaded, the text is shown as it is. */
  #load() {
    loading ??= import('./markdown.js').then((loaded) => {
      blocksOf = loaded.blocksOf
    })
    loading.then(
      () => !this.#isWritten && this.#redraw(),
      () => {
        loading = undefined
      },
    )
  }

  /** @param {Part} part @param {boolean} isKnown Its beginning is there. */
  #show(part, isKnown) {
    const text = this.#text.slice(part.start, part.end)
    const before = isKnown ? this.#last : undefined
    const element = before?.element ?? h('div', { className: 'answer-part' })
    if (before === undefined) this.#body.append(element)
    const hasBlocks = part.prefix !== '' || hasMarkup.test(text)
    if (hasBlocks && blocksOf === undefined) this.#load()
    const blocks = hasBlocks ? blocksOf?.(part.prefix + text) : undefined
    element.classList.toggle('plain', blocks === undefined)
    if (blocks === undefined) {
      element.textContent = text
      this.#last = { part, element, raws: [] }
      return
    }
    // What is as it was stays, with what is selected in it.
    const raws = before?.raws ?? []
    let same = 0
    while (same < raws.length && raws[same] === blocks[same]?.raw) same++
    if (raws.length === 0) element.replaceChildren()
    while (element.childNodes.length > same) element.lastChild?.remove()
    for (const { element: make } of blocks.slice(same)) element.append(make() ?? new Text())
    this.#last = { part, element, raws: blocks.map(({ raw }) => raw) }
  }
}
