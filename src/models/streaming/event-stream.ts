import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'

/**
 * Receives the events of a stream.
 *
 * Contract: called synchronously. A callback that throws ends the reading with its error.
 */
export interface EventStreamListener {
  onEvent(event: EventSourceMessage): void
  /** Called for a comment, which servers send to keep a connection alive. */
  onComment?(): void
  /** Called for a line that is not a field of the format. */
  onStray?(line: string): void
}

/** The longest event, in characters. */
const longestEvent = 64 * 2 ** 20
/** The most characters that the parser gets at once. With CR line ends, its cost grows with their square. */
const pieceLength = 2 ** 16

/**
 * Reads server-sent events from bytes, which may be split anywhere. `end` delivers a last event that lacks its blank line. Format:
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
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
