import type { Run } from '../types.ts'

type Standing = Pick<Run, 'status' | 'stopReason'>

const words: Readonly<Record<string, string>> = {
  truncated: 'cut off',
  max_iterations: 'iteration limit',
  budget: 'budget used up',
  deadline: 'out of time',
  aborted: 'cancelled',
  repeated_calls: 'repeated itself',
  model_error: 'model error',
}

/** Shows the state of a run in one word. */
export function RunBadge({ run }: { run: Standing }) {
  const { status, stopReason = 'ended' } = run
  return <span class={`badge ${kindOf(run)}`}>{status === 'ended' ? (words[stopReason] ?? stopReason) : status}</span>
}

function kindOf({ status, stopReason }: Standing): string {
  if (status === 'running') return 'running'
  if (status === 'waiting') return 'wait'
  if (stopReason === 'answered' || stopReason === 'stopped') return 'good'
  return stopReason === 'aborted' ? 'off' : 'bad'
}
