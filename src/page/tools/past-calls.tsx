import { ago, count, duration } from '../data/format.ts'
import type { PastCall, ToolWithCalls } from '../types.ts'

/** Shows how the last calls of a tool ended. */
export function PastCalls({ calls: { total, failed, recent } }: Pick<ToolWithCalls, 'calls'>) {
  if (total === 0) return <p class="muted">Not called since the service started.</p>
  const slowestMs = Math.max(...recent.map(({ durationMs }) => durationMs), 1)
  const drawn = (call: PastCall) => <Row call={call} slowestMs={slowestMs} />
  return (
    <>
      <p class="muted">{`${count(total, 'call')}${failed === 0 ? '' : `, ${failed.toLocaleString()} failed`}, since the service started`}</p>
      <ol class="past-list">{recent.map(drawn)}</ol>
    </>
  )
}

function Row({ call: { at, outcome, durationMs, errorCode, runId }, slowestMs }: { call: PastCall; slowestMs: number }) {
  const isGood = outcome === 'ok' || outcome === 'question'
  return (
    <li>
      <span class={`past-bar ${isGood ? '' : 'bad'}`} style={{ '--share': durationMs / slowestMs }} aria-hidden="true" />
      <span class="past-time">{duration(durationMs)}</span>
      <span class={isGood ? 'muted' : 'error-text'}>{isGood ? outcome : (errorCode ?? outcome)}</span>
      <span class="muted">{`${ago(at)} ago`}</span>
      {runId === undefined ? (
        <span class="muted">tried here</span>
      ) : (
        <span>
          <a href={`#/runs/${encodeURIComponent(runId)}`}>Run</a>
        </span>
      )}
    </li>
  )
}
