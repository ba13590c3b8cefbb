import type { PieceTimes } from '../../agent/observe/telemetry.ts'
import type { ModelResponse } from '../../models/chat-model.ts'

/** Of one response. What is recorded costs an SDK microseconds each, and a response may have thousands of pieces. */
const mostRecorded = 8

/** When the pieces of a response come. */
export class ChunkTimes implements PieceTimes {
  #gaps: number[] = []
  #first: number | undefined
  #last = 0

  /** When the first came, by `performance.now()`; undefined where none has. */
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

  /** What passed between them, in seconds: all of it, or of more than eight, eight that lie evenly between the first and the last. */
  between(): number[] {
    const gaps = this.#gaps
    const count = Math.min(gaps.length, mostRecorded)
    const step = count < 2 ? 0 : (gaps.length - 1) / (count - 1)
    return Array.from({ length: count }, (_, at) => (gaps[Math.round(at * step)] ?? 0) / 1_000)
  }
}

/** How long the first piece took; what a request has waited for its turn does not count. */
export function secondsToFirst(response: ModelResponse, chunks: ChunkTimes | undefined, startedAt: number): number | undefined {
  const { timeToFirstTokenMs, waitedMs = 0 } = response
  const milliseconds = timeToFirstTokenMs ?? (chunks?.first === undefined ? undefined : chunks.first - startedAt - waitedMs)
  return milliseconds === undefined ? undefined : Math.max(0, milliseconds) / 1_000
}
