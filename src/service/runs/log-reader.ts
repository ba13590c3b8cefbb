import { type SseSource, sseFrame } from '../http/sse.ts'
import type { EventLog } from './event-log.ts'

export interface LogReaderOptions {
  /** The last event that was read already. Default 0: from the first that is kept. */
  after?: number
  /** Whether anything can still follow. Default: always. */
  isOpen?(): boolean
  /** The frame behind the last event. */
  lastFrame?(): string
}

/**
 * Reads an event log as an event stream. What is no longer kept when the reader comes is named in a `GAP`; a reader that falls so far behind
 * that it would miss events is told so in a `DROPPED`, which ends its stream: it may come again with `last-event-id`.
 */
export class LogReader implements SseSource {
  readonly #log: EventLog
  readonly #options: LogReaderOptions
  #place: number
  #begun = false
  #ended = false

  constructor(log: EventLog, options: LogReaderOptions = {}) {
    this.#log = log
    this.#options = options
    // A number from another life of the log would wait for events that have been.
    this.#place = Math.min(options.after ?? 0, log.lastId)
  }

  get ended(): boolean {
    return this.#ended
  }

  take(characters: number): string {
    if (this.#ended) return ''
    const missed = this.#log.firstId - this.#place - 1
    if (missed > 0 && this.#begun) {
      this.#ended = true
      return sseFrame('DROPPED', JSON.stringify({ reason: 'the reader is too slow', lastEventId: this.#place }))
    }
    let text = missed > 0 ? sseFrame('GAP', JSON.stringify({ from: this.#place + 1, to: this.#log.firstId - 1 })) : ''
    this.#begun = true
    for (const { id, type, data } of this.#log.after(this.#place)) {
      text += sseFrame(type, data, id)
      this.#place = id
      if (text.length >= characters) return text
    }
    if (this.#options.isOpen?.() ?? true) return text
    this.#ended = true
    return text + (this.#options.lastFrame?.() ?? '')
  }

  onReady(wake: () => void): () => void {
    return this.#log.onChange(wake)
  }
}
