import { Calls } from '../data/calls.js'
import { count } from '../data/format.js'
import { h } from '../ui/dom.js'
import { callCard } from './call-card.js'

/** More than anybody reads of one run; the oldest give way. */
const mostItems = 300
const mostTextLength = 100_000
/** Of an answer, which is shown whole, so much at once. */
const pageOfText = 200_000
/** A block of text that a browser lays out at once. */
const blockOfText = 20_000

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
  /** What was said last, if nothing has been done since. @type {HTMLElement | undefined} */
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
    const item = this.#last ?? this.#add('assistant')
    if (item.textContent === text) return
    if (text.length <= blockOfText) return item.replaceChildren(text)
    const more = h('button', { type: 'button', className: 'link-button' })
    let shown = 0
    const show = () => {
      const end = Math.min(text.length, shown + pageOfText)
      while (shown < end) {
        const next = endOfBlock(text, shown)
        more.before(h('div', { className: 'text-block' }, text.slice(shown, next)))
        shown = next
      }
      const left = text.length - shown
      more.textContent = `Show ${Math.min(pageOfText, left).toLocaleString()} of ${left.toLocaleString()} more characters`
      if (left === 0) more.remove()
    }
    more.addEventListener('click', show)
    item.replaceChildren(more)
    show()
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
    text.appendData(piece.slice(0, mostTextLength))
    if (text.length >= mostTextLength) text.appendData(' … (truncated)')
  }

  /**
   * @param {string} kind
   * @param {...(Node | string)} content
   */
  #add(kind, ...content) {
    const item = h('li', { className: `item ${kind}` }, ...content)
    if (kind === 'assistant') this.#last = item
    else if (kind !== 'note' && kind !== 'reasoning') this.#last = undefined
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

/**
 * Where a block of a long text ends: behind a line, or at least behind a word, where there is one.
 * @param {string} text
 * @param {number} start
 */
function endOfBlock(text, start) {
  const longest = start + blockOfText
  if (longest >= text.length) return text.length
  const least = start + blockOfText / 2
  const ends = ['\n', ' '].map((border) => text.lastIndexOf(border, longest - 1) + 1)
  const end = ends.find((at) => at > least) ?? longest
  // Not within a character of two.
  return /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end - 1 : end
}
