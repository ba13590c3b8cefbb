import { ApiError, ask, base, messageOf, send } from '../data/api.js'
import { h, newId } from '../ui/dom.js'

/**
 * A stored run to take along: as a file with everything that is kept of it, or as the request that starts it again.
 * @param {string} id
 */
export async function exportDialog(id) {
  const run = await ask(`v1/runs/${encodeURIComponent(id)}`)
  const heading = newId()
  const said = h('span', { className: 'muted', role: 'status' })
  const text = curlOf(run)
  const command = h('pre', { className: 'code export-code', tabindex: '0', role: 'group', 'aria-label': 'Request' }, text)
  const copy = h('button', { type: 'button' }, 'Copy request')
  copy.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text).then(
      () => {
        said.textContent = 'Copied'
      },
      () => {
        getSelection()?.selectAllChildren(command)
        said.textContent = 'Selected: copy it with the keyboard'
      },
    )
  })
  const download = h('button', { type: 'button', className: 'primary' }, 'Download JSON')
  download.addEventListener('click', () => {
    save(new Blob([JSON.stringify(run, null, 2)], { type: 'application/json' }), `${id}.json`)
    said.textContent = 'Downloaded'
  })
  const recording = h('button', { type: 'button' }, 'Download recording')
  const why = h('p', { className: 'muted', role: 'status' })
  recording.addEventListener('click', async () => {
    why.textContent = ''
    try {
      const file = await send(`v1/runs/${encodeURIComponent(id)}/recording`)
      save(await file.blob(), `${id}.recording.json`)
      said.textContent = 'Downloaded'
    } catch (thrown) {
      why.textContent = whyNoRecording(thrown)
    }
  })
  const dialog = h(
    'dialog',
    { className: 'dialog', 'aria-labelledby': heading },
    h('h2', { id: heading }, 'Export this run'),
    h(
      'p',
      { className: 'muted' },
      'The file has its conversation, steps, calls and decisions, without secrets. The request starts the same run anew. The recording has every model request and its response, for toolloop replay.',
    ),
    command,
    why,
    h('form', { method: 'dialog', className: 'buttons' }, download, recording, copy, h('button', { className: 'quiet' }, 'Close'), said),
  )
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

/** @param {Blob} content @param {string} name */
function save(content, name) {
  const url = URL.createObjectURL(content)
  h('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** @param {unknown} thrown */
export function whyNoRecording(thrown) {
  const code = thrown instanceof ApiError ? thrown.code : ''
  if (code === 'still_running') return 'The run is still running: its recording can be had when it has ended or waits.'
  if (code !== 'not_recorded') return messageOf(thrown)
  return 'This run has no recording. Runs are recorded if service.keepRuns.recordingMegabytes is set, and those in a journal unless it is 0. The oldest recordings make room for others.'
}

/**
 * What a run was started with.
 * @param {any} run
 * @returns {{ input: unknown, messages: unknown[] }} `messages`: the conversation before it.
 */
export function startOf({ input, result }) {
  const { messages = [], newMessages = [] } = result ?? {}
  const said = []
  for (const message of newMessages) {
    if (message.role !== 'user') break
    said.push(message)
  }
  const [first] = said
  const isText = said.length === 1 && typeof first.content === 'string'
  return {
    input: isText ? first.content : said.length > 0 ? said : input,
    messages: messages.slice(0, messages.length - newMessages.length),
  }
}

/** @param {any} run */
function curlOf(run) {
  const { input, messages } = startOf(run)
  const body = JSON.stringify({ input, model: run.model, ...(messages.length > 0 ? { messages } : {}) })
  const quoted = `'${body.replaceAll("'", `'\\''`)}'`
  return `curl ${base.href}v1/runs \\\n  -H "authorization: Bearer $TOKEN" \\\n  -H 'content-type: application/json' \\\n  -d ${quoted}`
}
