import { type ComponentChild, render } from 'preact'

/** The options of a dialog: its name (as text or as the id of its heading), its style, and how it can be closed. */
export type DialogOptions = ({ label: string } | { labelledBy: string }) & {
  class?: string
  /** Whether a click outside the dialog closes it. Default false. */
  isLight?: boolean
}

/**
 * Shows a modal dialog. When it is closed, resolves with the value passed to `close`, or with undefined if the user left it, for example
 * with Esc. The focus then returns to the element that had it before. The content of the dialog can't use Preact contexts of the caller.
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

/*
 * The text that the user has typed since a dialog was requested, while its code is being loaded. It is meant for the dialog, and must not
 * trigger shortcuts.
 */

let typed: string | undefined
let notice: HTMLElement | undefined

/** Collects typed text and shows that something is loading, until a dialog opens or `dropKeys` is called. */
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

/** Enters the collected text into the focused field, if a field has the focus. */
function releaseKeys(): void {
  const text = typed
  dropKeys()
  // This call, unlike an assignment, triggers the field's listeners as typing does.
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
