import { type ComponentChild, render } from 'preact'

/** How a dialog is called, by words or by the id of its heading, and how it looks and is left. */
export type DialogOptions = ({ label: string } | { labelledBy: string }) & {
  class?: string
  /** Whether a press beside it leaves it. Default false. */
  isLight?: boolean
}

/**
 * Shows a modal dialog. Resolves, when it is closed, with what `close` was given; undefined: it was left, as by Esc. The focus goes back to where it
 * was. What is shown has none of the contexts of whoever shows it.
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

/* What is typed after a dialog was asked for, and before its code is there, is meant for the dialog: no shortcut of the page gets it. */

let typed: string | undefined

/** Keeps what is typed from the page from now on, until a dialog opens or `dropKeys` is called. */
export function holdKeys(): void {
  if (typed === undefined) addEventListener('keydown', hold, { capture: true })
  typed ??= ''
}

/** Forgets what was typed. */
export function dropKeys(): void {
  removeEventListener('keydown', hold, { capture: true })
  typed = undefined
}

/** Enters what was typed in the field that has the focus, if one has it. */
function releaseKeys(): void {
  const text = typed
  dropKeys()
  // Unlike an assignment, it is told to the field's listeners as typing is.
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
