import type { PieceTimes } from '../../agent/types/model-call.ts'
import type { ModelResponse } from '../../models/chat-model.ts'

/**
 * Maximum number of values that are recorded for a response. Recording a value takes microseconds, and a response may have thousands of
 * pieces.
 */
const mostRecorded = 8

/** The arrival times of the pieces of a response. */
export class ChunkTimes implements PieceTimes {
  #gaps: number[] = []
  #first: number | undefined
  #last = 0

  /** When the first piece arrived, on the clock of `performance.now()`. Undefined before that. */
  get first(): number | undefined {
    return this.#first
  }

  note(at: number): void {
    if (this.#first === undefined) this.#first = at
    else this.#gaps.push(at - this.#last)
    this.#last = at
  }

  restart(): void {
    this.#gaps = []
    this.#first = undefined
  }

  /** Returns the gaps between pieces, in seconds. If there are more than eight gaps, returns eight evenly spaced ones. */
  between(): number[] {
    const gaps = this.#gaps
    const count = Math.min(gaps.length, mostRecorded)
    const step = count < 2 ? 0 : (gaps.length - 1) / (count - 1)
    return Array.from({ length: count }, (_, at) => (gaps[Math.round(at * step)] ?? 0) / 1_000)
  }
}

/** Returns the time to the first piece, in seconds. Time spent waiting before the request was sent is not included. */
export function secondsToFirst(response: ModelResponse, chunks: ChunkTimes | undefined, startedAt: number): number | undefined {
  const { timeToFirstTokenMs, waitedMs = 0 } = response
  const milliseconds = timeToFirstTokenMs ?? (chunks?.first === undefined ? undefined : chunks.first - startedAt - waitedMs)
  return milliseconds === undefined ? undefined : Math.max(0, milliseconds) / 1_000
}
