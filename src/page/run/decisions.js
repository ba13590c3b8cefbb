import { messageOf, send } from '../data/api.js'
import { moment } from '../data/format.js'
import { merged } from '../data/pending-items.js'
import { announce } from '../ui/announce.js'
import { h, newId } from '../ui/dom.js'
import { since } from '../ui/since.js'
import { hiddenPart, visible } from '../ui/visible.js'
import { argumentsField } from './edit-arguments.js'
import { isLarge, subjectOf } from './whole-value.js'

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

/** Whether it can be approved among others, without a word more: all of it is seen at once. @param {Item} item */
export function canApprove({ kind, args, about }) {
  if (kind !== 'approval' && kind !== 'budget') return false
  return !isLarge([args, about]) && hiddenPart(JSON.stringify([args, about])) === undefined
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
      h(link ? 'h2' : 'h3', { id: heading }, titles[item.kind], ' ', h('code', {}, item.tool)),
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
function showApproval(item, { place, error, submit }) {
  const { kind, args: asked } = item
  const subject = subjectOf(item)
  const buttons = {
    approve: button('Approve', 'primary', () => submit({ approved: true }, 'Approved'), 'a'),
    edit: button('Edit arguments', '', () => showEdit(), 'e'),
    reject: button('Reject', 'danger', () => showReject(), 'r'),
  }
  buttons.approve.disabled = true
  buttons.edit.hidden = kind === 'budget'
  // What isn't shown can't be approved. Other arguments can: whoever writes them knows them.
  const note = h('p', { className: 'muted', role: 'status' })
  void subject.whenShown((hidden) => {
    buttons.approve.disabled = hidden !== undefined
    buttons.approve.hidden = hidden !== undefined
    note.textContent = hidden === undefined ? '' : 'Part of this call is redacted, so you can’t approve it here unchanged.'
  })
  /** @param {'edit' | 'reject'} [focus] */
  const showChoice = (focus) => {
    place.replaceChildren(...subject.elements, note, row(buttons.approve, buttons.edit, buttons.reject))
    if (focus === undefined) return
    error.textContent = ''
    buttons[focus].focus()
  }
  const showEdit = () => {
    const field = argumentsField(asked, error)
    const save = async () => {
      const edited = await field.read()
      if (edited !== undefined) await submit({ approved: true, ...(edited.isSame ? {} : { args: edited.args }) }, 'Approved')
    }
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
 * A call whose result the client has.
 * @param {Item} item
 * @param {Parts} parts
 */
function showClientTool(item, { place, error, submit }) {
  const field = textField('Result, as JSON or text', { describedBy: error.id })
  const give = button('Send result', 'primary', () => submit({ result: jsonOrText(field.input.value) }, 'Result sent'))
  place.replaceChildren(
    ...subjectOf(item).elements,
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
function showQuestion(item, { place, error, submit }) {
  const subject = subjectOf(item)
  const note = h('p', { className: 'muted', role: 'status' })
  place.replaceChildren(...subject.elements, note, row(decline(submit)))
  void subject.whenShown((hidden) => {
    if (hidden === undefined) place.replaceChildren(...subject.elements, ...answerForm(item, error, submit))
    else note.textContent = 'Part of this question is redacted, so you can’t answer it here.'
  })
}

/**
 * @param {Item} item
 * @param {HTMLElement} error
 * @param {Parts['submit']} submit
 */
function answerForm({ schema }, error, submit) {
  const choices = choicesOf(schema)
  if (choices.length > 0) {
    const buttons = choices.map((answer) => button(visible(wordsOf(answer)), '', () => submit({ answer }, 'Answered')))
    return [row(...buttons, decline(submit))]
  }
  const field = textField('Answer', { describedBy: error.id })
  const answer = button('Answer', 'primary', () => {
    const text = field.input.value.trim()
    error.textContent = text === '' ? 'Enter an answer' : ''
    if (text === '') return field.input.focus()
    return submit({ answer: schema?.type === 'string' ? text : jsonOrText(text) }, 'Answered')
  })
  return [form([field.element, row(answer, decline(submit))], answer, () => field.input.blur())]
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
 * @param {{ describedBy: string }} options
 */
function textField(label, { describedBy }) {
  const id = newId()
  const input = h('textarea', { id, rows: 2, spellcheck: 'true', 'aria-describedby': describedBy })
  return { input, element: h('div', { className: 'field' }, h('label', { for: id }, label), input) }
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
