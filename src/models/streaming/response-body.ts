import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { keepShape } from '../../core/v8/keep-shape.ts'
import { type ErrorContext, responseError } from '../transport/provider-error.ts'
import { EventStream } from './event-stream.ts'

/** Puts a response together from what its body holds. Its methods may throw, which ends the request with that error. */
export interface ResponseReader {
  /** Nothing more is needed: what marks the end of a response has come. */
  readonly isDone: boolean
  /** What has come is a whole response. */
  readonly hasFinished: boolean
  readEvent(event: JsonObject, name?: string): void
  /** `[DONE]`, with which a stream of Chat Completions ends. */
  readEndMark?(): void
  /** The body was one JSON value. */
  readWhole(value: unknown): void
  /** What has arrived, for errors. */
  context(): ErrorContext
}

/** White space and the bytes of a byte order mark. */
const UNTELLING = new Set([9, 10, 13, 32, 0xef, 0xbb, 0xbf])
/** What lines of an event stream begin with: a colon, `data`, `event`, `id`, `retry`. */
const EVENT_STARTS = new Set([...':deir'].map((char) => char.charCodeAt(0)))
const BRACE = 123
/** Longest body, in bytes once decompressed: a small one can be compressed from far more than there is memory. */
const mostBytes = 256 * 2 ** 20

/**
 * Feeds a body to its reader as what it is, server-sent events or one JSON value, whatever was asked for and whatever its content type
 * says: its first character tells. Anything else, such as a page of HTML, is a `bad_response`.
 */
export class ResponseBody {
  readonly #reader: ResponseReader
  #events: EventStream | undefined
  #length = 0
  #whole: Uint8Array[] | undefined
  /** What came before the first character that tells: white space, or pieces of a byte order mark. */
  #start: Uint8Array[] = []

  constructor(reader: ResponseReader) {
    this.#reader = reader
  }

  /** Returns true when the reader needs no more. */
  push(bytes: Uint8Array): boolean {
    this.#length += bytes.length
    if (this.#length > mostBytes) throw this.#bad(`at most ${mostBytes} bytes`, 'more', false)
    if (this.#events !== undefined) this.#events.push(bytes)
    else if (this.#whole !== undefined) this.#whole.push(bytes)
    else this.#decide(bytes)
    return this.#reader.isDone
  }

  end(): void {
    if (this.#events !== undefined) this.#events.end()
    else if (this.#whole !== undefined) this.#reader.readWhole(this.#parseWhole(Buffer.concat(this.#whole)))
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
    this.#events = new EventStream({ onEvent: ({ data, event }) => this.#readEvent(data, event) })
    for (const piece of start) this.#events.push(piece)
  }

  #readEvent(data: string, name: string | undefined): void {
    if (this.#reader.isDone) return
    // Nearly every event begins with a brace. Servers also send empty lines, to keep a connection alive.
    if (data.charCodeAt(0) !== BRACE) {
      if (data.startsWith('[DONE]')) {
        this.#reader.readEndMark?.()
        return
      }
      if (data.trim() === '') return
    }
    let event: unknown
    try {
      event = JSON.parse(data)
    } catch (cause) {
      throw this.#bad('events of JSON', `a data line that is not JSON: ${data.slice(0, 200)}`, true, cause)
    }
    if (!isJsonObject(event)) throw this.#bad('a JSON object', data.slice(0, 200), false)
    this.#reader.readEvent(event, name)
  }

  #parseWhole(bytes: Buffer): unknown {
    const text = bytes.toString().replace(/^\ufeff/, '')
    try {
      return JSON.parse(text)
    } catch (cause) {
      const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim()
      const isPage = text.trimStart().startsWith('<')
      const got = isPage
        ? `a page of HTML${title ? ` titled "${title}"` : ''}; is the base URL right?`
        : `a text that is not JSON: ${text.slice(0, 200)}`
      throw this.#bad('a response', got, !isPage, cause)
    }
  }

  #bad(expected: string, got: string, retryable: boolean, cause?: unknown): Error {
    return responseError('bad_response', expected, got, this.#reader.context(), { retryable, ...(cause === undefined ? {} : { cause }) })
  }
}

keepShape(ResponseBody)
