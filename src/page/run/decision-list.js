import { h, renderList } from '../ui/dom.js'
import { canApprove, decisionCard } from './decisions.js'

/** @typedef {import('../data/pending-items.js').Item} Item */

/** Cards that are kept, shown or not. */
const mostKept = 1_200

/**
 * What waits for a decision. A run that goes on with one of its items has none for a while: when the others come back they have their cards
 * again, with what was written in them.
 */
export class DecisionList {
  element = h('div', { className: 'decisions' })
  /** @type {Map<string, HTMLElement>} */
  #cards = new Map()
  /** @type {Map<string, { box: HTMLInputElement, item: Item }>} */
  #boxes = new Map()
  #options

  /** @param {{ onDecided: () => void, link?: boolean, onSelect?: () => void }} options `onSelect`: they can be chosen, to decide on many. */
  constructor(options) {
    this.#options = options
  }

  /** @param {Item[]} items */
  show(items) {
    renderList(this.element, items, { key: (item) => item.key, create: (item) => this.#cards.get(item.key) ?? this.#make(item) })
    this.element.classList.toggle('can-select', items.filter(canApprove).length > 1)
  }

  clear() {
    this.element.replaceChildren()
  }

  /** Those that are chosen, as far as they are shown. */
  get selected() {
    return [...this.#boxes.values()].filter(({ box }) => box.checked && box.isConnected).map(({ item }) => item)
  }

  /** @param {boolean} isChosen */
  selectAll(isChosen) {
    for (const { box } of this.#boxes.values()) if (box.isConnected) box.checked = isChosen
  }

  /** @param {Item} item */
  #make(item) {
    const { onSelect, ...options } = this.#options
    const onDecided = () => {
      this.#forget(item.key)
      this.#options.onDecided()
    }
    const box = onSelect === undefined || !canApprove(item) ? undefined : h('input', { type: 'checkbox', className: 'decision-select' })
    if (box !== undefined && onSelect !== undefined) {
      box.setAttribute('aria-label', `Select ${item.tool}`)
      box.addEventListener('change', onSelect)
      this.#boxes.set(item.key, { box, item })
    }
    const card = decisionCard(item, { ...options, onDecided, ...(box === undefined ? {} : { select: box }) })
    this.#cards.set(item.key, card)
    // Others may have decided on them: the oldest go.
    for (const key of [...this.#cards.keys()].slice(0, -mostKept)) this.#forget(key)
    return card
  }

  /** @param {string} key */
  #forget(key) {
    this.#cards.delete(key)
    this.#boxes.delete(key)
  }
}
