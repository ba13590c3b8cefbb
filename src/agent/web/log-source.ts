import { syncAnswer, syncText } from '../../core/callbacks/callbacks.ts'
import { messageOf, stackOf } from '../../core/errors.ts'
import type { RunEvent } from '../../core/events.ts'
import type { ResponseWriter } from './response-format.ts'
import type { RunEnding } from './run-ending.ts'
import type { ReadEvent } from './run-log.ts'
import type { SseSource } from './sse-stream.ts'

/** A run's events, as a response reads them. */
export interface ReadableLog {
  /** Of the oldest event that is kept. */
  readonly firstId: number
  /** What comes after the event of that number; undefined where there is nothing yet. */
  after(id: number): ReadEvent | undefined
  /** Called when there is something new to read, or the run has ended. Returns the function that unsubscribes. */
  onChange(listener: () => void): () => void
}

export interface LogSourceOptions {
  writer: ResponseWriter
  /** The event behind which it begins. */
  place: number
  select: ((event: RunEvent) => RunEvent | undefined) | undefined
  /** How the run has ended; undefined while it goes on. */
  ending(): RunEnding | undefined
}

/** Reads a run's log for one response, and has it written. */
export class LogSource implements SseSource {
  readonly #log: ReadableLog
  readonly #options: LogSourceOptions
  #place: number
  /** Something was read: what is missing from then on was missed. */
  #begun = false
  #ended = false

  constructor(log: ReadableLog, options: LogSourceOptions) {
    this.#log = log
    this.#options = options
    this.#place = options.place
  }

  get ended(): boolean {
    return this.#ended
  }

  onReady(wake: () => void): () => void {
    return this.#log.onChange(wake)
  }

  lastWords(reason: string): string {
    return this.#guarded(() => this.#broken(reason)) ?? ''
  }

  take(characters: number): string {
    let text = ''
    while (text.length < characters && !this.#ended) {
      const frames = this.#guarded(() => this.#next())
      if (frames === undefined) break
      text += frames
    }
    return text
  }

  /** What a caller's function throws breaks this response off, and nothing else. */
  #guarded(write: () => string | undefined): string | undefined {
    try {
      return write()
    } catch (error) {
      if (this.#ended) return ''
      this.#ended = true
      process.emitWarning(messageOf(error), { type: 'ToolloopResponseFailure', detail: stackOf(error) ?? '' })
      return this.lastWords('the response could not be written')
    }
  }

  #next(): string | undefined {
    const missed = this.#log.firstId - this.#place - 1
    if (missed > 0) return this.#skip(missed)
    const read = this.#log.after(this.#place)
    if (read !== undefined) {
      this.#begun = true
      this.#place = read.id
      const { select, writer } = this.#options
      const event = select === undefined ? read.event : (syncAnswer('select', select(read.event)) ?? takingBack(read.event))
      return event === undefined ? '' : syncText('event', writer.event(event, read.id))
    }
    const ending = this.#options.ending()
    if (ending === undefined) return undefined
    this.#ended = true
    return syncText('end', this.#options.writer.end(ending))
  }

  /** Who has fallen so far behind is told so, and may come again; who comes too late is told what is gone. */
  #skip(missed: number): string {
    const [from, to] = [this.#place + 1, this.#place + missed]
    const gap = this.#begun ? undefined : syncAnswer('gap', this.#options.writer.gap(from, to))
    if (gap === undefined) {
      this.#ended = true
      return this.#broken(this.#begun ? 'the reader is too slow' : 'the beginning is no longer kept')
    }
    this.#place = to
    return syncText('gap', gap)
  }

  #broken(reason: string): string {
    return syncText('broken', this.#options.writer.broken(reason, this.#place))
  }
}

/** Pieces that were sent have to be taken back, whatever is left out. Why is not told. */
function takingBack(event: RunEvent): RunEvent | undefined {
  return event.type === 'MODEL_RETRY' && event.discards ? { ...event, error: '' } : undefined
}
