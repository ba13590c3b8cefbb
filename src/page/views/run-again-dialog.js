import { ask, messageOf, post } from '../data/api.js'
import { h, newId } from '../ui/dom.js'
import { startOf } from './export-dialog.js'

/**
 * Starts a run like this one, with other words or another model where those are wanted.
 * @param {import('../data/live.js').Live} live
 * @param {string} id
 */
export async function runAgainDialog(live, id) {
  const run = await ask(`v1/runs/${encodeURIComponent(id)}`)
  const { input, messages } = startOf(run)
  const [heading, inputId, modelId] = [newId(), newId(), newId()]
  const isText = typeof input === 'string'
  const text = isText ? input : JSON.stringify(input, null, 2)
  const field = h('textarea', { id: inputId, rows: Math.min(14, text.split('\n').length + 2), className: isText ? '' : 'code' })
  field.value = text
  const models = live.state?.models ?? []
  const model = h(
    'select',
    { id: modelId },
    ...models.map((one) =>
      h('option', { value: one.name, selected: one.name === run.model }, `${one.name} (${one.provider} / ${one.model})`),
    ),
  )
  const error = h('p', { className: 'error-text', role: 'alert' })
  const start = h('button', { type: 'submit', className: 'primary' }, 'Start run')
  const cancel = h('button', { type: 'button', className: 'quiet' }, 'Cancel')
  const form = h(
    'form',
    { className: 'dialog-form' },
    h('h2', { id: heading }, 'Run again'),
    h('div', { className: 'field' }, h('label', { for: inputId }, isText ? 'Input' : 'Input, as JSON'), field),
    h('div', { className: 'field' }, h('label', { for: modelId }, 'Model'), model),
    messages.length > 0 && h('p', { className: 'muted' }, `After the same ${messages.length} earlier messages.`),
    /\[redacted\]/.test(text) && h('p', { className: 'muted' }, 'Part of the input is redacted: write the actual value.'),
    error,
    h('div', { className: 'buttons' }, start, cancel),
  )
  const dialog = h('dialog', { className: 'dialog', 'aria-labelledby': heading }, form)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    error.textContent = ''
    start.disabled = true
    try {
      const wanted = isText ? field.value : JSON.parse(field.value)
      const started = await post('v1/runs', { input: wanted, messages, model: model.value || run.model, background: true })
      dialog.close()
      location.hash = `#/runs/${encodeURIComponent(started.id)}`
    } catch (thrown) {
      error.textContent = messageOf(thrown)
    } finally {
      start.disabled = false
    }
  })
  cancel.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}
