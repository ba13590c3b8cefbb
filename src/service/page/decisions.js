import { announce } from './announce.js'
import { messageOf, send } from './api.js'
import { h, newId } from './dom.js'
import { json } from './format.js'

/** @typedef {import('./types.js').Pending & { runId: string, input?: string }} Item */

/** What stands in the place of a secret. */
const hidden = '[redacted]'

/**
 * Decides on a pending call; resolves when the run goes on. Throws an `ApiError`.
 * @param {Item} item
 * @param {Record<string, unknown>} verdict
 */
async function decide({ runId, toolCallId, fingerprint }, verdict) {
  const response = await send(`v1/runs/${encodeURIComponent(runId)}/decisions`, {
    method: 'POST',
    body: { decisions: [{ toolCallId, fingerprint, ...verdict }] },
    // Otherwise the answer would come when the run has ended.
    headers: { accept: 'text/event-stream' },
  })
  await response.body?.cancel()
}

/** @type {Record<Item['kind'], string>} */
const titles = { approval: 'Approve this call?', client_tool: 'Result wanted', question: 'Question' }

/**
 * A pending call, to be decided on.
 * @param {Item} item
 * @param {{ onDecided: () => void, link?: boolean }} options `onDecided`: the card has done its work, the focus needs another place.
 */
export function decisionCard(item, { onDecided, link = false }) {
  const error = h('p', { className: 'error-text', role: 'alert', id: newId() })
  const place = h('div', { className: 'decision-form' })
  const heading = newId()
  const card = h(
    'article',
    { className: 'decision', 'aria-labelledby': heading, 'data-tool': item.tool },
    h(
      'header',
      { className: 'decision-head' },
      h('h3', { id: heading }, h('span', { className: 'decision-title' }, titles[item.kind]), ' ', h('code', {}, item.tool)),
      link && h('a', { href: `#/runs/${encodeURIComponent(item.runId)}` }, 'Open run'),
    ),
    item.input !== undefined && item.input !== '' && h('p', { className: 'muted decision-input' }, 'Asked: ', h('q', {}, item.input)),
    item.about !== undefined && h('p', {}, typeof item.about === 'string' ? item.about : JSON.stringify(item.about)),
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
      await decide(item, verdict)
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
  const start = item.kind === 'approval' ? approval : other
  start(item, { place, error, submit })
  return card
}

/** @typedef {{ place: HTMLElement, error: HTMLElement, submit(verdict: Record<string, unknown>, said: string): Promise<void> }} Parts */

/**
 * @param {Item} item
 * @param {Parts} parts
 */
function approval(item, { place, error, submit }) {
  const text = json(item.args)
  /** @param {'approve' | 'edit' | 'reject' | undefined} [focus] */
  const showChoice = (focus) => {
    const buttons = {
      approve: button('Approve', 'primary', () => submit({ approved: true }, 'Approved')),
      edit: button('Edit arguments', '', showEdit),
      reject: button('Reject', 'danger', showReject),
    }
    place.replaceChildren(h('pre', { className: 'code', tabindex: '0', 'aria-label': 'Arguments' }, text), row(...Object.values(buttons)))
    error.textContent = ''
    if (focus !== undefined) buttons[focus].focus()
  }
  const showEdit = () => {
    const field = textField('Arguments, as JSON', { value: JSON.stringify(item.args, null, 2), describedBy: error.id, mono: true })
    const save = () => {
      const args = parseObject(field.input, error)
      if (args === undefined) return
      const isSame = JSON.stringify(args) === JSON.stringify(item.args)
      void submit({ approved: true, ...(isSame ? {} : { args }) }, 'Approved')
    }
    showForm([field.element], button('Approve with these', 'primary', save), () => showChoice('edit'))
    field.input.focus()
  }
  const showReject = () => {
    const field = textField('Reason, which the model is told', { value: '', describedBy: error.id, lines: 2 })
    const reject = () => {
      const reason = field.input.value.trim()
      void submit({ approved: false, ...(reason === '' ? {} : { reason }) }, 'Rejected')
    }
    showForm([field.element], button('Reject the call', 'danger', reject), () => showChoice('reject'))
    field.input.focus()
  }
  /**
   * @param {HTMLElement[]} fields
   * @param {HTMLButtonElement} send
   * @param {() => void} back
   */
  const showForm = (fields, send, back) => {
    const form = h(
      'div',
      { onkeydown: (/** @type {KeyboardEvent} */ event) => keys(event, send, back) },
      ...fields,
      row(send, button('Back', 'quiet', back)),
    )
    place.replaceChildren(form)
    error.textContent = ''
  }
  showChoice()
}

/**
 * A question to be answered, or a call whose result the client has.
 * @param {Item} item
 * @param {Parts} parts
 */
function other(item, { place, error, submit }) {
  const isQuestion = item.kind === 'question'
  const field = textField(isQuestion ? 'Answer' : 'Result, as JSON or text', { value: '', describedBy: error.id, lines: 2 })
  const sendButton = button(isQuestion ? 'Answer' : 'Give result', 'primary', () =>
    submit({ [isQuestion ? 'answer' : 'result']: jsonOrText(field.input.value) }, isQuestion ? 'Answered' : 'Result given'),
  )
  place.replaceChildren(
    h('pre', { className: 'code', tabindex: '0', 'aria-label': 'Arguments' }, json(item.args)),
    field.element,
    row(
      sendButton,
      button('Decline', 'danger', () => submit({ approved: false }, 'Declined')),
    ),
  )
}

/**
 * @param {KeyboardEvent} event
 * @param {HTMLButtonElement} send
 * @param {() => void} back
 */
function keys(event, send, back) {
  if (event.key === 'Escape') {
    event.stopPropagation()
    back()
  } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send.click()
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
    if (input.value.includes(hidden)) throw new Error(`Replace ${hidden} by the value it hides`)
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
 * @param {{ value: string, describedBy: string, mono?: boolean, lines?: number }} options
 */
function textField(label, { value, describedBy, mono = false, lines }) {
  const id = newId()
  const input = h('textarea', {
    id,
    rows: lines ?? Math.min(14, value.split('\n').length + 1),
    className: mono ? 'code' : '',
    spellcheck: mono ? 'false' : 'true',
    'aria-describedby': describedBy,
  })
  input.value = value
  return { input, element: h('div', { className: 'field' }, h('label', { for: id }, label), input) }
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {() => unknown} act
 */
function button(label, kind, act) {
  return h('button', { type: 'button', className: kind, onclick: () => void act() }, label)
}

/** @param {...HTMLElement} buttons */
function row(...buttons) {
  return h('div', { className: 'buttons' }, ...buttons)
}
