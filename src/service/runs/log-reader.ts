import { type SseSource, sseFrame } from '../../agent/web/sse-stream.ts'
import { TextPieces } from '../http/text-pieces.ts'
import type { EventLog } from './event-log.ts'

export interface LogReaderOptions {
  /** The last event that was read already. Default 0: from the first that is kept. */
  after?: number
  /** Whether anything can still follow. Default: always. */
  isOpen?(): boolean
  /** The frame behind the last event, in parts. */
  lastFrame?(): string[]
}

/**
 * Reads an event log as an event stream. What is no longer kept when the reader comes is named in a `GAP`; a reader that falls so far behind
 * that it would miss events is told so in a `DROPPED`, which ends its stream: it may come again with `last-event-id`.
 */
export class LogReader implements SseSource {
  readonly #log: EventLog
  readonly #options: LogReaderOptions
  #place: number
  /** What of the last frame has not been taken. */
  #frame = new TextPieces([])
  #begun = false
  #ended = false

  constructor(log: EventLog, options: LogReaderOptions = {}) {
    this.#log = log
    this.#options = options
    // A number from another life of the log would wait for events that have been.
    this.#place = Math.min(options.after ?? 0, log.lastId)
  }

  get ended(): boolean {
    return this.#ended && this.#frame.ended
  }

  take(characters: number): string {
    let text = this.#frame.take(characters)
    while (text.length < characters && !this.#ended) {
      const frame = this.#nextFrame()
      if (frame === undefined) break
      // An event may be large: whoever reads it slowly holds the log's own text, and no copy.
      this.#frame = new TextPieces(frame)
      text += this.#frame.take(characters - text.length)
    }
    return text
  }

  #nextFrame(): readonly string[] | undefined {
    const missed = this.#log.firstId - this.#place - 1
    if (missed > 0 && this.#begun) {
      this.#ended = true
      return [sseFrame('DROPPED', JSON.stringify({ reason: 'the reader is too slow', lastEventId: this.#place }))]
    }
    this.#begun = true
    if (missed > 0) {
      const from = this.#place + 1
      this.#place = this.#log.firstId - 1
      return [sseFrame('GAP', JSON.stringify({ from, to: this.#place }))]
    }
    for (const { id, type, data } of this.#log.after(this.#place)) {
      this.#place = id
      return [`id: ${id}\nevent: ${type}\ndata: `, data, '\n\n']
    }
    if (this.#options.isOpen?.() ?? true) return undefined
    this.#ended = true
    return this.#options.lastFrame?.()
  }

  onReady(wake: () => void): () => void {
    return this.#log.onChange(wake)
  }
}
