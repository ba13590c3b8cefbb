import type { Live } from '../data/live.ts'
import { dropKeys, holdKeys } from '../ui/dialog.tsx'

/* The dialogs about a run are loaded on demand. Only one is open at a time. */

/** Resolves when the dialog is closed. Throws an `ApiError`. */
export function openExport(id: string): Promise<void> {
  return open(async () => (await import('./export-dialog.tsx')).exportDialog(id))
}

/** Resolves when the dialog is closed. Throws an `ApiError`. */
export function openRunAgain(live: Live, id: string): Promise<void> {
  return open(async () => (await import('./run-again-dialog.tsx')).runAgainDialog(live, id))
}

let isOpen = false

async function open(show: () => Promise<void>): Promise<void> {
  if (isOpen) return
  isOpen = true
  holdKeys()
  try {
    await show()
  } finally {
    dropKeys()
    isOpen = false
  }
}
