import { Calls } from '../data/calls.js'
import { count } from '../data/format.js'
import { AnswerByHand as Answer } from '../reading/by-hand.tsx'
import { h } from '../ui/dom.js'
import { callCard } from './call-card.js'

/** More than anybody reads of one run; the oldest give way. */
const mostItems = 300
/** Characters of what a model reasons. */
const mostReasoning = 100_000

const notOfNested = new Set(['TEXT_DELTA', 'REASONING_DELTA', 'MODEL_START', 'HANDOFF'])

/** What happens in one run, or in a conversation, one item below the other. Bounded, whatever comes. */
export class Timeline {
  element = h('ol', { className: 'timeline' })
  #calls = new Calls(mostItems)
  /** @type {Map<string, { item: HTMLElement, update(call: import('../data/calls.js').Call): void }>} */
  #cards = new Map()
  /** What is being said. @type {{ kind: string, append(piece: string): void } | undefined} */
  #saying
  #dropped = 0
  /** What was said last, if nothing has been done since. @type {Answer | undefined} */
  #last
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
   * What the run was asked, above all else.
   * @param {string} text
   */
  question(text) {
    this.element.prepend(h('li', { className: 'item user' }, text))
    while (this.element.childElementCount > mostItems + 1) this.#dropOldest()
  }

  /**
   * The answer of a run that is over, from its result: whole, whatever of its events is there.
   * @param {string} text
   */
  answer(text) {
    this.#saying = undefined
    if (text === '') return
    const answer = this.#last ?? this.#addAnswer()
    answer.end(text)
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
    const { element, update } = callCard(call, { asks: true })
    if (call.depth > 0) element.dataset.depth = String(Math.min(call.depth, 3))
    this.#cards.set(call.key, { item: this.#add('tool-call', element), update })
  }

  /**
   * @param {'assistant' | 'reasoning'} kind
   * @param {string} piece
   */
  #say(kind, piece) {
    if (piece === '') return
    if (this.#saying?.kind !== kind) {
      const said = kind === 'assistant' ? this.#addAnswer() : this.#addReasoning()
      this.#saying = { kind, append: (more) => said.append(more) }
    }
    this.#saying?.append(piece)
  }

  #addAnswer() {
    const answer = new Answer()
    this.#add('assistant', answer.element)
    this.#last = answer
    return answer
  }

  #addReasoning() {
    const text = document.createTextNode('')
    this.#add(
      'reasoning',
      h('details', {}, h('summary', { className: 'reasoning-summary' }, 'Reasoning'), h('div', { className: 'reasoning-text' }, text)),
    )
    /** @param {string} piece */
    const append = (piece) => {
      if (text.length >= mostReasoning) return
      text.appendData(piece.slice(0, mostReasoning))
      if (text.length >= mostReasoning) text.appendData(' … (truncated)')
    }
    return { append }
  }

  /**
   * @param {string} kind
   * @param {...(Node | string)} content
   */
  #add(kind, ...content) {
    const item = h('li', { className: `item ${kind}` }, ...content)
    if (kind !== 'note' && kind !== 'reasoning') this.#last = undefined
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
