import { messageOf, post } from '../data/api.js'
import { RunFollower } from '../data/follow-run.js'
import { ending } from '../data/format.js'
import { itemsOf } from '../data/pending-items.js'
import { keepChat, keptChat } from '../data/session.js'
import { DecisionList, Timeline } from '../run/by-hand.tsx'
import { h, newId, replace } from '../ui/dom.js'
import { stickToEnd } from '../ui/scroll.js'

/** By the tool that is needed. */
const examples = {
  calculate: 'What is 15% of 240?',
  current_time: 'What time is it in Tokyo?',
  list_files: 'How many TypeScript files are under src, and which is the longest?',
}

/** Of a conversation that is found again; earlier turns are among the runs. */
const mostTurns = 30
const mostAsked = 50
/** Characters of one. */
const mostOfAsked = 10_000

/** A conversation with the agent. It outlives the view, and a reload of the page: whoever comes back finds it as it was. */
export class Chat {
  element
  #live
  #heading = h('h1', { tabindex: '-1' }, 'Chat')
  #log = h('div', { className: 'chat-log', role: 'log', 'aria-label': 'Conversation', 'aria-live': 'off', tabindex: '0' })
  #timeline = new Timeline({ hasTurns: false })
  #pending = new DecisionList({ onDecided: () => this.#input.focus() })
  #empty
  #input
  #model = h('select', { id: newId(), 'aria-label': 'Model' })
  #send = h('button', { type: 'submit', className: 'primary' }, 'Send')
  #stop = h('button', { type: 'button', className: 'danger', hidden: true }, 'Stop')
  #error = h('p', { className: 'error-text', role: 'alert', id: newId() })
  /** The conversation so far, as the next run takes it. @type {unknown[]} */
  #messages = []
  /** @type {{ id: string, follower: RunFollower, over: () => void } | undefined} */
  #run
  #kept = keptChat()
  /** Which of what was asked before is shown in place of the draft; undefined: none. @type {number | undefined} */
  #recalled
  /** @type {Promise<void> | undefined} */
  #restoring
  #isClosed = false

  /** @param {import('../data/live.js').Live} live */
  constructor(live) {
    this.#live = live
    const inputId = newId()
    this.#input = h('textarea', {
      id: inputId,
      rows: 2,
      placeholder: 'Ask the agent something',
      'aria-describedby': this.#error.id,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    })
    this.#empty = h(
      'div',
      { className: 'chat-empty' },
      h('p', { className: 'muted' }, 'Try the agent and its tools. Each tool call is shown as it happens.'),
      h('div', { className: 'buttons' }, ...this.#examples()),
    )
    const fresh = h('button', { type: 'button', className: 'quiet', onclick: () => this.restart() }, 'New conversation')
    const form = h(
      'form',
      { className: 'composer' },
      h('label', { className: 'visually-hidden', for: inputId }, 'Message'),
      this.#input,
      this.#error,
      h(
        'div',
        { className: 'composer-row' },
        h('label', { for: this.#model.id }, 'Model'),
        this.#model,
        h('span', { className: 'hint' }, 'Enter sends, Shift+Enter adds a line'),
        this.#stop,
        this.#send,
      ),
    )
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#ask()
    })
    this.#stop.addEventListener('click', () => void this.#cancel())
    this.#log.append(this.#empty, this.#timeline.element, this.#pending.element)
    this.element = h('div', { className: 'chat' }, h('div', { className: 'view-head' }, this.#heading, fresh), this.#log, form)
    this.#input.value = this.#kept.draft
    this.#input.addEventListener('input', () => {
      this.#recalled = undefined
      this.#keep({ draft: this.#input.value })
    })
    this.#model.addEventListener('change', () => this.#keep({ model: this.#model.value }))
  }

  /** Shows what was said before the page was loaded anew, as far as its runs are stored. */
  async #restore() {
    const { turns } = this.#kept
    this.#send.disabled = turns.length > 0
    for (const { id, input } of turns) {
      if (this.#isClosed || !this.#kept.turns.some((turn) => turn.id === id)) return
      this.#show(input, id)
      await this.#follow(id)
    }
  }

  /** @param {Partial<import('../data/session.js').KeptChat>} change */
  #keep(change) {
    this.#kept = { ...this.#kept, ...change }
    if (!this.#isClosed) keepChat(this.#kept)
  }

  /** @returns {import('../types.js').View} */
  show() {
    this.#listModels()
    this.#restoring ??= this.#restore()
    const stopListening = this.#live.onChange(() => this.#listModels())
    const unstick = [this.#timeline.element, this.#pending.element].map((part) => stickToEnd(part, this.#log))
    this.#log.scrollTop = this.#log.scrollHeight
    return {
      element: this.element,
      title: 'Chat',
      close: () => {
        stopListening()
        for (const stop of unstick) stop()
      },
    }
  }

  /** Ends what goes on with the page; the run itself goes on. */
  close() {
    this.#isClosed = true
    this.#run?.follower.close()
  }

  /** Requests that the tools there are can answer. */
  #examples() {
    const tools = new Set(this.#live.state?.tools.map(({ function: { name } }) => name))
    const fitting = Object.entries(examples).filter(([tool]) => tools.has(tool))
    return fitting.map(([, text]) => {
      const fill = () => {
        this.#input.value = text
        this.#keep({ draft: text })
        this.#input.focus()
      }
      return h('button', { type: 'button', onclick: fill }, text)
    })
  }

  #listModels() {
    const models = this.#live.state?.models ?? []
    const options = models.map(({ name, provider, model }) =>
      name === 'toolloop' ? `Current (${provider} / ${model})` : `${name} (${provider} / ${model})`,
    )
    if ([...this.#model.options].map(({ text }) => text).join('\n') === options.join('\n')) return
    const chosen = this.#model.value || this.#kept.model
    replace(this.#model, ...models.map(({ name }, at) => h('option', { value: name }, options[at] ?? name)))
    if (models.some(({ name }) => name === chosen)) this.#model.value = chosen
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    // While an input method composes a character, keys belong to it.
    if (event.shiftKey || event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return
    if (event.key === 'Enter') {
      event.preventDefault()
      void this.#ask()
    } else if ((event.key === 'ArrowUp' || event.key === 'ArrowDown') && this.#recall(event.key === 'ArrowUp' ? -1 : 1))
      event.preventDefault()
  }

  /**
   * Shows what was asked before in place of the draft, and the draft again behind the last. Within a text that was written, arrows move the cursor.
   * @param {-1 | 1} by
   */
  #recall(by) {
    const { asked, draft } = this.#kept
    const { selectionStart, selectionEnd } = this.#input
    if (this.#recalled === undefined && (by === 1 || selectionStart !== 0 || selectionEnd !== 0)) return false
    const at = (this.#recalled ?? asked.length) + by
    if (at < 0 || asked.length === 0) return this.#recalled !== undefined
    this.#recalled = at < asked.length ? at : undefined
    this.#input.value = asked[at] ?? draft
    // At the beginning, where the next key goes on from.
    this.#input.setSelectionRange(0, 0)
    return true
  }

  async #ask() {
    const input = this.#input.value.trim()
    if (input === '' || this.#run !== undefined || this.#send.disabled) return
    this.#send.disabled = true
    this.#error.textContent = ''
    try {
      const run = await post('v1/runs', { input, model: this.#model.value || 'toolloop', messages: this.#messages, background: true })
      this.#input.value = ''
      this.#recalled = undefined
      const { turns, asked } = this.#kept
      const shown = input.length > mostOfAsked ? `${input.slice(0, mostOfAsked)}…` : input
      this.#keep({
        draft: '',
        turns: [...turns, { id: run.id, input: shown }].slice(-mostTurns),
        asked: input.length > mostOfAsked ? asked : [...asked.filter((one) => one !== input), input].slice(-mostAsked),
      })
      this.#show(input, run.id)
      void this.#follow(run.id)
    } catch (thrown) {
      this.#error.textContent = messageOf(thrown)
      this.#send.disabled = false
      this.#input.focus()
    }
  }

  /**
   * What was asked, with the run that answers it.
   * @param {string} input
   * @param {string} id
   */
  #show(input, id) {
    this.#empty.hidden = true
    this.#timeline.user(input, id)
  }

  /**
   * Resolves when the run is over.
   * @param {string} id
   * @returns {Promise<void>}
   */
  #follow(id) {
    const { promise, resolve } = Promise.withResolvers()
    this.#send.disabled = true
    this.#stop.hidden = false
    this.#log.setAttribute('aria-busy', 'true')
    let isWhole = true
    const follower = new RunFollower(id, this.#live, {
      onEvent: (event) => {
        if (event.type !== 'DECISION_NEEDED') this.#pending.clear()
        this.#timeline.take(event)
      },
      onResult: (run) => {
        this.#messages = run.result?.messages ?? this.#messages
        this.#pending.show(itemsOf(run))
        this.#live.refresh()
        if (run.status === 'paused') return
        if (!isWhole) this.#timeline.answer(run.output ?? '')
        // Whoever stopped it knows why.
        if (run.error !== undefined && run.stopReason !== 'aborted') this.#timeline.note(`${run.error.code}: ${run.error.message}`, true)
        else if (run.stopReason !== 'answered') this.#timeline.note(`The run ended: ${ending(run.stopReason)}`)
        this.#settle()
      },
      onGap: (events) => {
        isWhole = false
        this.#timeline.gap(events)
      },
      onGone: () => {
        this.#timeline.note('This run is no longer stored', true)
        this.#settle()
      },
    })
    this.#run = { id, follower, over: () => resolve(undefined) }
    return promise
  }

  async #cancel() {
    if (this.#run === undefined) return
    this.#stop.disabled = true
    try {
      await post(`v1/runs/${encodeURIComponent(this.#run.id)}/cancel`, {})
      this.#live.refresh()
    } catch (thrown) {
      this.#error.textContent = messageOf(thrown)
    } finally {
      this.#stop.disabled = false
    }
  }

  #settle() {
    const over = this.#run
    this.#run = undefined
    over?.follower.close()
    const hadFocus = document.activeElement === this.#stop
    this.#stop.hidden = true
    this.#send.disabled = false
    this.#log.removeAttribute('aria-busy')
    if (hadFocus) this.#input.focus()
    over?.over()
  }

  restart() {
    if (this.#run !== undefined) void this.#cancel()
    this.#keep({ turns: [] })
    this.#settle()
    this.#messages = []
    this.#pending.clear()
    const before = this.#timeline.element
    this.#timeline = new Timeline({ hasTurns: false })
    before.replaceWith(this.#timeline.element)
    this.#empty.hidden = false
    this.#error.textContent = ''
    this.#input.focus()
  }
}
