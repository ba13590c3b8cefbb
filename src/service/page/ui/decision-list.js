import { decisionCard } from './decisions.js'
import { h, renderList } from './dom.js'

/** @typedef {import('../data/pending-items.js').Item} Item */

/** Cards that are kept, shown or not. */
const mostKept = 200

/**
 * What waits for a decision. A run that goes on with one of its items has none for a while: when the others come back they have their cards
 * again, with what was written in them.
 */
export class DecisionList {
  element = h('div', { className: 'decisions' })
  /** @type {Map<string, HTMLElement>} */
  #cards = new Map()
  #options

  /** @param {{ onDecided: () => void, link?: boolean }} options */
  constructor(options) {
    this.#options = options
  }

  /** @param {Item[]} items */
  show(items) {
    renderList(this.element, items, { key: (item) => item.key, create: (item) => this.#cards.get(item.key) ?? this.#make(item) })
  }

  clear() {
    this.element.replaceChildren()
  }

  /** @param {Item} item */
  #make(item) {
    const onDecided = () => {
      this.#cards.delete(item.key)
      this.#options.onDecided()
    }
    const card = decisionCard(item, { ...this.#options, onDecided })
    this.#cards.set(item.key, card)
    // Others may have decided on them: the oldest go.
    for (const key of [...this.#cards.keys()].slice(0, -mostKept)) this.#cards.delete(key)
    return card
  }
}
