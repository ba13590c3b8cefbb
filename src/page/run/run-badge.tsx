import { ending } from '../data/format.ts'
import type { Run } from '../types.ts'

type Standing = Pick<Run, 'status' | 'stopReason'>

/** The state of a run in a word. */
export function RunBadge({ run }: { run: Standing }) {
  const words = run.status === 'ended' ? ending(run.stopReason) : run.status
  return <span class={`badge ${kindOf(run)}`}>{words}</span>
}

function kindOf({ status, stopReason }: Standing): string {
  if (status === 'running') return 'running'
  if (status === 'waiting') return 'wait'
  if (stopReason === 'answered' || stopReason === 'stopped') return 'good'
  return stopReason === 'aborted' ? 'off' : 'bad'
}
