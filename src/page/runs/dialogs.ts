import type { Live } from '../data/live.ts'
import { dropKeys, holdKeys } from '../ui/dialog.tsx'

/** Opens the export dialog. Resolves when it is closed. Rejects with an `ApiError`. */
export function openExport(id: string): Promise<void> {
  return open(async () => (await import('./export-dialog.tsx')).exportDialog(id))
}

/** Opens the dialog that starts a similar run. Resolves when it is closed. Rejects with an `ApiError`. */
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
