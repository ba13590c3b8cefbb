import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'
import { jsonOrText } from '../../core/json.ts'
import { isJsonObject, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { type ErrorContext, isError, providerError, responseError, tellsError } from '../errors/provider-error.ts'

/**
 * Reads the content of a body as a response.
 *
 * Contract: methods are called synchronously. If a method throws, the request ends with its error.
 */
export interface ResponseReader {
  /** Whether the end of the response has arrived and the reader needs no more data. */
  readonly isDone: boolean
  /** Whether a complete response has arrived. */
  readonly hasFinished: boolean
  /** Reads an event. Returns false if the event is not part of a response. */
  readEvent(event: JsonObject, name?: string): boolean
  /** Called for `[DONE]`, which ends a stream of Chat Completions. */
  readEndMark?(): void
  /** Reads a body that is one JSON value. Returns false if the value is not a response. */
  readWhole(value: unknown): boolean
  /** The error context, including the part of the response that has arrived. */
  context(): ErrorContext
}

/** Bytes that don't reveal the format of the body: whitespace, and the bytes of a byte order mark. */
const UNTELLING = new Set([9, 10, 13, 32, 0xef, 0xbb, 0xbf])
/** The first characters of lines in an event stream: a colon, `data`, `event`, `id`, `retry`. */
const EVENT_STARTS = new Set([...':deir'].map((char) => char.charCodeAt(0)))
/** Names of events that only keep a connection alive. https://platform.claude.com/docs/en/build-with-claude/streaming#ping-events */
const keepsAlive = /^(ping|keep-?alive|heartbeat)$/i
const BRACE = 123
/** Maximum size of a body, in bytes after decompression. A small compressed body can expand to more than fits in memory. */
const mostBytes = 256 * 2 ** 20
/** Maximum number of characters to keep of text that is not part of a response. */
const mostStray = 2 ** 16
/**
 * Maximum number of lines that are neither a field of an event stream nor part of a response. With more lines, the request fails. The limit
 * leaves room for an error that is printed over several lines.
 */
const mostStrayLines = 1000

/**
 * Passes a body to its reader as server-sent events or as one JSON value. The first character of the body determines the format; the
 * request and the content type don't matter. Servers report errors in many forms. Text that is neither part of a response nor clearly an
 * error is therefore kept, and is quoted in the error if the response never finishes.
 */
export class ResponseBody {
  readonly #reader: ResponseReader
  #events: EventStream | undefined
  #length = 0
  #whole: Uint8Array[] | undefined
  /** The bytes before the first character that reveals the format: white space, or parts of a byte order mark. */
  #start: Uint8Array[] = []
  /** Lines and events that are not part of a response, to be quoted in an error. */
  readonly #stray: string[] = []
  #strayLength = 0
  #strayLines = 0
  #parts = 0

  constructor(reader: ResponseReader) {
    this.#reader = reader
  }

  /** The number of parts of the response that have arrived. A part is an event of a stream (except pings), or a piece of a JSON body. */
  get parts(): number {
    return this.#parts
  }

  /** Returns true once the reader needs no more data. */
  push(bytes: Uint8Array): boolean {
    this.#length += bytes.length
    if (this.#length > mostBytes) throw this.#bad(`at most ${mostBytes} bytes`, 'more', false)
    if (this.#events !== undefined) this.#events.push(bytes)
    else if (this.#whole !== undefined) this.#addWhole(bytes)
    else this.#decide(bytes)
    return this.#reader.isDone
  }

  end(): void {
    if (this.#events !== undefined) this.#events.end()
    else if (this.#whole !== undefined) this.#readWhole(Buffer.concat(this.#whole))
  }

  /** Returns the error that explains why the response did not finish. Undefined if the server sent nothing besides a response. */
  failure(): Error | undefined {
    const values = this.#stray.map((text) => jsonOrText(text))
    const text = values.filter((value) => typeof value === 'string').join('\n')
    // An error may be printed over several lines, so their joined text is read first.
    const body = [jsonOrText(text), ...values].filter(isJsonObject).find(tellsError)
    if (body !== undefined) return providerError({ body }, this.#reader.context())
    if (text !== '') return this.#unreadable(text)
    const context = this.#reader.context()
    const [first] = this.#stray
    if (first === undefined) return undefined
    const got = `its end without a finish reason, after ${first.slice(0, 200)}`
    return responseError('stream_cut', 'the rest of a response', got, context, { retryable: true })
  }

  #decide(bytes: Uint8Array): void {
    const first = bytes.find((byte) => !UNTELLING.has(byte))
    this.#start.push(bytes)
    if (first === undefined) return
    const start = this.#start
    this.#start = []
    if (!EVENT_STARTS.has(first)) {
      this.#whole = start
      this.#parts++
      return
    }
    this.#events = this.#newStream()
    for (const piece of start) this.#events.push(piece)
  }

  #addWhole(bytes: Uint8Array): void {
    this.#whole?.push(bytes)
    this.#parts++
  }

  #newStream(): EventStream {
    return new EventStream({ onEvent: ({ data, event }) => this.#readEvent(data, event), onStray: (line) => this.#readStray(line) })
  }

  #readEvent(data: string, name: string | undefined): void {
    if (this.#reader.isDone) return
    // Checks for an end mark, and for an empty event, which keeps a connection alive.
    if (data.charCodeAt(0) !== BRACE) {
      if (data.startsWith('[DONE]')) {
        this.#readEndMark()
        return
      }
      if (data.trim() === '') return
    }
    let event: unknown
    try {
      event = JSON.parse(data)
    } catch (cause) {
      throw this.#unreadable(data, cause)
    }
    // Google sends some errors as a list.
    const value: unknown = Array.isArray(event) ? event[0] : event
    if (!isJsonObject(value)) throw name === 'error' ? this.#unreadable(data) : this.#bad('a JSON object', data.slice(0, 200), false)
    if (value !== event && !isError(value)) throw this.#bad('a JSON object', data.slice(0, 200), false)
    this.#readValue(value, name)
  }

  /** Reads `[DONE]`. A response without a finish reason counts as complete if `[DONE]` follows, unless the stream contained an error. */
  #readEndMark(): void {
    const isFinished = this.#reader.hasFinished
    this.#reader.readEndMark?.()
    const failure = isFinished || this.#stray.length === 0 ? undefined : this.failure()
    if (failure !== undefined) throw failure
  }

  /** Reads a line that has no field name of the event stream format. Some servers send an error, or even every event, without `data:`. */
  #readStray(line: string): void {
    if (this.#reader.isDone) return
    const [, error] = /^error: ?(.*)$/s.exec(line) ?? []
    const value = jsonOrText(error ?? line)
    if (error !== undefined) throw isJsonObject(value) ? providerError({ body: value }, this.#reader.context()) : this.#unreadable(error)
    const parts = this.#parts
    if (isJsonObject(value)) this.#readValue(value)
    else this.#keep(line)
    if (this.#parts === parts && ++this.#strayLines > mostStrayLines) throw this.failure() ?? this.#unreadable(line)
  }

  #readValue(value: JsonObject, name = ''): void {
    const isPing = keepsAlive.test(name) || (typeof value.type === 'string' && keepsAlive.test(value.type))
    if (name !== 'error' && this.#reader.readEvent(value, name)) {
      if (!isPing) this.#parts++
      return
    }
    // Some gateways wrap a response in an envelope.
    if (isJsonObject(value.data) && this.#reader.readEvent(value.data, name)) {
      this.#parts++
      return
    }
    if (name === 'error' || isError(value)) throw providerError({ body: value }, this.#reader.context())
    if (!isPing) this.#keep(JSON.stringify(value))
  }

  #readWhole(bytes: Buffer): void {
    const text = bytes.toString().replace(/^\ufeff/, '')
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (cause) {
      this.#readLines(text, cause)
      return
    }
    if (this.#reader.readWhole(value)) return
    if (isJsonObject(value) && isJsonObject(value.data) && this.#reader.readWhole(value.data)) return
    const body = Array.isArray(value) ? value[0] : value
    if (isJsonObject(body) && tellsError(body)) throw providerError({ body }, this.#reader.context())
    throw this.#bad('a response', text.slice(0, 200), false)
  }

  /** Reads a body whose lines may each be a JSON value. */
  #readLines(text: string, cause: unknown): void {
    if (text.trimStart().startsWith('{')) {
      const lines = this.#newStream()
      lines.push(Buffer.from(text))
      lines.end()
      if (this.#reader.hasFinished) return
    }
    throw this.failure() ?? this.#unreadable(text, cause)
  }

  #keep(text: string): void {
    if (text.trim() === '' || this.#strayLength > mostStray) return
    this.#stray.push(text.slice(0, mostStray))
    this.#strayLength += text.length
  }

  /** Creates the error for text that was sent instead of JSON. */
  #unreadable(text: string, cause?: unknown): Error {
    const error = providerError({ body: text }, this.#reader.context())
    if (error.code !== 'provider_error') return error
    const isPage = text.trimStart().startsWith('<')
    const title = /<title[^<>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim()
    const got = isPage
      ? `a page of HTML${title ? ` titled "${title}"` : ''}; is the base URL right?`
      : `a text that is not JSON: ${text.slice(0, 200)}`
    return this.#bad('a response', got, !isPage, cause)
  }

  #bad(expected: string, got: string, retryable: boolean, cause?: unknown): Error {
    return responseError('bad_response', expected, got, this.#reader.context(), { retryable, ...withoutUndefined({ cause }) })
  }
}

/**
 * Receives the events of a stream.
 *
 * Contract: callbacks are called synchronously. If a callback throws, reading ends with its error.
 */
export interface EventStreamListener {
  onEvent(event: EventSourceMessage): void
  /** Called for a comment, which servers send to keep a connection alive. */
  onComment?(): void
  /** Called for a line that is not a field of the format. */
  onStray?(line: string): void
}

/** Maximum length of an event, in characters. */
const longestEvent = 64 * 2 ** 20
/**
 * Maximum number of characters that are passed to the parser at once. If lines end with CR, the parser's cost grows with the square of this
 * number.
 */
const pieceLength = 2 ** 16

/**
 * Reads server-sent events from bytes, which may be split anywhere. `end` delivers the last event even if no blank line follows it. Format:
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
