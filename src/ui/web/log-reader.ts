import { messageOf, stackOf } from '../../core/errors.ts'
import { TextPieces } from '../../core/text/text-pieces.ts'
import type { EventLog, ReadEvent } from './event-log.ts'
import { type SseSource, sseFrame } from './sse-stream.ts'

/** A frame of an event stream, whole or in parts; `''`: nothing is sent. */
export type Frame = string | readonly string[]

/** What one response is made of. If a function throws, the response breaks off, and nothing else. */
export interface LogReaderOptions {
  /** The last event that was read already. Default 0: it begins with the first that is kept. */
  after?: number
  event?(read: ReadEvent): Frame
  /** The first events are no longer kept. Undefined: the response can't do without them, and breaks off. */
  gap?(from: number, to: number): Frame | undefined
  /** Called when all events have been read: the last frame; undefined while others may follow. */
  end?(): Frame | undefined
  /** The last frame of a response that ends before its events do; `lastId` is the last event in it. */
  broken?(reason: string, lastId: number): Frame
  /** The last frame of a response that is closed. Default: see `SseSource.lastWords`. */
  closed?(reason: string, lastId: number): Frame
}

/**
 * Reads a log for one response; by default, as our own event stream, which has no end. A reader that comes when the first events are no longer
 * kept is told which in a `GAP`. A reader that falls so far behind that it would miss events is told so in a `DROPPED`, which ends its response:
 * it may come again with `last-event-id`.
 */
export class LogReader implements SseSource {
  readonly #log: EventLog
  readonly #options: LogReaderOptions
  #place: number
  /** What of a frame has not been taken. It may be large: a slow reader holds the log's own text and no copy. */
  #frame = new TextPieces([])
  /** Something was read: what is missing from then on was missed. */
  #begun = false
  #ended = false

  constructor(log: EventLog, options: LogReaderOptions = {}) {
    this.#log = log
    this.#options = options
    // A number of an earlier log would wait for events that have been.
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

/** An event of ours. */
function eventFrame({ id, type, data }: Pick<ReadEvent, 'id' | 'type' | 'data'>): Frame {
  return [`id: ${id}\nevent: ${type}\ndata: `, data, '\n\n']
}

export function gapFrame(from: number, to: number): string {
  return sseFrame('GAP', JSON.stringify({ from, to }))
}

export function droppedFrame(reason: string, lastEventId: number): string {
  return sseFrame('DROPPED', JSON.stringify({ reason, lastEventId }))
}
