import { SseDecoder } from '../streaming/sse.ts'
import { type ErrorContext, responseError } from './provider-error.ts'

/** What a driver makes of a response's body. Its methods may throw, which ends the request with that error. */
export interface ResponseReader {
  /** Nothing more is needed: the body's own end mark came. */
  readonly isDone: boolean
  readEvent(data: string, event?: string): void
  /** The body was one JSON value. */
  readWhole(value: unknown): void
  /** What had arrived, for errors. */
  context(): ErrorContext
}

/** White space and the bytes of a byte order mark. */
const UNTELLING = new Set([9, 10, 13, 32, 0xef, 0xbb, 0xbf])
/** What lines of an event stream begin with: a colon, `data`, `event`, `id`, `retry`. */
const EVENT_STARTS = new Set([...':deir'].map((char) => char.charCodeAt(0)))

/**
 * Feeds a body to its reader as what it is, server-sent events or one JSON value, whatever was asked for and whatever its content type
 * says: its first character tells. Anything else, such as a page of HTML, is a `bad_response`.
 */
export class ResponseBody {
  readonly #reader: ResponseReader
  readonly #onEvent: (data: string, event?: string) => void
  #events: SseDecoder | undefined
  #whole: Uint8Array[] | undefined
  /** What came before the first character that tells: white space, or pieces of a byte order mark. */
  #start: Uint8Array[] = []

  constructor(reader: ResponseReader) {
    this.#reader = reader
    this.#onEvent = (data, event) => reader.readEvent(data, event)
  }

  /** Returns true when the reader needs no more. */
  push(bytes: Uint8Array): boolean {
    if (this.#events !== undefined) this.#events.push(bytes, this.#onEvent)
    else if (this.#whole !== undefined) this.#whole.push(bytes)
    else this.#decide(bytes)
    return this.#reader.isDone
  }

  end(): void {
    if (this.#events !== undefined) this.#events.end(this.#onEvent)
    else if (this.#whole !== undefined) this.#reader.readWhole(this.#parse(this.#whole))
  }

  #decide(bytes: Uint8Array): void {
    const first = bytes.find((byte) => !UNTELLING.has(byte))
    this.#start.push(bytes)
    if (first === undefined) return
    const start = this.#start
    this.#start = []
    if (!EVENT_STARTS.has(first)) {
      this.#whole = start
      return
    }
    this.#events = new SseDecoder()
    for (const piece of start) this.#events.push(piece, this.#onEvent)
  }

  #parse(pieces: readonly Uint8Array[]): unknown {
    const text = new TextDecoder().decode(Buffer.concat(pieces))
    try {
      return JSON.parse(text)
    } catch (cause) {
      const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim()
      const isPage = text.trimStart().startsWith('<')
      const got = isPage
        ? `a page of HTML${title ? ` titled "${title}"` : ''}; is the base URL right?`
        : `a text that is not JSON: ${text.slice(0, 200)}`
      throw responseError('bad_response', 'a response', got, this.#reader.context(), { retryable: !isPage, cause })
    }
  }
}
