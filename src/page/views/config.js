import { ApiError, messageOf } from '../data/api.js'
import { readConfig, writeConfig } from '../data/config-file.js'
import { moment } from '../data/format.js'
import { lineOfPath, linesOfPath } from '../data/yaml-lines.js'
import { announce } from '../ui/announce.js'
import { h, newId, replace } from '../ui/dom.js'

/** @typedef {import('../data/api.js').Problem} Problem */

const hidden = '[redacted]'

/**
 * The configuration file: how it stands, and its text to be changed.
 * @param {{ live: import('../data/live.js').Live }} context
 */
export function configView({ live }) {
  const heading = h('h1', { tabindex: '-1' }, 'Configuration')
  const state = h('div', { className: 'config-state' })
  const problems = h('div', { role: 'alert' })
  const id = newId()
  const problemsId = newId()
  problems.id = problemsId
  const numbers = h('pre', { className: 'line-numbers', 'aria-hidden': 'true' }, '1')
  const editor = h('textarea', {
    id,
    className: 'code',
    spellcheck: 'false',
    wrap: 'off',
    autocapitalize: 'off',
    'aria-describedby': problemsId,
    disabled: true,
  })
  const save = h('button', { type: 'submit', className: 'primary', disabled: true }, 'Save')
  const revert = h('button', { type: 'button', className: 'quiet', disabled: true }, 'Discard changes')
  const note = h(
    'p',
    { className: 'hint', hidden: true },
    'Lines with a struck number are read-only here: what they open, whom they let in and who is asked is decided in the file itself. ',
    'Here it can only be taken away.',
  )
  const form = h(
    'form',
    { className: 'config-form' },
    h('label', { for: id }, 'Configuration file, as YAML'),
    problems,
    h('div', { className: 'editor' }, numbers, editor),
    note,
    h(
      'div',
      { className: 'buttons' },
      save,
      revert,
      h('span', { className: 'hint' }, 'Changes apply from the next request; running runs keep the old configuration. Ctrl+S saves.'),
    ),
  )
  const element = h(
    'div',
    { className: 'column wide' },
    h(
      'div',
      { className: 'view-head' },
      heading,
      h('p', { className: 'muted' }, 'The file contains no keys. It names the environment variables that hold them.'),
    ),
    state,
    form,
  )
  let etag = ''
  let saved = ''
  let closed = false
  let reloads = live.state?.config.reloads
  let errorAt = live.state?.config.lastError?.at
  /** Lines something is wrong with. @type {Set<number>} */
  let bad = new Set()
  /** Paths that are read-only here. @type {readonly string[]} */
  let fileOnly = []

  const showLines = () => {
    const lines = editor.value.split('\n').length
    // Where a path stands for several keys the service says so when it is saved.
    const locked = new Set(fileOnly.flatMap((path) => (path.includes('*') ? [] : linesOfPath(editor.value, path))))
    replace(
      numbers,
      ...Array.from({ length: lines }, (_, at) => {
        if (bad.has(at)) return h('b', {}, `${at + 1}\n`)
        return locked.has(at) ? h('i', { title: 'Can only be changed in the file' }, `${at + 1}\n`) : `${at + 1}\n`
      }),
    )
    note.hidden = locked.size === 0
    editor.rows = Math.min(Math.max(lines + 1, 12), 26)
    const isChanged = editor.value !== saved
    save.disabled = !isChanged
    revert.disabled = !isChanged
  }
  /** @param {import('../data/config-file.js').ConfigFile} file */
  const take = (file) => {
    reloads = file.state.reloads
    errorAt = file.state.lastError?.at
    etag = file.etag
    fileOnly = file.fileOnly
    saved = file.text
    editor.value = file.text
    editor.disabled = false
    form.hidden = file.state.file === null
    problems.replaceChildren()
    bad = new Set()
    editor.removeAttribute('aria-invalid')
    replace(state, ...stateOf(file.state, showLine))
    showLines()
  }
  const load = async ({ evenIfChanged = true } = {}) => {
    try {
      const file = await readConfig()
      if (!closed && (evenIfChanged || editor.value === saved)) take(file)
    } catch (thrown) {
      if (!closed) replace(problems, h('p', { className: 'error-text' }, messageOf(thrown)))
    }
  }
  /** @param {number} line */
  const showLine = (line) => {
    const lines = editor.value.split('\n')
    const start = lines.slice(0, line).join('\n').length + (line > 0 ? 1 : 0)
    editor.focus()
    editor.setSelectionRange(start, start + (lines[line]?.length ?? 0))
    editor.scrollTop = Math.max(0, (line / lines.length) * editor.scrollHeight - editor.clientHeight / 2)
  }
  const submit = async () => {
    problems.replaceChildren()
    editor.removeAttribute('aria-invalid')
    if (editor.value.includes(hidden)) {
      replace(
        problems,
        h(
          'p',
          { className: 'error-text' },
          `The file contains ${hidden}. Replace it with an environment variable, such as \${NAME}, before you save.`,
        ),
      )
      return
    }
    save.disabled = true
    try {
      take(await writeConfig({ text: editor.value }, etag))
      announce('Saved')
      state.prepend(h('p', { className: 'saved' }, 'Saved. The changes apply from the next request.'))
      live.refresh()
    } catch (thrown) {
      save.disabled = false
      editor.setAttribute('aria-invalid', 'true')
      if (thrown instanceof ApiError) bad = new Set(thrown.problems.flatMap(({ path }) => lineOfPath(editor.value, path) ?? []))
      showLines()
      replace(problems, ...failure(thrown, editor.value, showLine, load))
    }
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void submit()
  })
  form.addEventListener('keydown', (event) => {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    if (!save.disabled) void submit()
  })
  editor.addEventListener('input', showLines)
  editor.addEventListener('scroll', () => {
    numbers.scrollTop = editor.scrollTop
  })
  revert.addEventListener('click', () => {
    editor.value = saved
    problems.replaceChildren()
    bad = new Set()
    showLines()
    editor.focus()
  })
  void load()
  const unsubscribe = live.onChange(() => {
    const now = live.state?.config
    if (now === undefined || now.reloads < (reloads ?? 0) || (now.reloads === reloads && now.lastError?.at === errorAt)) return
    reloads = now.reloads
    errorAt = now.lastError?.at
    // What somebody is writing is not taken away from them: saving it tells of the conflict.
    if (editor.value === saved) void load({ evenIfChanged: false })
    else replace(state, ...stateOf(now, showLine))
  })
  return {
    element,
    title: 'Configuration',
    close() {
      closed = true
      unsubscribe()
    },
  }
}

/**
 * @param {import('../types.js').ConfigState} state
 * @param {(line: number) => void} showLine
 */
function stateOf({ file, loadedAt, reloads, lastError, needsRestart }, showLine) {
  if (file === null)
    return [h('p', { className: 'notice' }, 'The service was started without a configuration file, so there is nothing to edit.')]
  return [
    h(
      'dl',
      { className: 'facts' },
      h('div', {}, h('dt', {}, 'File'), h('dd', {}, file)),
      h('div', {}, h('dt', {}, 'Loaded'), h('dd', {}, moment(loadedAt))),
      h(
        'div',
        {},
        h('dt', {}, 'Reloaded'),
        h('dd', {}, reloads === 0 ? 'not since startup' : reloads === 1 ? 'once since startup' : `${reloads} times since startup`),
      ),
      h(
        'div',
        {},
        h('dt', {}, 'Status'),
        h(
          'dd',
          {},
          h('span', { className: `badge ${lastError === null ? 'good' : 'bad'}` }, lastError === null ? 'in use' : 'invalid file'),
        ),
      ),
    ),
    needsRestart.length > 0 &&
      h(
        'p',
        { className: 'notice wait' },
        h('span', {}, 'Takes effect after a restart: ', ...needsRestart.flatMap((path, at) => [at > 0 && ', ', h('code', {}, path)])),
      ),
    lastError !== null &&
      h(
        'div',
        { className: 'error-box', role: 'alert' },
        h('p', {}, h('strong', {}, 'The file is invalid.'), ` Detected ${moment(lastError.at)}. The previous configuration stays in use.`),
        problemList(lastError.problems, '', showLine),
      ),
  ]
}

/**
 * @param {unknown} thrown
 * @param {string} text
 * @param {(line: number) => void} showLine
 * @param {() => void} reload
 */
function failure(thrown, text, showLine, reload) {
  if (thrown instanceof ApiError && thrown.status === 412) {
    const button = h('button', { type: 'button', onclick: reload }, 'Reload and discard my changes')
    return [
      h(
        'div',
        { className: 'error-box' },
        h('p', {}, h('strong', {}, 'Someone else changed the file'), ' since you opened it. Nothing was saved.'),
        button,
      ),
    ]
  }
  if (thrown instanceof ApiError && thrown.problems.length > 0) {
    return [
      h(
        'div',
        { className: 'error-box' },
        h('p', {}, h('strong', {}, 'Not saved.'), ' The configuration is unchanged.'),
        problemList(thrown.problems, text, showLine),
      ),
    ]
  }
  return [h('p', { className: 'error-text' }, messageOf(thrown))]
}

/**
 * @param {readonly Problem[]} problems
 * @param {string} text Where its lines can be found; `''`: nowhere.
 * @param {(line: number) => void} showLine
 */
function problemList(problems, text, showLine) {
  return h(
    'ul',
    { className: 'problems' },
    ...problems.map(({ path, message }) => {
      const line = text === '' ? undefined : lineOfPath(text, path)
      return h(
        'li',
        {},
        path !== '' && h('code', {}, path),
        ` ${message} `,
        line !== undefined && h('button', { type: 'button', className: 'link-button', onclick: () => showLine(line) }, `Line ${line + 1}`),
      )
    }),
  )
}
