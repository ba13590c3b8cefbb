import type { Stretch } from '../../core/runs/index.ts'
import type { Row } from './bar-rows.ts'
import type { Span } from './spans.ts'
import type { TimeScale } from './time-scale.ts'

type Bar = [kind: string, from: number, to: number]

/** Shows the time of a row, including waits, as overlapping bars. */
export function BarLane({ row, scale, now }: { row: Row; scale: TimeScale; now: number }) {
  return (
    <span class="bar-lane" aria-hidden="true">
      {barsOf(row, scale, now).map(drawn)}
    </span>
  )
}

/** Draws a bar, without a `key`, because only its position in the list identifies it. */
function drawn([kind, from, to]: Bar) {
  return <i class={kind} style={{ left: percent(from), width: percent(to - from) }} />
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`
}

function barsOf({ span, parts, isFolded }: Row, { at, gaps }: TimeScale, now: number): Bar[] {
  const bars = gaps.map(({ at: from, width }): Bar => ['gap', from, from + width])
  const within = isFolded ? extentOf(parts, now) : undefined
  if (within !== undefined) bars.push(['inside', at(within[0]), at(within[1])])
  if (span?.start === undefined) return bars
  const end = span.end ?? now
  bars.push(['bar', at(span.start), at(end)])
  if (span.firstToken !== undefined) bars.push(['first', at(span.start), at(Math.min(span.firstToken, end))])
  for (const { from, to = now } of span.waits) bars.push(['wait', at(from), at(to)])
  for (const { at: when } of span.retries) bars.push(['retry', at(when), at(when)])
  return bars
}

function extentOf(rows: readonly Row[], now: number): [from: number, to: number] | undefined {
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const { span, parts } of rows) {
    const inner = extentOf(parts, now)
    if (span?.start !== undefined) [from, to] = [Math.min(from, span.start), Math.max(to, span.end ?? now)]
    if (inner !== undefined) [from, to] = [Math.min(from, inner[0]), Math.max(to, inner[1])]
  }
  return to === 0 ? undefined : [from, to]
}

/** Returns the latest time in the spans and pauses. */
export function latest(spans: readonly Span[], pauses: readonly Stretch[]): number {
  const times = [...spans.flatMap(({ start = 0, end = 0 }) => [start, end]), ...pauses.map(({ from, to = 0 }) => Math.max(from, to))]
  return times.reduce((a, b) => Math.max(a, b), 0)
}
