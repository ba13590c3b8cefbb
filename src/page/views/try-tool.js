import { ApiError, messageOf, post } from '../data/api.js'
import { duration, json } from '../data/format.js'
import { valueView } from '../reading/by-hand.tsx'
import { confirmDialog } from '../ui/confirm-dialog.js'
import { h, newId, replace } from '../ui/dom.js'
import { readForm, schemaForm } from '../ui/schema-form.js'

/** @type {Record<string, string>} */
const endings = {
  ok: 'Succeeded',
  question: 'Asks something before it goes on',
  failed: 'Failed',
  timeout: 'Timed out',
  cancelled: 'Cancelled',
  rejected: 'Refused',
}

/**
 * A form that runs one call of a tool.
 * @param {import('../types.js').ToolWithCalls} tool
 * @param {() => void} onEnd Called when a call has ended.
 */
export function tryTool({ function: { name, parameters }, effect, approval }, onEnd) {
  const heading = newId()
  let isJson = false
  let form = schemaForm(parameters)
  const place = h('div', {}, form.element)
  const error = h('div', { className: 'error-text', role: 'alert' })
  const result = h('div', { className: 'tried', role: 'status' })
  const run = h('button', { type: 'submit', className: 'primary' }, 'Run')
  const toggle = h('button', { type: 'button', className: 'quiet', 'aria-pressed': 'false' }, 'Edit as JSON')
  /** @type {AbortController | undefined} */
  let running
  const stop = h('button', { type: 'button', className: 'danger', hidden: true }, 'Stop')
  const element = h(
    'form',
    { className: 'try-form', novalidate: true, 'aria-labelledby': heading },
    h('h3', { id: heading }, 'Try it'),
    place,
    error,
    h('div', { className: 'buttons' }, run, stop, toggle),
    result,
  )
  toggle.addEventListener('click', () => {
    const value = readForm(form)
    // What can't be read stays where it is to be put right.
    if (value === undefined) return
    isJson = !isJson
    form = schemaForm(isJson ? {} : parameters, value)
    replace(place, form.element)
    toggle.setAttribute('aria-pressed', String(isJson))
  })
  stop.addEventListener('click', () => running?.abort())

  /** @param {unknown} thrown */
  const fail = (thrown) => {
    const problems = thrown instanceof ApiError ? thrown.problems : []
    const rest = problems.filter(({ path, message }) => !form.fail(pointerParts(path), message))
    if (problems.length === 0) replace(error, messageOf(thrown))
    else replace(error, ...rest.map(({ path, message }) => h('p', {}, `${path} ${message}`.trim())))
    focusInvalid(element)
  }
  element.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (running !== undefined) return
    const args = readForm(form)
    replace(error)
    if (args === undefined) return focusInvalid(element)
    const lines = [
      ...(effect === 'unsafe' ? ['This tool may have side effects. They happen for real.'] : []),
      ...(approval === 'never' ? [] : ['A call of this tool needs an approval: you give it here.']),
    ]
    const isRisky = lines.length > 0
    if (isRisky && !(await confirmDialog({ title: `Run ${name}?`, lines: [...lines, json(args)], verb: 'Run' }))) return run.focus()
    running = new AbortController()
    stop.hidden = false
    element.setAttribute('aria-busy', 'true')
    replace(result, h('p', { className: 'muted' }, 'Running…'))
    try {
      const ended = await post(`admin/api/tools/${encodeURIComponent(name)}/calls`, { arguments: args, approved: isRisky }, running.signal)
      replace(result, ...shown(ended, name))
    } catch (thrown) {
      replace(result)
      fail(running.signal.aborted ? new Error('Stopped. What the tool has done by then stays done.') : thrown)
    } finally {
      running = undefined
      const hadFocus = document.activeElement === stop
      stop.hidden = true
      element.removeAttribute('aria-busy')
      if (hadFocus) run.focus()
      onEnd()
    }
  })
  return element
}

/**
 * @param {{ outcome: string, content: string, durationMs: number, attempts: number }} ended
 * @param {string} name
 */
function shown({ outcome, content, durationMs, attempts }, name) {
  const isGood = outcome === 'ok' || outcome === 'question'
  const tries = attempts > 1 ? `, ${attempts} attempts` : ''
  return [
    h(
      'p',
      {},
      h('span', { className: `badge ${isGood ? 'good' : 'bad'}` }, endings[outcome] ?? outcome),
      h('span', { className: 'muted' }, ` in ${duration(durationMs)}${tries}`),
    ),
    valueView(content, `Result of ${name}`),
  ]
}

/** @param {HTMLElement} form */
function focusInvalid(form) {
  const first = form.querySelector('[aria-invalid="true"]')
  if (first instanceof HTMLElement) first.focus()
}

/** @param {string} pointer */
function pointerParts(pointer) {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}
