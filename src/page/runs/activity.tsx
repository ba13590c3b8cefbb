import type { PlacedCall } from '../data/calls.ts'
import { CallCard } from '../run/call-card.tsx'
import { useLive } from '../ui/live-context.ts'
import { runHref } from './addresses.ts'

/** Shows the latest calls of all runs as they happen. */
export function Activity() {
  const live = useLive()
  const calls = live.calls.latest
  const linkTo = ({ topRunId }: PlacedCall) => ({ href: runHref(topRunId), words: live.run(topRunId)?.input || 'Run' })
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Tool calls</h2>
        <p class="muted">of all runs, latest first</p>
      </div>
      {calls.length === 0 && <p class="empty">No tool calls yet. Calls appear here live, with their arguments, result and duration.</p>}
      {calls.length > 0 && (
        <div class="feed" role="feed" aria-label="Tool calls">
          {calls.map((call) => (
            <CallCard key={call.key} call={call} linkTo={linkTo} />
          ))}
        </div>
      )}
    </section>
  )
}
