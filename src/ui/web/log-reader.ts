import { messageOf, stackOf } from '../../core/errors.ts'
import { TextPieces } from '../../core/text/text-pieces.ts'
import type { EventLog, ReadEvent } from './event-log.ts'
import { type SseSource, sseFrame } from './sse-stream.ts'

/** A frame of an event stream, as one string or in parts. An empty string sends nothing. */
export type Frame = string | readonly string[]

/**
 * Defines how one response is written.
 *
 * Contract: all functions are synchronous. If one of them throws, only this response is cut off.
 */
export interface LogReaderOptions {
  /** The number of the last event that was already read. Default 0: starts with the first stored event. */
  after?: number
  event?(read: ReadEvent): Frame
  /** Called if the first events are no longer stored. If it returns undefined, the response can't continue without them and breaks off. */
  gap?(from: number, to: number): Frame | undefined
  /** Called after all events have been read. Returns the last frame, or undefined while more events may follow. */
  end?(): Frame | undefined
  /**
   * Returns the last frame of a response that ends before all events were read. `lastId` is the number of the last event in the response.
   */
  broken?(reason: string, lastId: number): Frame
  /** Returns the last frame of a response that is closed early. Default: see `SseSource.lastWords`. */
  closed?(reason: string, lastId: number): Frame
}

/**
 * Reads a log for one response. By default, writes toolloop's own event stream, which never ends. If the first events are no longer stored,
 * the stream contains a `GAP` with their numbers. If a reader is so slow that it would miss events, its response ends with a `DROPPED`. The
 * reader may then reconnect with `last-event-id`.
 */
export class LogReader implements SseSource {
  readonly #log: EventLog
  readonly #options: LogReaderOptions
  #place: number
  /** The part of the current frame that was not sent yet. It may be large, so it shares the log's text instead of copying it. */
  #frame = new TextPieces([])
  /** Whether this reader has read an event. If so, events that are missing later mean that the reader was too slow. */
  #begun = false
  #ended = false

  constructor(log: EventLog, options: LogReaderOptions = {}) {
    this.#log = log
    this.#options = options
    // A number beyond the newest event comes from an earlier log. The reader then continues after the newest event.
    this.#place = Math.min(options.after ?? 0, log.lastId)
  }

  get ended(): boolean {
    return this.#ended && this.#frame.ended
  }

  onReady(wake: () => void): () => void {
    return this.#log.onChange(wake)
  }

  lastWords(reason: string): string | undefined {
    const { closed } = this.#options
    const frame = closed && this.#guarded(() => closed(reason, this.#place))
    return frame && [frame].flat().join('')
  }

  take(characters: number): string {
    let text = this.#frame.take(characters)
    while (text.length < characters && !this.#ended) {
      const frame = this.#guarded(() => this.#next())
      if (frame === undefined) break
      this.#frame = new TextPieces([frame].flat())
      text += this.#frame.take(characters - text.length)
    }
    return text
  }

  #guarded(write: () => Frame | undefined): Frame | undefined {
    try {
      return write()
    } catch (error) {
      if (this.#ended) return ''
      this.#ended = true
      process.emitWarning(messageOf(error), { type: 'ToolloopResponseFailure', detail: stackOf(error) ?? '' })
      return this.#guarded(() => this.#broken('the response could not be written'))
    }
  }

  #next(): Frame | undefined {
    const missed = this.#log.firstId - this.#place - 1
    if (missed > 0) return this.#skip(missed)
    const read = this.#log.after(this.#place)
    if (read !== undefined) {
      this.#begun = true
      this.#place = read.id
      return (this.#options.event ?? eventFrame)(read)
    }
    const end = this.#options.end?.()
    this.#ended = end !== undefined
    return end
  }

  #skip(missed: number): Frame {
    const [from, to] = [this.#place + 1, this.#place + missed]
    const { gap = gapFrame } = this.#options
    const frame = this.#begun ? undefined : gap(from, to)
    if (frame === undefined) {
      this.#ended = true
      return this.#broken(this.#begun ? 'the reader is too slow' : 'the beginning is no longer kept')
    }
    this.#place = to
    return frame
  }

  #broken(reason: string): Frame {
    return (this.#options.broken ?? droppedFrame)(reason, this.#place)
  }
}

/** Writes a frame of toolloop's own event stream. */
function eventFrame({ id, type, data }: Pick<ReadEvent, 'id' | 'type' | 'data'>): Frame {
  return [`id: ${id}\nevent: ${type}\ndata: `, data, '\n\n']
}

export function gapFrame(from: number, to: number): string {
  return sseFrame('GAP', JSON.stringify({ from, to }))
}

export function droppedFrame(reason: string, lastEventId: number): string {
  return sseFrame('DROPPED', JSON.stringify({ reason, lastEventId }))
}
