import { type ComponentChild, render } from 'preact'

/** The name of a dialog, as text or as the id of its heading, its style, and how it can be closed. */
export type DialogOptions = ({ label: string } | { labelledBy: string }) & {
  class?: string
  /** Whether a click outside closes it. Default false. */
  isLight?: boolean
}

/**
 * Shows a modal dialog. When it is closed, resolves with the value passed to `close`, or with undefined if the user left it, for example
 * with Esc. Restores the focus. Its content has no contexts of the caller.
 */
export function showDialog<Result = never>(
  content: (close: (result?: Result) => void) => ComponentChild,
  { class: className = '', isLight = false, ...name }: DialogOptions,
): Promise<Result | undefined> {
  const dialog = document.createElement('dialog')
  dialog.className = `dialog ${className}`.trim()
  if ('label' in name) dialog.setAttribute('aria-label', name.label)
  else dialog.setAttribute('aria-labelledby', name.labelledBy)
  let closedWith: Result | undefined
  const close = (result?: Result) => {
    closedWith = result
    dialog.close()
  }
  dialog.addEventListener('click', ({ target }) => {
    if (isLight && target === dialog) close()
  })
  document.body.append(dialog)
  render(content(close), dialog)
  dialog.showModal()
  releaseKeys()
  return new Promise((resolve) => {
    dialog.addEventListener('close', ({ target }) => {
      if (target !== dialog) return
      render(null, dialog)
      dialog.remove()
      resolve(closedWith)
    })
  })
}

/* Text typed between requesting a dialog and loading its code is meant for the dialog, and must not trigger shortcuts. */

let typed: string | undefined
let notice: HTMLElement | undefined

/** Collects typed text, and says that something loads, until a dialog opens or `dropKeys` is called. */
export function holdKeys(): void {
  if (typed === undefined) addEventListener('keydown', hold, { capture: true })
  typed ??= ''
  if (notice !== undefined) return
  notice = document.createElement('p')
  notice.className = 'opening'
  notice.role = 'status'
  notice.textContent = 'Loading…'
  document.body.append(notice)
}

/** Drops the collected text. */
export function dropKeys(): void {
  removeEventListener('keydown', hold, { capture: true })
  typed = undefined
  notice?.remove()
  notice = undefined
}

/** Enters the collected text in the focused field, if there is one. */
function releaseKeys(): void {
  const text = typed
  dropKeys()
  // Unlike an assignment, this triggers the field's listeners as typing does.
  if (text) document.execCommand('insertText', false, text)
}

function hold(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, altKey } = event
  if (ctrlKey || metaKey || altKey) return
  event.preventDefault()
  event.stopImmediatePropagation()
  if (typed === undefined) return
  if (key === 'Backspace') typed = [...typed].slice(0, -1).join('')
  else if ([...key].length === 1) typed += key
}
