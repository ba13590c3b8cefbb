import { ApiError, messageOf } from '../data/api.js'
import { h, newId } from './dom.js'

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {'text' | 'number' | 'select' | 'json' | 'checkbox'} [kind] Default `text`.
 * @property {string} value
 * @property {string} [hint]
 * @property {string[][]} [options] Of a `select`: value and words.
 * @property {string[]} [suggestions]
 * @property {boolean} [required]
 */
/** @typedef {Record<string, string>} Values */

/**
 * Asks for values in a dialog; Esc leaves it. `onSave` may reject: an `ApiError` with failing paths is shown next to the fields they name.
 * @param {object} options
 * @param {string} options.title
 * @param {Field[]} options.fields
 * @param {(values: Values) => Promise<void>} options.onSave
 * @param {(path: string) => string | undefined} options.fieldOfPath Which field a failing path is about.
 * @param {(values: Values) => Promise<import('../data/test-model.js').Told>} options.test Tries the values without saving them.
 */
export function openFormDialog({ title, fields, onSave, fieldOfPath, test }) {
  const heading = newId()
  const general = h('p', { className: 'error-text', role: 'alert' })
  const said = h('p', { className: 'test-result', role: 'status' })
  const inputs = fields.map((field) => ({ field, ...fieldRow(field) }))
  const save = h('button', { type: 'submit', className: 'primary' }, 'Save')
  const testButton = h('button', { type: 'button' }, 'Test')
  const cancel = h('button', { type: 'button', className: 'quiet' }, 'Cancel')
  const form = h(
    'form',
    { method: 'dialog', novalidate: true, className: 'dialog-form' },
    h('h2', { id: heading }, title),
    h('div', { className: 'dialog-fields' }, ...inputs.map(({ element }) => element)),
    general,
    said,
    h('div', { className: 'buttons' }, save, testButton, cancel),
  )
  const dialog = h('dialog', { className: 'dialog', 'aria-labelledby': heading }, form)
  const say = (/** @type {import('../data/test-model.js').Told} */ { text, kind }) => {
    said.textContent = text
    said.className = `test-result ${kind}`
  }
  const values = () => Object.fromEntries(inputs.map(({ field, input }) => [field.name, readField(input)]))
  /** Whether every field has what it has to have. */
  const check = () => {
    general.textContent = ''
    let first
    for (const { field, input, error } of inputs) {
      const message = objectionTo(field, readField(input))
      error.textContent = message
      if (message === '') input.removeAttribute('aria-invalid')
      else input.setAttribute('aria-invalid', 'true')
      if (message !== '') first ??= input
    }
    first?.focus()
    return first === undefined
  }
  /** @param {unknown} thrown */
  const fail = (thrown) => {
    const problems = thrown instanceof ApiError ? thrown.problems : []
    const rest = []
    let first
    for (const { path, message } of problems) {
      const found = inputs.find(({ field }) => field.name === fieldOfPath(path))
      if (found === undefined) rest.push(`${path} ${message}`)
      else {
        found.error.textContent = `${path} ${message}`
        found.input.setAttribute('aria-invalid', 'true')
        first ??= found.input
      }
    }
    general.textContent = problems.length === 0 ? messageOf(thrown) : rest.join('; ')
    first?.focus()
  }
  let busy = false
  /** One thing at a time; a button that is at work keeps the focus. @param {() => Promise<void>} work */
  const attempt = async (work) => {
    if (busy || !check()) return
    busy = true
    form.setAttribute('aria-busy', 'true')
    try {
      await work()
    } catch (thrown) {
      say({ text: '', kind: '' })
      fail(thrown)
    } finally {
      busy = false
      form.removeAttribute('aria-busy')
    }
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void attempt(async () => {
      await onSave(values())
      dialog.close()
    })
  })
  testButton.addEventListener('click', () => {
    void attempt(async () => {
      say({ text: 'Testing…', kind: '' })
      say(await test(values()))
    })
  })
  cancel.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

/** @param {Field} field */
function fieldRow({ label, kind = 'text', value, hint, options = [], suggestions, required }) {
  const id = newId()
  const hintId = newId()
  const error = h('p', { className: 'error-text', role: 'alert', id: newId() })
  const common = { id, 'aria-describedby': `${hintId} ${error.id}`, required: required === true }
  const listId = suggestions && newId()
  const input =
    kind === 'select'
      ? h(
          'select',
          common,
          ...options.map(([option = '', words = '']) => h('option', { value: option, selected: option === value }, words)),
        )
      : kind === 'json'
        ? h('textarea', { ...common, rows: 4, className: 'code', spellcheck: 'false' })
        : h('input', { ...common, type: kind, autocomplete: 'off', spellcheck: 'false', ...(listId ? { list: listId } : {}) })
  if (kind === 'checkbox' && input instanceof HTMLInputElement) input.checked = value === 'true'
  else input.value = value
  const element = h(
    'div',
    { className: `field ${kind}` },
    h('label', { for: id }, label),
    input,
    listId !== undefined && h('datalist', { id: listId }, ...(suggestions ?? []).map((text) => h('option', { value: text }))),
    h('p', { className: 'hint', id: hintId }, hint),
    error,
  )
  return { element, input, error }
}

/** @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} input */
function readField(input) {
  return input instanceof HTMLInputElement && input.type === 'checkbox' ? String(input.checked) : input.value.trim()
}

/**
 * @param {Field} field
 * @param {string} value
 */
function objectionTo({ kind, required, label }, value) {
  if (required && value === '') return `${label} is required`
  if (kind !== 'json' || value === '') return ''
  try {
    const parsed = JSON.parse(value)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? '' : 'Expected a JSON object'
  } catch (thrown) {
    return messageOf(thrown)
  }
}
