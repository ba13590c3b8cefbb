import { type ComponentChild, render } from 'preact'
import { releaseKeys } from './held-keys.ts'

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
