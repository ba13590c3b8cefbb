import { withoutUndefined } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { Dialect, TextToolSink } from '../../dialects/dialect.ts'
import { DialectParser, type ParserOptions } from '../../dialects/reader/parser.ts'
import { divideThinking } from '../../dialects/reader/thinking.ts'
import { type ModelResponse, type ModelSink, withoutDeclinedCalls } from '../../models/chat-model.ts'
import type { ReadCall, ReadResponse } from './read-call.ts'
import { unreadableCall } from './text-history.ts'

/** A part of the response that is not text: a call, or markup without a meaning. */
interface Markup {
  from: number
  to: number
  call?: ReadCall
}

export interface ReadingOptions extends ParserOptions {
  dialect: Dialect
  /**
   * Whether the request also offered native calls. If so, text calls count only if the response has no native calls, and are held back
   * until the response has ended.
   */
  besideNative: boolean
  /** What happens to a call that can't be read. */
  unreadable: 'call' | 'text'
}

/**
 * Finds the calls in the text of one response. Text goes to `live` as it arrives, up to the first call. After the first call, each call
 * keeps the text that follows it.
 */
export class TextReading {
  readonly #options: ReadingOptions
  readonly #live: ModelSink | undefined
  #markup: Markup[] = []
  readonly #hints: Hints | undefined
  /** The text that arrived before the parser was created. */
  #passed = new TextBuffer()
  /** The parser is created at the first character that may begin a call, because most responses have no such character. */
  #parser: DialectParser | undefined
  /** The number of characters that have arrived, and the number of characters that the parser has read. */
  #fed = 0
  #read = 0
  /** The number of shown characters: `shownTo` counts the markup between them, `shown` does not. */
  #shownTo = 0
  #shown = 0
  #holds = false

  constructor(options: ReadingOptions, live: ModelSink | undefined) {
    this.#options = options
    this.#live = live
    this.#hints = hintsOf(options.dialect)
  }

  /** The sink for the model. Undefined if nobody listens. */
  get sink(): ModelSink | undefined {
    const live = this.#live
    if (live?.text === undefined) return live
    const restart = (retries?: boolean) => live.restart?.(retries) === true && this.#restart()
    return { ...live, text: (delta) => this.#feed(delta), ...withoutUndefined({ restart: live.restart && restart }) }
  }

  /** Discards everything read so far, because the response is sent again from its beginning. */
  #restart(): true {
    this.#markup = []
    this.#passed = new TextBuffer()
    this.#parser = undefined
    this.#fed = 0
    this.#read = 0
    this.#shownTo = 0
    this.#shown = 0
    this.#holds = false
    return true
  }

  /**
   * Returns a new reading if `text` is shorter than the text that has arrived. The removed part was thinking, which the parser has already
   * read.
   */
  #again(text: string): TextReading | undefined {
    if (this.#fed <= text.length) return undefined
    const { text: _, ...calls } = this.#live ?? {}
    return new TextReading(this.#options, calls)
  }

  /** Returns the response with the calls found in its text, and the text without their markup. */
  finish(response: ModelResponse): ReadResponse {
    const { text, finishReason, toolCalls } = response
    const again = this.#again(text)
    if (again !== undefined) return again.finish(response)
    if (this.#parser === undefined && this.#hints?.opener.test(text) === false) return response
    this.#feed(text.slice(this.#fed))
    const isCut = finishReason === 'length' || finishReason === 'content_filter' || finishReason === 'refusal'
    this.#parser?.end(isCut ? 'length' : 'stop')
    if (toolCalls.length > 0) {
      // Native calls take precedence: text that looked like calls is shown as text.
      if (this.#shownTo < text.length) this.#live?.text?.(text.slice(this.#shownTo))
      return response
    }
    const { before, whole, calls: found } = this.#divide(text)
    const read = withoutDeclinedCalls({ ...response, text: whole, toolCalls: found })
    const calls = read.toolCalls
    // Text after a call is shown when the call has ended. Without calls, the whole text is shown now.
    const shown = calls.length === 0 ? whole : before
    if (shown.length > this.#shown) this.#live?.text?.(shown.slice(this.#shown))
    calls.forEach(({ function: { name, arguments: json } }, index) => {
      this.#live?.toolCallStart?.(index, '', name)
      this.#live?.toolCallDelta?.(index, json)
    })
    // The whitespace before a call is not part of the text.
    return calls.length === 0 ? read : { ...read, text: whole.trimEnd() }
  }

  /**
   * Returns the part of `text` to keep if the response breaks off after `text`: everything before the first call or the start of a possible
   * call.
   */
  partOf(text: string): string {
    const again = this.#again(text)
    if (again !== undefined) return again.partOf(text)
    this.#feed(text.slice(this.#fed))
    return this.#parser === undefined ? text : this.#divide(text.slice(0, this.#read)).before
  }

  #feed(delta: string): void {
    if (delta === '') return
    this.#fed += delta.length
    if (this.#parser === undefined) {
      if (this.#hints?.start.test(delta) === false) {
        this.#passed.add(delta)
        this.#show(delta)
        this.#shownTo = this.#fed
        return
      }
      this.#parser = this.#open()
      // The parser also needs the earlier text, because a call in a code fence does not count.
      this.#parser.push(this.#passed.toString())
    }
    this.#parser.push(delta)
  }

  #open(): DialectParser {
    const { dialect, besideNative, unreadable, ...options } = this.#options
    const sink: TextToolSink = {
      text: (text) => this.#addText(text),
      call: ({ name, arguments: args, repairs }, raw) =>
        this.#addCall(raw, {
          ...writtenCall(name, JSON.stringify(args)),
          ...(repairs === undefined || repairs.length === 0 ? {} : { repairs }),
        }),
      reject: (raw, reason) => {
        if (unreadable === 'text') this.#addText(raw)
        else this.#addCall(raw, { ...writtenCall(unreadableCall, raw), unreadable: reason })
      },
      skipped: (raw) => {
        // The text after this markup is held back, because the markup counts as text if the response has native calls.
        if (besideNative) this.#holds = true
        this.#add(raw)
      },
    }
    return new DialectParser(dialect, sink, options)
  }

  #addText(text: string): void {
    const from = this.#read
    this.#read += text.length
    if (this.#holds || this.#read <= this.#shownTo) return
    this.#show(from < this.#shownTo ? text.slice(this.#shownTo - from) : text)
    this.#shownTo = this.#read
  }

  #show(text: string): void {
    this.#shown += text.length
    this.#live?.text?.(text)
  }

  #addCall(raw: string, call: ReadCall): void {
    this.#holds = true
    this.#add(raw, call)
  }

  #add(raw: string, call?: ReadCall): void {
    const from = this.#read
    this.#read += raw.length
    // Calls may share an envelope. Only the first call gets its raw text from the parser, so the others get the same text here.
    const written = raw === '' ? (this.#markup.at(-1)?.call?.written ?? '') : raw
    this.#markup.push({ from, to: this.#read, ...withoutUndefined({ call: call && { ...call, written } }) })
  }

  /**
   * Divides a response. `before`: the text before the first call. `whole`: the whole text without calls. `calls`: the calls, each with the
   * text after it.
   */
  #divide(text: string): { before: string; whole: string; calls: ReadCall[] } {
    const calls: ReadCall[] = []
    let before = ''
    let whole = ''
    let at = 0
    let after = ''
    const endCall = () => {
      const call = calls.at(-1)
      // Whitespace between calls is not text.
      if (call !== undefined && after.trim() !== '') call.textAfter = after
      after = ''
    }
    // A call in the middle of thinking does not count. If the prompt opened the thinking, only the end tag shows that the text before it is
    // thinking.
    const thought = this.#markup.some(({ call }) => call !== undefined) ? divideThinking(text, false, true).prefix.length : 0
    const found = this.#markup.filter(({ from }) => from >= thought)
    for (const { from, to, call } of [...found, { from: text.length, to: text.length, call: undefined }]) {
      const piece = text.slice(at, from)
      whole += piece
      if (calls.length === 0) before += piece
      else after += piece
      at = to
      if (call === undefined) continue
      endCall()
      calls.push({ ...call })
    }
    endCall()
    return { before, whole, calls }
  }
}

/** Patterns for a quick check whether a text can contain a call. */
interface Hints {
  start: RegExp
  opener: RegExp
}

const hints = new WeakMap<Dialect, Hints>()

/** Returns the patterns of a dialect. Undefined for a dialect whose calls may begin without a marker. */
function hintsOf(dialect: Dialect): Hints | undefined {
  if (dialect.bare !== undefined) return undefined
  const known = hints.get(dialect)
  if (known !== undefined) return known
  const openers = dialect.envelopes.flatMap(({ open }) => open).map((marker) => marker.replace(/[\\^$.*+?()[\]{}|-]/g, '\\$&'))
  if (dialect.nameTag !== undefined) openers.push('<[^<>\\s]+>')
  const starts = openers.map((marker) => (marker.startsWith('\\') ? marker.slice(0, 2) : marker.slice(0, 1)))
  const made: Hints = { start: new RegExp(`[${[...new Set(starts)].join('')}]`), opener: new RegExp(openers.join('|')) }
  hints.set(dialect, made)
  return made
}

/** A call without an id. The history assigns the id. */
function writtenCall(name: string, json: string): ReadCall {
  return { id: '', type: 'function', function: { name, arguments: json }, asText: true }
}
