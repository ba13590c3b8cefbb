import { Calls } from '../data/calls.js'
import { count } from '../data/format.js'
import { callCard } from './call-card.js'
import { h } from './dom.js'

/** More than anybody reads of one run; the oldest give way. */
const mostItems = 300
const mostTextLength = 100_000

const notOfNested = new Set(['TEXT_DELTA', 'REASONING_DELTA', 'MODEL_START', 'HANDOFF'])

/** What happens in one run, or in a conversation, one item below the other. Bounded, whatever comes. */
export class Timeline {
  element = h('ol', { className: 'timeline' })
  #calls = new Calls(mostItems)
  /** @type {Map<string, { item: HTMLElement, update(call: import('../data/calls.js').Call): void }>} */
  #cards = new Map()
  /** The text that is being said. @type {{ kind: string, text: Text } | undefined} */
  #saying
  #dropped = 0
  /** @type {HTMLElement | undefined} */
  #note
  #turns

  /** @param {{ turns?: boolean }} [options] `turns`: every request of the model is marked. */
  constructor({ turns = true } = {}) {
    this.#turns = turns
  }

  /** @param {any} event */
  take(event) {
    // Of a run inside a call, its own calls are shown; what it says is that call's affair.
    if (event.meta.parentRunId !== undefined && notOfNested.has(event.type)) return
    switch (event.type) {
      case 'TEXT_DELTA':
        return this.#say('assistant', event.text)
      case 'REASONING_DELTA':
        return this.#say('reasoning', event.text)
      case 'MODEL_START':
        this.#saying = undefined
        if (this.#turns)
          this.#add('turn', `Turn ${event.meta.iteration}`, h('span', { className: 'muted' }, ` ${event.provider} / ${event.model}`))
        return
      case 'GUARDRAIL':
        return this.note(
          `Guardrail ${event.guardrail} (${event.place}): ${event.verdict}${event.reason === undefined ? '' : `, ${event.reason}`}`,
        )
      case 'HANDOFF':
        return this.note(`Handed off to ${event.agent}`)
      case 'RUN_END':
        for (const call of this.#calls.settle(event.meta.runId)) this.#cards.get(call.key)?.update(call)
        return
      default:
        return this.#takeCall(event)
    }
  }

  /**
   * A message of the user.
   * @param {string} text
   */
  user(text) {
    return this.#add('user', text)
  }

  /**
   * Events that can't be had any more.
   * @param {number} events
   */
  gap(events) {
    this.note(`${count(events, 'event')} ${events === 1 ? 'is' : 'are'} no longer stored`)
  }

  /**
   * What is to be known besides.
   * @param {string} text
   * @param {'plain' | 'error'} [kind]
   */
  note(text, kind = 'plain') {
    this.#saying = undefined
    this.#add(kind === 'error' ? 'note error' : 'note', text)
  }

  /** @param {any} event */
  #takeCall(event) {
    const call = this.#calls.take(event)
    if (call === undefined) return
    this.#saying = undefined
    const known = this.#cards.get(call.key)
    if (known !== undefined) return known.update(call)
    const { element, update } = callCard(call)
    if (call.depth > 0) element.dataset.depth = String(Math.min(call.depth, 3))
    this.#cards.set(call.key, { item: this.#add('tool-call', element), update })
  }

  /**
   * @param {'assistant' | 'reasoning'} kind
   * @param {string} piece
   */
  #say(kind, piece) {
    if (this.#saying?.kind !== kind) {
      const text = document.createTextNode('')
      this.#saying = { kind, text }
      if (kind === 'assistant') this.#add('assistant', text)
      else
        this.#add(
          'reasoning',
          h('details', {}, h('summary', { className: 'reasoning-summary' }, 'Reasoning'), h('div', { className: 'reasoning-text' }, text)),
        )
    }
    const { text } = this.#saying
    if (text.length >= mostTextLength) return
    text.appendData(piece)
    if (text.length >= mostTextLength) text.appendData(' … (truncated)')
  }

  /**
   * @param {string} kind
   * @param {...(Node | string)} content
   */
  #add(kind, ...content) {
    const item = h('li', { className: `item ${kind}` }, ...content)
    this.element.append(item)
    while (this.element.childElementCount > mostItems + (this.#note === undefined ? 0 : 1)) this.#dropOldest()
    return item
  }

  #dropOldest() {
    if (this.#note === undefined) {
      this.#note = h('li', { className: 'item note' })
      this.element.prepend(this.#note)
    }
    const oldest = this.#note.nextElementSibling
    for (const [key, { item }] of this.#cards) {
      if (item !== oldest) continue
      this.#cards.delete(key)
      break
    }
    oldest?.remove()
    this.#note.textContent = `${(++this.#dropped).toLocaleString()} earlier steps are not shown`
  }
}
