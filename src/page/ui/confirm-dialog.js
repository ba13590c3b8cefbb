import { h, newId } from './dom.js'

/**
 * Asks before much is done at once. Resolves with whether it is wanted.
 * @param {{ title: string, lines: string[], verb: string }} what
 * @returns {Promise<boolean>}
 */
export function confirmDialog({ title, lines, verb }) {
  const heading = newId()
  const dialog = h(
    'dialog',
    { className: 'dialog', 'aria-labelledby': heading },
    h('h2', { id: heading }, title),
    h('ul', { className: 'problems' }, ...lines.map((line) => h('li', {}, line))),
    h(
      'form',
      { method: 'dialog', className: 'buttons' },
      h('button', { className: 'primary', value: 'yes' }, verb),
      h('button', { className: 'quiet', value: 'no' }, 'Cancel'),
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(dialog.returnValue === 'yes')
    })
  })
}
