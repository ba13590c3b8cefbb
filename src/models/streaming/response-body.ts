import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { keepShape } from '../../core/v8/keep-shape.ts'
import { type ErrorContext, responseError } from '../transport/provider-error.ts'
import { JsonTemplate, type TextPlace } from './json-template.ts'

/** Puts a response together from what its body holds. Its methods may throw, which ends the request with that error. */
export interface ResponseReader {
  /** Nothing more is needed: what marks the end of a response has come. */
  readonly isDone: boolean
  /** What has come is a whole response. */
  readonly hasFinished: boolean
  /** Where the text stands that differs from event to event, and hardly anything else does. Absent: each has another form. */
  readonly pieceOf?: (event: JsonObject) => TextPlace | undefined
  /** The event's objects may be used again for the next one. */
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
/** So many events are parsed whole before their form is learnt, which costs as much as two of them: a call with short arguments has no more. */
const warmUp = 8
/** Longest body, in bytes once decompressed: a small one can be compressed from far more than there is memory. */
const mostBytes = 256 * 2 ** 20

/**
 * Feeds a body to its reader as what it is, server-sent events or one JSON value, whatever was asked for and whatever its content type
 * says: its first character tells. Anything else, such as a page of HTML, is a `bad_response`.
 */
export class ResponseBody {
  readonly #reader: ResponseReader
  #template: JsonTemplate | undefined
  readonly #onEvent = (data: string, name?: string): void => this.#readEvent(data, name)
  #events: SseDecoder | undefined
  #parsed = 0
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
    if (this.#events !== undefined) this.#events.push(bytes, this.#onEvent)
    else if (this.#whole !== undefined) this.#whole.push(bytes)
    else this.#decide(bytes)
    return this.#reader.isDone
  }

  end(): void {
    if (this.#events !== undefined) this.#events.end(this.#onEvent)
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
    this.#events = new SseDecoder()
    for (const piece of start) this.#events.push(piece, this.#onEvent)
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
      event = this.#parse(data)
    } catch (cause) {
      throw this.#bad('events of JSON', `a data line that is not JSON: ${data.slice(0, 200)}`, true, cause)
    }
    if (!isJsonObject(event)) throw this.#bad('a JSON object', data.slice(0, 200), false)
    this.#reader.readEvent(event, name)
  }

  #parse(data: string): unknown {
    const { pieceOf } = this.#reader
    if (pieceOf === undefined || this.#parsed++ < warmUp) return JSON.parse(data)
    this.#template ??= new JsonTemplate(pieceOf)
    return this.#template.parse(data)
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

/** Told of one event: its `data` lines joined with `\n`, and its `event:` name if it has one. */
export type SseListener = (data: string, event?: string) => void

const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58
/** Bytes kept for an unfinished line beyond which they are given back after it. */
const keepAtMost = 1 << 20

/**
 * Server-sent events off a byte stream: bytes in, events out, synchronously. Cuts may fall anywhere, also inside a character.
 * Lines end with LF, CRLF or CR; comments, `id:` and `retry:` are skipped; a byte order mark is ignored; an event that lacks its
 * blank line is given out by `end`. Cost is linear in the bytes, however they are cut.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 *
 * Only whole lines are decoded, a network chunk's worth at once: decoding line by line costs three times as much.
 */
export class SseDecoder {
  /** The bytes of a line that has not ended yet. Grows by doubling: a long line in small pieces is copied about once. */
  #held: Buffer = Buffer.allocUnsafe(0)
  #heldLength = 0
  #data: string | undefined
  #event: string | undefined
  #skipLF = false
  #started = false

  push(bytes: Uint8Array, onData: SseListener): void {
    if (bytes.length === 0) return
    const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    // The LF of a CRLF whose CR was the last byte before.
    const start = this.#skipLF && chunk[0] === LF ? 1 : 0
    this.#skipLF = false
    const end = afterLastLine(chunk, start)
    if (end === start) {
      this.#hold(chunk, start)
      return
    }
    this.#skipLF = chunk[chunk.length - 1] === CR
    let text: string
    if (this.#heldLength === 0) text = chunk.toString('utf8', start, end)
    else {
      this.#hold(chunk.subarray(0, end), start)
      text = this.#takeHeld()
    }
    this.#lines(text, onData)
    this.#hold(chunk, end)
  }

  /** The stream is over: gives out what its last, unfinished line and event hold. */
  end(onData: SseListener): void {
    if (this.#heldLength > 0) this.#lines(`${this.#takeHeld()}\n`, onData)
    this.#dispatch(onData)
  }

  #hold(chunk: Buffer, start: number): void {
    if (start === chunk.length) return
    const length = this.#heldLength + chunk.length - start
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(1024, length, this.#held.length * 2))
      this.#held.copy(larger, 0, 0, this.#heldLength)
      this.#held = larger
    }
    if (chunk.length - start > 32) chunk.copy(this.#held, this.#heldLength, start)
    else for (let from = start, to = this.#heldLength; from < chunk.length; from++, to++) this.#held[to] = chunk[from] ?? 0
    this.#heldLength = length
  }

  #takeHeld(): string {
    const text = this.#held.toString('utf8', 0, this.#heldLength)
    this.#heldLength = 0
    if (this.#held.length > keepAtMost) this.#held = Buffer.allocUnsafe(0)
    return text
  }

  /** `text` is whole lines, each with its end. */
  #lines(text: string, onData: SseListener): void {
    let start = 0
    if (!this.#started) {
      this.#started = true
      if (text.charCodeAt(0) === 0xfeff) start = 1
    }
    // Each search goes on where its last hit was, so that the text is read once by either.
    let lf = text.indexOf('\n', start)
    let cr = text.indexOf('\r', start)
    while (lf !== -1 || cr !== -1) {
      // Nearly every event is one `data: ` line and a blank one.
      if (cr === -1 && text.charCodeAt(lf + 1) === LF && this.#data === undefined && text.startsWith('data: ', start)) {
        const event = this.#event
        this.#event = undefined
        onData(text.slice(start + 6, lf), event || undefined)
        start = lf + 2
        lf = text.indexOf('\n', start)
        continue
      }
      const isCR = cr !== -1 && (lf === -1 || cr < lf)
      const end = isCR ? cr : lf
      this.#line(text, start, end, onData)
      start = isCR && lf === end + 1 ? end + 2 : end + 1
      if (isCR) cr = text.indexOf('\r', start)
      if (lf !== -1 && lf < start) lf = text.indexOf('\n', start)
    }
  }

  #line(text: string, start: number, end: number, onData: SseListener): void {
    if (start === end) {
      this.#dispatch(onData)
      return
    }
    // A field without a colon has an empty value.
    if (text.startsWith('data', start) && (start + 4 === end || text.charCodeAt(start + 4) === COLON)) {
      const value = valueAt(text, start + 5, end)
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
    } else if (text.startsWith('event', start) && (start + 5 === end || text.charCodeAt(start + 5) === COLON)) {
      this.#event = valueAt(text, start + 6, end)
    }
  }

  #dispatch(onData: SseListener): void {
    const data = this.#data
    const event = this.#event
    this.#data = undefined
    this.#event = undefined
    // An empty name is no name.
    if (data !== undefined) onData(data, event || undefined)
  }
}

/** The position after the last line end from `start` on; `start` when there is none. By hand: the answer is nearly always close to the end. */
function afterLastLine(chunk: Buffer, start: number): number {
  for (let at = chunk.length - 1; at >= start; at--) {
    const byte = chunk[at]
    if (byte === LF || byte === CR) return at + 1
  }
  return start
}

/** One space after the colon is not part of the value. */
function valueAt(text: string, from: number, end: number): string {
  if (from >= end) return ''
  return text.slice(text.charCodeAt(from) === SPACE ? from + 1 : from, end)
}

keepShape(ResponseBody)
keepShape(SseDecoder)
