import type { PieceTimes } from '../agent/observe/telemetry.ts'

/** Of one response. What is recorded costs an SDK microseconds each, and a response may have thousands of pieces. */
const mostRecorded = 8

/** What passes between the pieces of a response. */
export class ChunkTimes implements PieceTimes {
  #gaps: number[] = []
  #last: number | undefined

  note(at: number): void {
    if (this.#last !== undefined) this.#gaps.push(at - this.#last)
    this.#last = at
  }

  restart(): void {
    this.#gaps = []
    this.#last = undefined
  }

  /** In seconds: all of them, or of more than eight, eight that lie evenly between the first and the last. */
  seconds(): number[] {
    const gaps = this.#gaps
    const count = Math.min(gaps.length, mostRecorded)
    const step = count < 2 ? 0 : (gaps.length - 1) / (count - 1)
    return Array.from({ length: count }, (_, at) => (gaps[Math.round(at * step)] ?? 0) / 1_000)
  }
}
