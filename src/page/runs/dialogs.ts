import type { Live } from '../data/live.ts'

/* The dialogs about a run are loaded when one is opened. */

/** Resolves when the dialog is closed. Throws an `ApiError`. */
export async function openExport(id: string): Promise<void> {
  const { exportDialog } = await import('./export-dialog.tsx')
  await exportDialog(id)
}

/** Resolves when the dialog is closed. Throws an `ApiError`. */
export async function openRunAgain(live: Live, id: string): Promise<void> {
  const { runAgainDialog } = await import('./run-again-dialog.tsx')
  await runAgainDialog(live, id)
}
