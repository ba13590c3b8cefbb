import type { Stretch } from '../../core/runs/index.ts'

/** The width of a pause on the timeline, as a share of the working time. */
const pauseShare = 0.08

/** Positions of times on a timeline, from 0 to 1, and its pauses. */
export interface TimeScale {
  at(time: number): number
  gaps: { at: number; width: number; ms: number }[]
  workMs: number
}

/** Creates a timeline on which long pauses take little space: an hour of waiting must not hide what took a second. */
export function timeScale({ start, end, pauses }: { start: number; end: number; pauses: readonly Stretch[] }): TimeScale {
  const whole = Math.max(1, end - start)
  const known = pauses
    .map(({ from, to }) => ({ from: Math.max(start, from), to: Math.min(end, to ?? end) }))
    .filter(({ from, to }) => to > from)
  const paused = known.reduce((sum, { from, to }) => sum + to - from, 0)
  const workMs = Math.max(1, whole - paused)
  /** The remaining length of each pause, in milliseconds of the timeline. */
  const shown = known.map(({ from, to }) => ({ from, to, width: Math.min(to - from, workMs * pauseShare) }))
  const total = Math.max(1, workMs + shown.reduce((sum, { width }) => sum + width, 0))
  const at = (time: number) => {
    let place = Math.min(Math.max(time, start), end) - start
    for (const { from, to, width } of shown) if (time > from) place -= (Math.min(time, to) - from) * (1 - width / (to - from))
    return place / total
  }
  return { at, workMs, gaps: shown.map(({ from, to, width }) => ({ at: at(from), width: width / total, ms: to - from })) }
}
