import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'

/** Told, synchronously, what a stream holds. A callback that throws ends the reading with its error. */
export interface EventStreamListener {
  onEvent(event: EventSourceMessage): void
  /** Told of a comment, which servers send to keep a connection alive. */
  onComment?(): void
  /** Told of a line that is no field of the format. */
  onStray?(line: string): void
}

/** Longest event, in characters. */
const longestEvent = 64 * 2 ** 20
/** The parser gets at most this many characters at once: with CR line ends, its cost grows with the square of them. */
const pieceLength = 2 ** 16

/**
 * Reads server-sent events from bytes, which may be cut anywhere. `end` gives out an event that lacks its blank line.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class EventStream {
  readonly #decoder = new TextDecoder()
  readonly #parser: EventSourceParser

  constructor({ onEvent, onComment, onStray }: EventStreamListener) {
    this.#parser = createParser({
      onEvent,
      onComment: () => onComment?.(),
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw error
        if (error.type === 'unknown-field') onStray?.(error.line ?? '')
      },
      maxBufferSize: longestEvent,
    })
  }

  push(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true })
    for (let at = 0; at < text.length; at += pieceLength) this.#parser.feed(text.slice(at, at + pieceLength))
  }

  end(): void {
    this.#parser.feed(`${this.#decoder.decode()}\n\n`)
  }
}
