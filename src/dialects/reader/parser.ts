import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { show } from '../../core/errors.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { DeclaredTools } from '../declared-tools.ts'
import type {
  CallReading,
  Dialect,
  EndReason,
  Envelope,
  ReadBody,
  Reading,
  ReadingEnd,
  TextToolCall,
  TextToolSink,
  Wait,
} from '../dialect.ts'
import { Cursor } from './cursor.ts'
import { isControlToken } from './examples.ts'
import { bareStart, type Lookout, nothing, TextScanner } from './scanner.ts'
import { type Watch, watchFor } from './watch.ts'

/** The options of a parser for text calls. */
export interface ParserOptions {
  /**
   * The tools that were offered. A call without a marker counts only if it names one of these tools. The tools' schemas determine the types
   * of values that are written as text.
   */
  tools?: readonly ToolDefinition[]
  /** How to treat a call inside a code fence or backticks. Default: `'text'`. */
  fencedTags?: 'text' | 'run'
}

/**
 * Parses one response of a model as it arrives. The agent loop uses this class directly. Texts, calls and rejections are passed to `sink`
 * immediately and in order. Text outside calls is not delayed, and a call is reported by the `push` that completes it. `push` and `end`
 * never throw. The total time is linear in the length of the text, however the text is split.
 */
export class DialectParser {
  readonly #sink: TextToolSink
  readonly #watch: Watch
  readonly #cursor: Cursor = new Cursor()
  readonly #scanner: TextScanner
  readonly #context: ReadingContext
  readonly #fenced: boolean
  readonly #lookout: Lookout
  #reading: Reading | undefined
  #wait: Wait | undefined
  #thinking = false
  #dropping = false
  #over = false

  constructor(dialect: Dialect, sink: TextToolSink, options: ParserOptions = {}) {
    this.#sink = sink
    this.#fenced = options.fencedTags === 'run'
    const tools = new DeclaredTools(options.tools)
    this.#watch = watchFor(dialect, tools.names)
    this.#lookout = this.#watch.lookout(tools.names)
    this.#scanner = new TextScanner((text) => sink.text(text), this.#lookout)
    this.#context = new ReadingContext(this.#cursor, tools, sink, this.#scanner)
  }

  push(chunk: string): void {
    if (chunk === '' || this.#over) return
    this.#cursor.load(chunk)
    this.#run()
  }

  end(reason: EndReason = 'stop'): void {
    if (this.#over) return
    this.#over = true
    this.#context.cut = reason === 'length'
    this.#cursor.ended = true
    this.#run()
    this.#scanner.end()
  }

  #run(): void {
    const cursor = this.#cursor
    for (;;) {
      if (this.#reading !== undefined) {
        if (!this.#read(this.#reading)) return
      } else if (cursor.at >= cursor.chunk.length) {
        if (!cursor.advance()) return
      } else if (this.#dropping) {
        this.#sink.skipped?.(cursor.chunk.slice(cursor.at))
        cursor.at = cursor.chunk.length
      } else {
        const found = this.#scanner.scan(cursor)
        if (found === bareStart) this.#startBare()
        else if (found !== nothing) this.#startAt(found)
      }
    }
  }

  /** Continues a reading. Returns false if it needs characters that have not arrived. */
  #read(reading: Reading): boolean {
    const cursor = this.#cursor
    if (this.#wait !== undefined) {
      while (!this.#wait.feed(cursor)) if (!cursor.advance()) return false
      this.#wait = undefined
    }
    const step = reading.next()
    if (!step.done) this.#wait = step.value
    else if (typeof step.value === 'object') this.#reading = step.value
    else {
      this.#reading = undefined
      this.#context.close(step.value)
    }
    return true
  }

  #startReading({ read, inExample }: Envelope, opener: string): void {
    this.#scanner.rewindLine()
    this.#context.open(opener, this.#scanner.foundAtHead, inExample === true || isControlToken(opener) || this.#fenced)
    this.#reading = readingOf(read, this.#context)
  }

  #startBare(): void {
    const { cursor } = this.#context
    const read = this.#watch.bare.get(cursor.chunk.charCodeAt(cursor.at)) ?? this.#watch.bareName
    if (read === undefined) return
    this.#context.open('', this.#scanner.alone, this.#fenced)
    this.#reading = readingOf(read, this.#context)
  }

  #startAt(index: number): void {
    const scanner = this.#scanner
    const { marker, envelope, role } = this.#thinking ? this.#watch.thinkingAt(index) : this.#watch.at(index)
    const quoted = scanner.line.fence !== 0 || scanner.line.inCode
    const stands = envelope !== undefined && (scanner.foundAtHead || !envelope.lineStart) && (!quoted || envelope.inFence || this.#fenced)
    if (stands) {
      this.#startReading(envelope, marker)
      return
    }
    // Left-over closing tags and made-up results can only follow a call.
    if (this.#context.called && !quoted) {
      const result = role === 'result' || (role === 'result line' && scanner.foundAtHead)
      if (result || role === 'close') {
        this.#dropping = result
        this.#sink.skipped?.(marker)
        return
      }
    }
    scanner.pass(marker)
    if (role === 'think' && scanner.foundAtHead && scanner.line.fence === 0) this.#think(true)
    else if (role === 'think end') this.#think(false)
  }

  /** Switches between the model's thinking, in which calls are not searched for, and its answer. */
  #think(on: boolean): void {
    this.#thinking = on
    this.#scanner.watch(on ? this.#watch.thinkLookout : this.#lookout)
    if (!on) this.#scanner.reset()
  }
}

/** Checks a reading, because a custom dialect may return a value of any type. */
function readingOf(read: ReadBody, context: CallReading): Reading {
  const reading: Reading = syncAnswer('read', read(context))
  if (typeof reading?.next !== 'function') throw new TypeError(`Expected \`read\` to return a generator, got \`${show(reading)}\``)
  return reading
}

class ReadingContext implements CallReading {
  readonly cursor: Cursor
  readonly tools: DeclaredTools
  opener = ''
  alone = false
  cut = false
  called = false
  readonly #sink: TextToolSink
  readonly #scanner: TextScanner
  /** Whether the reading has reported a call or a rejection. */
  #hasRead = false
  /** Whether the call that is being read is only an example. Undefined until a call or a rejection has been found. */
  #example: boolean | undefined

  constructor(cursor: Cursor, tools: DeclaredTools, sink: TextToolSink, scanner: TextScanner) {
    this.cursor = cursor
    this.tools = tools
    this.#sink = sink
    this.#scanner = scanner
  }

  /** Starts a reading at `opener`. If `evenExamples` is true, calls are reported even if the text before them announces an example. */
  open(opener: string, alone: boolean, evenExamples: boolean): void {
    this.opener = opener
    this.alone = alone
    this.#hasRead = false
    this.#example = evenExamples ? false : undefined
    this.cursor.mark(opener)
  }

  call(call: TextToolCall): void {
    const raw = this.cursor.raw()
    this.cursor.mark()
    if (this.#passedExample(raw)) return
    this.called = true
    this.#scanner.passCall()
    this.#sink.call(call, raw)
  }

  reject(reason: string): void {
    const raw = this.cursor.raw()
    if (raw === '') return
    this.cursor.mark()
    if (this.#passedExample(raw)) return
    this.#scanner.passCall()
    this.#sink.reject(raw, reason)
  }

  /** If the text before the call announces an example, passes on the call as text and returns true. */
  #passedExample(raw: string): boolean {
    this.#hasRead = true
    this.#example ??= this.#scanner.announcesExample
    if (this.#example && raw !== '') this.#scanner.passExample(raw)
    return this.#example
  }

  close(verdict: ReadingEnd): void {
    // If a reading without a marker consumed nothing, skips one character. Otherwise the reading would start again at the same character.
    if (this.opener === '' && !this.#hasRead && this.cursor.raw() === '') this.cursor.at++
    const raw = this.cursor.raw()
    this.cursor.unmark()
    if (raw === '') return
    if (this.#example) this.#scanner.passExample(raw)
    else if (verdict === 'text') this.#scanner.passRead(raw, this.opener === '' && this.alone)
    else this.#sink.skipped?.(raw)
  }
}
