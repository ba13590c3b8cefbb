import { syncText } from '../../core/callbacks/callbacks.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import type { ModelRequest, ModelResponse, ModelSink, ToolChoice } from '../../models/chat-model.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { callNothingText, mustCallText, oneCallText } from '../run-texts.ts'
import type { CallForm, CallSettings } from './mode.ts'
import { findQuoted, type QuoteTerms } from './quoted-calls.ts'
import type { ReadResponse } from './read-call.ts'
import { TextHistory } from './text-history.ts'
import { TextReading } from './text-reading.ts'

/** A request as it is sent, with the functions that read its response. */
export interface TextExchange {
  readonly request: ModelRequest
  readonly sink: ModelSink | undefined
  finish(response: ModelResponse): ReadResponse
  /** Returns the part of `text` to keep if the response breaks off after `text`. */
  partOf(text: string): string
}

export interface TextCallOptions extends Pick<CallSettings, 'fencedTags'> {
  /** What happens to a call that can't be read. `'text'`: it is shown as text. Default `'call'`: it is refused, and the model is told. */
  unreadable?: 'call' | 'text'
}

/**
 * Translates between a dialect and the loop, which sees ordinary calls. Each run or agent has its own instance, because an instance caches
 * the calls that it has written.
 */
export class TextCalls {
  /** Whether the request has native tools in addition to text calls. */
  readonly #native: boolean
  readonly #reads: boolean
  readonly #dialect: Dialect | undefined
  readonly #options: Required<TextCallOptions>
  readonly #history: TextHistory | undefined
  #prompt: { tools: readonly ToolDefinition[]; text: string } | undefined

  /** `dialect`: how calls are written in the model's text. */
  constructor(form: CallForm, dialect: Dialect | undefined, { fencedTags = 'text', unreadable = 'call' }: TextCallOptions) {
    this.#native = form.native
    this.#reads = form.native || form.reads
    this.#dialect = dialect
    this.#options = { fencedTags, unreadable }
    this.#history = form.native || this.#dialect === undefined ? undefined : new TextHistory(this.#dialect)
  }

  /** Prepares a request for sending. Undefined if the request is sent unchanged and its response is not parsed. */
  open(request: ModelRequest, live: ModelSink | undefined): TextExchange | undefined {
    const { tools = [] } = request
    const dialect = this.#dialect
    if (dialect === undefined || (this.#native && tools.length === 0)) return undefined
    const written = this.#native ? request : this.#write(request, tools, dialect)
    if (tools.length === 0 || !this.#reads) return { request: written, sink: live, finish: (response) => response, partOf: (text) => text }
    const { fencedTags, unreadable } = this.#options
    const reading = new TextReading({ fencedTags, unreadable, dialect, tools, besideNative: this.#native }, live)
    return {
      request: written,
      sink: reading.sink,
      finish: (response) => this.#withQuoted(response, reading.finish(response), { messages: request.messages, tools, dialect }),
      partOf: (text) => reading.partOf(text),
    }
  }

  /** Marks calls that are only quoted. With `unreadable: 'text'`, quoted calls become text instead. */
  #withQuoted(response: ModelResponse, read: ReadResponse, terms: QuoteTerms): ReadResponse {
    if (read === response || read.toolCalls.length === 0) return read
    const quoted = findQuoted(read.toolCalls, terms)
    if (quoted.size === 0) return read
    if (this.#options.unreadable === 'call')
      return { ...read, toolCalls: read.toolCalls.map((call) => (quoted.has(call) ? { ...call, isQuoted: true } : call)) }
    const toolCalls = read.toolCalls.filter((call) => !quoted.has(call))
    return toolCalls.length === 0 ? { ...read, text: response.text, toolCalls } : { ...read, toolCalls }
  }

  /** Rewrites the request for text calls: a prompt describes the tools, and earlier calls and results are written in the dialect. */
  #write(request: ModelRequest, tools: readonly ToolDefinition[], dialect: Dialect): ModelRequest {
    const { tools: _t, searchable: _s, toolChoice = 'auto', parallelToolCalls, messages, ...rest } = request
    const parts = tools.length === 0 ? [] : this.#promptFor(tools, dialect, toolChoice, parallelToolCalls)
    return { ...rest, messages: this.#history?.write(messages, parts.join('\n\n')) ?? messages }
  }

  #promptFor(tools: readonly ToolDefinition[], dialect: Dialect, choice: ToolChoice, parallel: boolean | undefined): string[] {
    if (choice === 'none') return [callNothingText]
    if (this.#prompt?.tools !== tools) this.#prompt = { tools, text: syncText('prompt', dialect.prompt(tools)) }
    const parts = [this.#prompt.text]
    if (choice === 'required') parts.push(mustCallText())
    else if (choice !== 'auto') parts.push(mustCallText(choice.function.name))
    if (parallel === false) parts.push(oneCallText)
    return parts
  }
}
