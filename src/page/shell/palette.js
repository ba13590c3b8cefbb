import { h, newId, replace, setText } from '../ui/dom.js'

/**
 * @typedef {object} Command
 * @property {string} group What is above those that belong together.
 * @property {string} name
 * @property {string} [about]
 * @property {string} [keys] A shortcut that does the same.
 * @property {() => unknown} run
 */
/**
 * @typedef {object} Commands
 * @property {(text: string) => Command[]} find Those that fit, at once; the best first.
 * @property {(text: string, signal: AbortSignal) => Promise<Command[]>} search Others, which have to be asked for. May reject.
 */

const mostShown = 60
/** Asked for when nothing has been typed for so long. */
const searchMs = 200

/**
 * A field that finds views, runs, tools and actions by what is typed: a combobox with a list, as in
 * https://www.w3.org/WAI/ARIA/apg/patterns/combobox/. Opened again, it is closed.
 * @param {Commands} commands
 */
export function openPalette({ find, search }) {
  const open = document.querySelector('dialog.palette')
  if (open instanceof HTMLDialogElement) return open.close()
  // Another dialog has been asked something, and is answered first.
  if (document.querySelector('dialog[open]') !== null) return
  const listId = newId()
  const input = h('input', {
    type: 'text',
    role: 'combobox',
    'aria-label': 'Command',
    'aria-expanded': 'true',
    'aria-controls': listId,
    'aria-autocomplete': 'list',
    'aria-haspopup': 'listbox',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'Find a view, run, tool or action',
  })
  const list = h('div', { id: listId, role: 'listbox', 'aria-label': 'Commands', className: 'palette-list' })
  const said = h('p', { className: 'palette-said muted', role: 'status' })
  const dialog = h('dialog', { className: 'dialog palette', 'aria-label': 'Commands' }, input, list, said)
  /** @type {{ command: Command, element: HTMLElement }[]} */
  let options = []
  let active = 0
  let searching = new AbortController()

  const choose = (/** @type {number} */ at) => {
    active = at
    for (const [index, { element }] of options.entries()) element.setAttribute('aria-selected', String(index === at))
    const element = options[at]?.element
    if (element === undefined) return input.removeAttribute('aria-activedescendant')
    input.setAttribute('aria-activedescendant', element.id)
    element.scrollIntoView({ block: 'nearest' })
  }
  const run = (/** @type {Command | undefined} */ command) => {
    if (command === undefined) return
    dialog.close()
    void command.run()
  }
  /** @param {Command[]} commands @param {string} more */
  const show = (commands, more) => {
    const before = options[active]?.command.name
    options = commands.slice(0, mostShown).map((command) => {
      const element = h(
        'div',
        { role: 'option', id: newId(), className: 'palette-option', 'aria-selected': 'false', onclick: () => run(command) },
        h('span', { className: 'palette-name' }, command.name),
        command.about !== undefined && h('span', { className: 'muted palette-about' }, command.about),
        command.keys !== undefined && h('kbd', {}, command.keys),
      )
      return { command, element }
    })
    const groups = [...new Set(options.map(({ command }) => command.group))]
    replace(
      list,
      ...groups.map((group) => {
        const id = newId()
        return h(
          'div',
          { role: 'group', 'aria-labelledby': id },
          h('div', { id, className: 'palette-group', role: 'presentation' }, group),
          ...options.filter(({ command }) => command.group === group).map(({ element }) => element),
        )
      }),
    )
    // As they stand in the list.
    options = groups.flatMap((group) => options.filter(({ command }) => command.group === group))
    const kept = options.findIndex(({ command }) => command.name === before)
    choose(Math.max(0, more === '' ? kept : 0))
    const found = options.length === 0 ? 'Nothing found' : `${options.length} found`
    setText(said, more === '' ? found : more)
  }
  const look = async () => {
    searching.abort()
    searching = new AbortController()
    const { signal } = searching
    const text = input.value.trim()
    const known = find(text)
    if (text === '') return show(known, '')
    show(known, 'Looking for runs…')
    await new Promise((resolve) => setTimeout(resolve, searchMs))
    if (signal.aborted) return
    const others = await search(text, signal).catch(() => undefined)
    if (signal.aborted) return
    const names = new Set(known.map(({ group, name }) => `${group} ${name}`))
    show([...known, ...(others ?? []).filter(({ group, name }) => !names.has(`${group} ${name}`))], '')
    if (others === undefined) setText(said, 'Runs could not be looked for')
  }
  input.addEventListener('input', () => void look())
  input.addEventListener('keydown', (event) => {
    if (event.isComposing) return
    const last = options.length - 1
    /** @type {Record<string, number>} */
    const steps = {
      ArrowDown: active >= last ? 0 : active + 1,
      ArrowUp: active <= 0 ? last : active - 1,
      PageDown: Math.min(last, active + 8),
      PageUp: Math.max(0, active - 8),
    }
    if (event.key === 'Enter') run(options[active]?.command)
    else if (steps[event.key] !== undefined && last >= 0) choose(steps[event.key] ?? 0)
    else return
    event.preventDefault()
  })
  // A press beside it leaves it.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
  const before = document.activeElement
  dialog.addEventListener('close', () => {
    searching.abort()
    dialog.remove()
    if (before instanceof HTMLElement && before.isConnected) before.focus()
  })
  document.body.append(dialog)
  dialog.showModal()
  input.focus()
  void look()
}
