import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { useLive } from '../ui/live-context.ts'

/** The error message of the latest action. `''` if the action succeeded, or if its message is shown elsewhere. */
export const failed = signal('')

/** Shows problems that need attention, in every view, until they are solved or dismissed. */
export function Notices() {
  const config = useLive().state?.config
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const notices: { kind: 'error' | 'wait'; words: string }[] = []
  if (config !== undefined && config.lastError !== null) {
    const problems = config.lastError.problems.map(({ path, message }) => `${path} ${message}`.trim()).join('; ')
    notices.push({ kind: 'error', words: `The configuration file is invalid; the previous configuration stays in use. ${problems}` })
  }
  if (config !== undefined && config.needsRestart.length > 0)
    notices.push({ kind: 'wait', words: `Changed in the configuration, in effect after a restart: ${config.needsRestart.join(', ')}` })
  const all = new Set(notices.map(({ words }) => words))
  // Forgets dismissed problems that are solved. If such a problem occurs again, it is shown again.
  const stillClosed = [...closed].filter((words) => all.has(words))
  if (stillClosed.length !== closed.size) setClosed(new Set(stillClosed))
  return (
    <div id="notices">
      {failed.value !== '' && (
        <div class="notice error" role="alert">
          <p>{failed.value}</p>
          <button type="button" class="quiet icon-button notice-close" aria-label="Dismiss" onClick={clearFailure}>
            ×
          </button>
        </div>
      )}
      {notices
        .filter(({ words }) => !closed.has(words))
        .map(({ kind, words }) => (
          <div key={words} class={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
            <p>{words}</p>
            <a href="#/config">Show</a>
            <button
              type="button"
              class="quiet icon-button notice-close"
              aria-label="Dismiss"
              onClick={() => setClosed(new Set([...closed, words]))}
            >
              ×
            </button>
          </div>
        ))}
    </div>
  )
}

function clearFailure(): void {
  failed.value = ''
}
