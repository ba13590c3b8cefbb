import { showDialog } from './dialog.tsx'

/** Asks for confirmation of an action on many items. Resolves with true if the user confirms. */
export async function confirmDialog({ title, lines, verb }: { title: string; lines: string[]; verb: string }): Promise<boolean> {
  const isWanted = await showDialog<boolean>(
    (close) => (
      <>
        <h2 id="confirm-title">{title}</h2>
        <ul class="problems">
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        <div class="buttons">
          <button type="button" class="primary" onClick={() => close(true)}>
            {verb}
          </button>
          <button type="button" class="quiet" onClick={() => close()}>
            Cancel
          </button>
        </div>
      </>
    ),
    { labelledBy: 'confirm-title' },
  )
  return isWanted === true
}
