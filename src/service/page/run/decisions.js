import { messageOf, send } from '../data/api.js'
import { json, moment } from '../data/format.js'
import { merged } from '../data/pending-items.js'
import { announce } from '../ui/announce.js'
import { h, newId } from '../ui/dom.js'
import { since } from '../ui/since.js'
import { escapedJson, hiddenPart, visible } from '../ui/visible.js'
import { diff } from './diff.js'

/** @typedef {import('../data/pending-items.js').Item} Item */

/**
 * Decides on pending items of one run; resolves when the run goes on. Throws an `ApiError`.
 * @param {[Item, ...Item[]]} items
 * @param {Record<string, unknown>} verdict
 */
export async function decide(items, verdict) {
  const response = await send(`v1/runs/${encodeURIComponent(items[0].runId)}/decisions`, {
    method: 'POST',
    body: { decisions: merged(items.map((item) => item.decide(verdict))) },
    // Otherwise the answer would come when the run has ended.
    headers: { accept: 'text/event-stream' },
  })
  await response.body?.cancel()
}

/** @type {Record<Item['kind'], string>} */
const titles = { approval: 'Approve this call?', client_tool: 'Waiting for a result', question: 'Question', budget: 'Go on over budget?' }

/** Whether it can be approved as it is, without a word more: all of it is shown. @param {Item} item */
export function canApprove({ kind, args, about }) {
  return (kind === 'approval' || kind === 'budget') && hiddenPart(JSON.stringify([args, about])) === undefined
}

/**
 * A pending item, to be decided on.
 * @param {Item} item
 * @param {{ onDecided: () => void, link?: boolean, select?: HTMLElement }} options `onDecided`: the card has done its work, the focus needs
 *   another place; `select`: what chooses it among others.
 */
export function decisionCard(item, { onDecided, link = false, select }) {
  const error = h('p', { className: 'error-text', role: 'alert', id: newId() }, item.problem)
  const place = h('div', { className: 'decision-form' })
  const heading = newId()
  const card = h(
    'article',
    { className: 'decision', 'aria-labelledby': heading },
    h(
      'header',
      { className: 'decision-head' },
      select,
      h('h3', { id: heading }, titles[item.kind], ' ', h('code', {}, item.tool)),
      link && h('a', { href: `#/runs/${encodeURIComponent(item.runId)}` }, 'Open run'),
    ),
    h(
      'p',
      { className: 'muted decision-since' },
      'Waiting for ',
      since(item.since, moment(item.since)),
      link && item.owner !== undefined && [' · started by ', h('bdi', {}, visible(item.owner))],
    ),
    link && item.input !== '' && h('p', { className: 'muted decision-input' }, 'Input: ', h('q', {}, visible(item.input))),
    item.agents.length > 0 && h('p', { className: 'muted' }, 'From agent ', h('code', {}, visible(item.agents.join(' › ')))),
    place,
    error,
  )
  let busy = false
  /**
   * @param {Record<string, unknown>} verdict
   * @param {string} said
   */
  const submit = async (verdict, said) => {
    if (busy) return
    busy = true
    error.textContent = ''
    card.setAttribute('aria-busy', 'true')
    try {
      await decide([item], verdict)
      announce(`${said}: ${item.tool}`)
      card.dataset.decided = said
      onDecided()
    } catch (thrown) {
      error.textContent = messageOf(thrown)
    } finally {
      busy = false
      card.removeAttribute('aria-busy')
    }
  }
  const show = { approval: showApproval, client_tool: showClientTool, question: showQuestion, budget: showApproval }[item.kind]
  show(item, { place, error, submit })
  return card
}

/** @typedef {{ place: HTMLElement, error: HTMLElement, submit(verdict: Record<string, unknown>, said: string): Promise<void> }} Parts */

/**
 * @param {Item} item
 * @param {Parts} parts
 */
function showApproval({ kind, args: asked, about }, { place, error, submit }) {
  /** @param {'approve' | 'edit' | 'reject' | undefined} [focus] */
  const showChoice = (focus) => {
    const buttons = {
      approve: button('Approve', 'primary', () => submit({ approved: true }, 'Approved'), 'a'),
      edit: button('Edit arguments', '', showEdit, 'e'),
      reject: button('Reject', 'danger', showReject, 'r'),
    }
    if (kind === 'budget') buttons.edit.hidden = true
    // What isn't shown can't be approved. Other arguments can: whoever writes them knows them.
    const note = noteOfHidden([asked, about], 'Part of this call is redacted, so you can’t approve it here unchanged.')
    const shown = note.length > 0 ? [buttons.edit, buttons.reject] : Object.values(buttons)
    place.replaceChildren(...subject(about), block('Arguments', json(asked)), ...note, row(...shown))
    if (focus === undefined) return
    error.textContent = ''
    buttons[focus].focus()
  }
  const showEdit = () => {
    const field = textField('Arguments, as JSON', { value: escapedJson(JSON.stringify(asked, null, 2)), describedBy: error.id, mono: true })
    const save = () => {
      const args = parseObject(field.input, error)
      if (args === undefined) return
      const isSame = JSON.stringify(args) === JSON.stringify(asked)
      void submit({ approved: true, ...(isSame ? {} : { args }) }, 'Approved')
    }
    const changes = h('div', { className: 'decision-changes' })
    field.input.addEventListener('input', () => changes.replaceChildren(...changesIn(field.input.value, asked)))
    field.element.append(changes)
    showForm(field, button('Approve with these arguments', 'primary', save), () => showChoice('edit'))
  }
  const showReject = () => {
    const field = textField('Reason, sent to the model', { describedBy: error.id })
    const reject = () => {
      const reason = field.input.value.trim()
      void submit({ approved: false, ...(reason === '' ? {} : { reason }) }, 'Rejected')
    }
    showForm(field, button('Reject the call', 'danger', reject), () => showChoice('reject'))
  }
  /**
   * @param {{ input: HTMLElement, element: HTMLElement }} field
   * @param {HTMLButtonElement} send
   * @param {() => void} back
   */
  const showForm = (field, send, back) => {
    place.replaceChildren(form([field.element, row(send, button('Back', 'quiet', back))], send, back))
    error.textContent = ''
    field.input.focus()
  }
  showChoice()
}

/**
 * What is written is other than what was asked: shown before it is sent. Nothing while it can't be read.
 * @param {string} text
 * @param {Record<string, unknown>} asked
 */
function changesIn(text, asked) {
  try {
    const args = JSON.parse(text)
    return JSON.stringify(args) === JSON.stringify(asked) ? [] : [h('p', { className: 'muted' }, 'Changes'), diff(asked, args, 'Changes')]
  } catch {
    return []
  }
}

/**
 * A call whose result the client has.
 * @param {Item} item
 * @param {Parts} parts
 */
function showClientTool({ args, about }, { place, error, submit }) {
  const field = textField('Result, as JSON or text', { describedBy: error.id })
  const give = button('Send result', 'primary', () => submit({ result: jsonOrText(field.input.value) }, 'Result sent'))
  place.replaceChildren(
    ...subject(about),
    block('Arguments', json(args)),
    form([field.element, row(give, decline(submit))], give, () => field.input.blur()),
  )
}

/** Of more than these the answer is written. */
const mostChoices = 8

/**
 * A question to be answered: by a button for each of a few answers, else in words.
 * @param {Item} item
 * @param {Parts} parts
 */
function showQuestion({ about, schema, args }, { place, error, submit }) {
  const context = [...subject(about), Object.keys(args).length > 0 && block('Arguments of the call', json(args))].filter(
    (part) => part !== false,
  )
  const note = noteOfHidden([args, about], 'Part of this question is redacted, so you can’t answer it here.')
  if (note.length > 0) {
    place.replaceChildren(...context, ...note, row(decline(submit)))
    return
  }
  const choices = choicesOf(schema)
  if (choices.length > 0) {
    const buttons = choices.map((answer) => button(visible(wordsOf(answer)), '', () => submit({ answer }, 'Answered')))
    place.replaceChildren(...context, row(...buttons, decline(submit)))
    return
  }
  const field = textField('Answer', { describedBy: error.id })
  const answer = button('Answer', 'primary', () => {
    const text = field.input.value.trim()
    error.textContent = text === '' ? 'Enter an answer' : ''
    if (text === '') return field.input.focus()
    return submit({ answer: schema?.type === 'string' ? text : jsonOrText(text) }, 'Answered')
  })
  place.replaceChildren(
    ...context,
    form([field.element, row(answer, decline(submit))], answer, () => field.input.blur()),
  )
}

/**
 * The answers a schema leaves, where those are few.
 * @param {any} schema
 * @returns {unknown[]}
 */
function choicesOf(schema) {
  if (schema?.type === 'boolean') return [true, false]
  return Array.isArray(schema?.enum) && schema.enum.length <= mostChoices ? schema.enum : []
}

/** @param {unknown} answer */
function wordsOf(answer) {
  if (answer === true) return 'Yes'
  if (answer === false) return 'No'
  return typeof answer === 'string' ? answer : JSON.stringify(answer)
}

/**
 * Says so where a part of the item isn't shown.
 * @param {unknown} item
 * @param {string} words
 */
function noteOfHidden(item, words) {
  return hiddenPart(JSON.stringify(item)) === undefined ? [] : [h('p', { className: 'muted' }, words)]
}

/**
 * What a tool says of the matter: words, or data it has put together.
 * @param {unknown} about
 */
function subject(about) {
  if (about === undefined || about === null) return []
  return [typeof about === 'string' ? h('p', { className: 'decision-about' }, visible(about)) : block('Details', json(about))]
}

/**
 * Fields that are sent by Ctrl+Enter and left by Esc.
 * @param {HTMLElement[]} content
 * @param {HTMLButtonElement} send
 * @param {() => void} leave
 */
function form(content, send, leave) {
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') {
      event.stopPropagation()
      leave()
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send.click()
  }
  return h('div', { className: 'decision-form', onkeydown }, ...content)
}

/**
 * @param {HTMLTextAreaElement} input
 * @param {HTMLElement} error
 */
function parseObject(input, error) {
  error.textContent = ''
  input.removeAttribute('aria-invalid')
  try {
    const value = JSON.parse(input.value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('Expected a JSON object')
    const hidden = hiddenPart(input.value)
    if (hidden !== undefined) throw new Error(`Replace ${hidden} with the actual value`)
    return value
  } catch (thrown) {
    error.textContent = messageOf(thrown)
    input.setAttribute('aria-invalid', 'true')
    input.focus()
    return undefined
  }
}

/** @param {string} text */
function jsonOrText(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * @param {string} label
 * @param {{ value?: string, describedBy: string, mono?: boolean }} options
 */
function textField(label, { value = '', describedBy, mono = false }) {
  const id = newId()
  const input = h('textarea', {
    id,
    rows: value === '' ? 2 : Math.min(14, value.split('\n').length + 1),
    className: mono ? 'code' : '',
    spellcheck: mono ? 'false' : 'true',
    'aria-describedby': describedBy,
  })
  input.value = value
  return { input, element: h('div', { className: 'field' }, h('label', { for: id }, label), input) }
}

/**
 * @param {string} label
 * @param {string} text
 */
function block(label, text) {
  // Each text on its own: letters written from right to left would change the order of what is beside them.
  const parts = visible(text)
    .split(/("[^"\\]*(?:\\.[^"\\]*)*")/)
    .map((part, at) => (at % 2 === 1 ? h('bdi', {}, part) : part))
  return h('pre', { className: 'code', tabindex: '0', role: 'group', 'aria-label': label }, parts)
}

/** @param {Parts['submit']} submit */
function decline(submit) {
  return button('Decline', 'danger', () => submit({ approved: false }, 'Declined'))
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {() => unknown} act
 * @param {string} [key] Pressed while the card has the focus.
 */
function button(label, kind, act, key) {
  return h('button', { type: 'button', className: kind, 'data-key': key, 'aria-keyshortcuts': key, onclick: () => void act() }, label)
}

/** @param {...HTMLElement} buttons */
function row(...buttons) {
  return h('div', { className: 'buttons' }, ...buttons)
}
