import { isWriting } from './is-writing.ts'

/* What is typed after a dialog was asked for, and before it is there, is meant for the dialog: no shortcut of the page gets it. */

let typed: string | undefined

/** Keeps what is typed from the page from now on, until a dialog opens or `dropKeys` is called. */
export function holdKeys(): void {
  if (typed === undefined) addEventListener('keydown', hold, { capture: true })
  typed ??= ''
}

/** Enters what was typed in the field that has the focus, if one has it. */
export function releaseKeys(): void {
  const text = typed
  dropKeys()
  // Unlike an assignment, it is told to the field's listeners as typing is.
  if (text && isWriting(document.activeElement)) document.execCommand('insertText', false, text)
}

/** Forgets what was typed. */
export function dropKeys(): void {
  removeEventListener('keydown', hold, { capture: true })
  typed = undefined
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
