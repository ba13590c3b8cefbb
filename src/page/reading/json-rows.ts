import { count } from '../data/format.js'
import { copyText } from '../ui/copy.js'
import { h, replace } from '../ui/dom.js'
import { inSlices } from '../ui/slices.js'
import { visible } from '../ui/visible.js'
import { findBar, markFound, mostMatches, patternOf } from './find-bar.js'
import { nodesTo, partsOf, pathOf, previewOf, rootOf, sizeOf, walk } from './json-nodes.js'
import { TextBlocks } from './text-blocks.js'

/** @typedef {import('./json-nodes.js').JsonNode} JsonNode */

/** Of a longer text the beginning is shown; it opens like a list. */
const mostInline = 160
/** Rows that are open at first. */
const mostOpenAtFirst = 24
/** Rows that are opened at once; further ones one by one. */
const mostOpenAtOnce = 2_000
const deepestIndent = 12

/** JSON as a tree that folds: of what is folded nothing is on the page. Rows follow each other; how deep they are is an attribute. */
export class JsonTree {
  element
  #label
  #root
  #rows
  /** @type {WeakMap<Element, JsonNode>} */
  #nodes = new WeakMap()
  /** @type {WeakMap<JsonNode, HTMLElement>} */
  #rowOf = new WeakMap()
  /** Texts that are open. @type {WeakMap<Element, TextBlocks>} */
  #texts = new WeakMap()
  #selected
  /** What was searched last. */
  #pattern = patternOf('')
  #path = h('code', { className: 'json-path' })

  /**
   * @param {unknown} value
   * @param {string} label
   */
  constructor(value, label) {
    this.#label = label
    this.#root = rootOf(value)
    this.#rows = h('div', { className: 'json-tree code', role: 'tree', 'aria-label': label })
    /** @type {HTMLElement} */
    this.#selected = this.#row(this.#root, 1, 1)
    this.#rows.append(this.#selected)
    this.#rows.addEventListener('click', (event) => this.#click(event))
    this.#rows.addEventListener('keydown', (event) => this.#key(event))
    this.#rows.addEventListener('focusin', ({ target }) => target instanceof Element && this.#select(target.closest('.json-row')))
    this.#rows.addEventListener('copy', (event) => this.#copied(event))
    this.element = h('div', { className: 'value' }, this.#rows, this.#tools())
    this.#open(this.#selected)
    for (const _ of this.#opening(mostOpenAtFirst));
    this.#select(this.#selected)
  }

  #tools() {
    /** @type {[words: string, act: () => unknown][]} */
    const acts = [
      ['Unfold all', () => inSlices(this.#opening(mostOpenAtOnce))],
      ['Fold all', () => this.#close(this.#rows.firstElementChild)],
      ['Copy all', () => copyText(textOf(this.#root))],
      ['Copy value', () => copyText(textOf(this.#node(this.#selected)))],
      ['Copy path', () => copyText(pathOf(this.#node(this.#selected)))],
    ]
    const buttons = acts.map(([words, act]) => h('button', { type: 'button', className: 'link-button', onclick: act }, words))
    return h('div', { className: 'value-tools' }, this.#finder(), ...buttons, this.#path)
  }

  #finder() {
    return findBar(this.#label, {
      find: async (query, isOver) => {
        const pattern = patternOf(query)
        this.#pattern = pattern
        const fits = (/** @type {unknown} */ text) => {
          pattern.lastIndex = 0
          return pattern.test(String(text))
        }
        /** @type {(string | number)[][]} */
        const matches = []
        let isCut = false
        const look = function* (/** @type {unknown} */ root) {
          for (const { path, value } of walk(root)) {
            const key = path.at(-1)
            if ((typeof key === 'string' && fits(key)) || (typeof value !== 'object' && fits(value))) matches.push([...path])
            isCut = matches.length === mostMatches
            if (isCut) return
            yield
          }
        }
        await inSlices(look(this.#root.value), isOver)
        return { matches, isCut }
      },
      show: (path) => {
        if (path === undefined) return markFound(undefined)
        const row = this.#reveal(path)
        this.#select(row)
        markFound(this.#rangeIn(row))
      },
    })
  }

  /** Where in a row it was found. @param {Element} row */
  #rangeIn(row) {
    const text = this.#texts.get(row)
    const value = String(this.#node(row).value)
    this.#pattern.lastIndex = 0
    const found = text && this.#pattern.exec(value)
    if (text && found) return text.rangeOf(found.index, found.index + found[0].length)
    const range = new Range()
    range.selectNodeContents(row)
    return range
  }

  /** @param {Element} row @returns {JsonNode} */
  #node(row) {
    return this.#nodes.get(row) ?? this.#root
  }

  /**
   * @param {JsonNode} node
   * @param {number} place
   * @param {number} size Of those it is among.
   */
  #row(node, place, size) {
    const { depth, key, range, value } = node
    const isOpenable = isFoldable(node)
    /** @type {HTMLElement} */
    const row = h('div', {
      className: 'json-row',
      role: 'treeitem',
      tabindex: -1,
      'aria-level': depth + 1,
      'aria-posinset': place,
      'aria-setsize': size,
      'aria-selected': 'false',
      'aria-expanded': isOpenable ? 'false' : undefined,
    })
    // Not as an attribute, which the policy of the page forbids.
    row.style.paddingInlineStart = `${1.1 + Math.min(depth, deepestIndent) * 1.1}em`
    const name = range === undefined ? (typeof key === 'string' ? visible(key) : key) : `${range[0]} … ${range[1] - 1}`
    if (name !== undefined) row.append(h('span', { className: range === undefined ? 'json-key' : 'muted' }, h('bdi', {}, name)), ': ')
    if (range === undefined) row.append(h('bdi', { 'data-kind': value === null ? 'null' : typeof value }, visible(shortOf(node))))
    this.#nodes.set(row, node)
    this.#rowOf.set(node, row)
    return row
  }

  /** @param {Element} row */
  #open(row) {
    const node = this.#node(row)
    if (row.getAttribute('aria-expanded') !== 'false') return
    row.setAttribute('aria-expanded', 'true')
    if (typeof node.value === 'string') {
      const text = h('pre', { className: 'json-text code' })
      this.#texts.set(row, new TextBlocks(node.value, text))
      row.append(text)
      return
    }
    const parts = partsOf(node)
    row.after(...parts.map((part, at) => this.#row(part, at + 1, parts.length)))
  }

  /** @param {Element | null | undefined} row */
  #close(row) {
    if (row?.getAttribute('aria-expanded') !== 'true') return
    row.setAttribute('aria-expanded', 'false')
    row.querySelector('.json-text')?.remove()
    this.#texts.delete(row)
    const { depth } = this.#node(row)
    const gone = new Range()
    gone.setStartAfter(row)
    let last = row
    for (let next = row.nextElementSibling; next !== null && this.#node(next).depth > depth; next = next.nextElementSibling) last = next
    gone.setEndAfter(last)
    const hadSelected = gone.intersectsNode(this.#selected) && this.#selected !== row
    gone.deleteContents()
    if (hadSelected) this.#select(row)
  }

  /** Opens what is outermost first, as long as there are not more rows. @param {number} most */
  *#opening(most) {
    /** @type {Element[]} */
    const rows = [...this.#rows.children]
    for (const row of rows) {
      const node = this.#node(row)
      if (typeof node.value === 'string' || row.getAttribute('aria-expanded') !== 'false') continue
      const size = Math.min(sizeOf(node), 100)
      if (this.#rows.childElementCount + size > most && row !== this.#rows.firstElementChild) continue
      this.#open(row)
      rows.push(...partsOf(node).flatMap((part) => this.#rowOf.get(part) ?? []))
      yield
    }
  }

  /** @param {(string | number)[]} path */
  #reveal(path) {
    const nodes = nodesTo(this.#root, path)
    let row = this.#rows.children[0] ?? this.#selected
    for (const node of nodes) {
      row = this.#rowOf.get(node) ?? row
      if (node !== nodes.at(-1)) this.#open(row)
    }
    if (typeof this.#node(row).value === 'string') this.#open(row)
    return row
  }

  /** @param {Element | null} row */
  #select(row) {
    if (!(row instanceof HTMLElement)) return
    this.#selected.setAttribute('aria-selected', 'false')
    this.#selected.tabIndex = -1
    this.#selected = row
    row.setAttribute('aria-selected', 'true')
    row.tabIndex = 0
    replace(this.#path, visible(pathOf(this.#node(row))))
  }

  /** @param {MouseEvent} event */
  #click({ target }) {
    const row = target instanceof Element ? target.closest('.json-row') : null
    if (row === null || (target instanceof Element && target.closest('.json-text') !== null)) return
    // Whoever selects a part of it wants to have that.
    if (getSelection()?.isCollapsed === false) return
    this.#toggle(row)
    this.#focus(row)
  }

  /** @param {Element} row */
  #toggle(row) {
    if (row.getAttribute('aria-expanded') === 'true') this.#close(row)
    else this.#open(row)
  }

  /** @param {Element | null | undefined} row */
  #focus(row) {
    if (row instanceof HTMLElement) row.focus()
  }

  /** As trees are used: https://www.w3.org/WAI/ARIA/apg/patterns/treeview/ @param {KeyboardEvent} event */
  #key(event) {
    const row = this.#selected
    if (event.target !== row || event.ctrlKey || event.metaKey || event.altKey) return
    const state = row.getAttribute('aria-expanded')
    const { parent } = this.#node(row)
    /** @type {Record<string, () => void>} */
    const acts = {
      ArrowDown: () => this.#focus(row.nextElementSibling),
      ArrowUp: () => this.#focus(row.previousElementSibling),
      Home: () => this.#focus(this.#rows.firstElementChild),
      End: () => this.#focus(this.#rows.lastElementChild),
      Enter: () => this.#toggle(row),
      ' ': () => this.#toggle(row),
      ArrowRight: () => (state === 'false' ? this.#open(row) : state === 'true' && this.#focus(row.nextElementSibling)),
      ArrowLeft: () => (state === 'true' ? this.#close(row) : parent && this.#focus(this.#rowOf.get(parent))),
    }
    const act = acts[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }

  /** Without a selection, the row that has the focus is what is copied. @param {ClipboardEvent} event */
  #copied(event) {
    if (getSelection()?.isCollapsed === false) return
    event.clipboardData?.setData('text/plain', textOf(this.#node(this.#selected)))
    event.preventDefault()
  }
}

/** @param {JsonNode} node */
function isFoldable(node) {
  return sizeOf(node) > 0 || (node.range === undefined && isLongText(node.value))
}

/** @param {unknown} value @returns {value is string} */
function isLongText(value) {
  return typeof value === 'string' && (value.length > mostInline || value.includes('\n'))
}

/** What a row says of its value. @param {JsonNode} node */
function shortOf(node) {
  const { value } = node
  if (typeof value === 'string') {
    if (!isLongText(value)) return JSON.stringify(value)
    return `${previewOf(value)} ${count(value.length, 'character')}`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const size = sizeOf(node)
  const preview = previewOf(value)
  return size < 4 ? preview : `${Array.isArray(value) ? count(size, 'item') : count(size, 'field')} ${preview}`
}

/** What is copied: a text as it is, all else as JSON. @param {JsonNode} node */
function textOf({ value, range, keys }) {
  const own =
    range === undefined ? value : keys === undefined && Array.isArray(value) ? value.slice(...range) : pick(value, keys?.slice(...range))
  return typeof own === 'string' ? own : (JSON.stringify(own, null, 2) ?? '')
}

/** @param {any} value @param {string[]} [keys] */
function pick(value, keys = []) {
  return Object.fromEntries(keys.map((key) => [key, value[key]]))
}
