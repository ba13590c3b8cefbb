import type { Stretch } from '../../core/runs/index.ts'

/** Maximum width of a pause on the timeline, as a share of the working time. */
const pauseShare = 0.08

/** Possible distances between two ticks, in milliseconds. */
const tickLengths = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800].map((seconds) => seconds * 1_000),
  ...[1, 2, 6, 12, 24].map((hours) => hours * 3_600_000),
]
const mostTicks = 5

/** Maps times to positions on a timeline, from 0 to 1. */
export interface TimeScale {
  at(time: number): number
  /** `ms` is the working time at the tick, a round number. */
  ticks: { ms: number; at: number }[]
  gaps: { at: number; width: number; ms: number }[]
  workMs: number
}

/** Creates a timeline on which long pauses take little space. An hour of waiting must not hide work that took a second. */
export function timeScale({ start, end, pauses }: { start: number; end: number; pauses: readonly Stretch[] }): TimeScale {
  const whole = Math.max(1, end - start)
  const known = pauses
    .map(({ from, to }) => ({ from: Math.max(start, from), to: Math.min(end, to ?? end) }))
    .filter(({ from, to }) => to > from)
  const paused = known.reduce((sum, { from, to }) => sum + to - from, 0)
  const workMs = Math.max(1, whole - paused)
  /** The pauses, with their widths in milliseconds of the timeline. */
  const shown = known.map(({ from, to }) => ({ from, to, width: Math.min(to - from, workMs * pauseShare) }))
  const total = Math.max(1, workMs + shown.reduce((sum, { width }) => sum + width, 0))
  const at = (time: number) => {
    let place = Math.min(Math.max(time, start), end) - start
    for (const { from, to, width } of shown) if (time > from) place -= (Math.min(time, to) - from) * (1 - width / (to - from))
    return place / total
  }
  /** Converts working time to clock time. */
  const timeOf = (ms: number) => known.reduce((time, { from, to }) => (from < time ? time + to - from : time), start + ms)
  const ticks = roundTimes(workMs).map((ms) => ({ ms, at: at(timeOf(ms)) }))
  return { at, ticks, workMs, gaps: shown.map(({ from, to, width }) => ({ at: at(from), width: width / total, ms: to - from })) }
}

function roundTimes(workMs: number): number[] {
  const length = tickLengths.find((one) => workMs / one <= mostTicks) ?? Math.ceil(workMs / mostTicks / 86_400_000) * 86_400_000
  return Array.from({ length: Math.floor(workMs / length) + 1 }, (_, tick) => tick * length)
}

/** Formats a round time with few characters, such as `1.5 s`. */
export function tickWords(ms: number): string {
  if (ms === 0) return '0'
  if (ms < 1_000) return `${ms} ms`
  if (ms < 60_000) return `${ms / 1_000} s`
  return ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`
}
