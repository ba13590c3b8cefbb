import { jsonIn } from '../../core/json.ts'
import { type ChatMessage, hasToolCalls, isToolResult, type ToolCall, textOf } from '../../core/messages.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import { DialectParser } from '../../dialects/reader/parser.ts'
import { ToolNames } from '../../tools/call/written-name.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { isQuotedText } from '../run-texts.ts'
import type { ReadCall } from './read-call.ts'

/**
 * The maximum number of characters to search for the calls of one response. Once it is reached, the remaining calls are treated as quoted.
 */
const mostSearched = 250_000_000

export interface QuoteTerms {
  /** The messages that were sent to the model. It can quote only from these messages. */
  messages: readonly ChatMessage[]
  tools: readonly ToolDefinition[]
  dialect: Dialect
}

/**
 * Finds the calls that also occur in a text that the model was given: a result, a user's message, or an answer of its own. A model that
 * writes such a call may only be quoting it. A model may repeat its own calls: if it has made the call before, only texts after that call
 * count, without the results of the call. `system` messages never count, because they come from the program.
 */
export function findQuoted(calls: readonly ReadCall[], terms: QuoteTerms): Set<ReadCall> {
  const read = calls.filter(({ written, unreadable }) => written !== undefined && unreadable === undefined)
  if (read.length === 0) return new Set()
  const quotes = new Quotes(read, terms)
  return new Set(read.filter((call) => quotes.has(call)))
}

/** The last message in which the model made a call, and the ids of the call in that message. */
interface OwnCalls {
  at: number
  ids: Set<string>
}

/** Searches the conversation for the calls of a response. Each text is searched once for all calls. */
class Quotes {
  readonly #messages: readonly ChatMessage[]
  readonly #sources: readonly string[]
  readonly #names: ToolNames
  /** Calls that the model has made itself, by call key. */
  readonly #own: ReadonlyMap<string, OwnCalls>
  /** The positions of the messages that contain a call, by call key. */
  readonly #found: ReadonlyMap<string, readonly number[]>
  readonly #known = new Map<string, boolean>()
  #left = mostSearched

  constructor(calls: readonly ReadCall[], { messages, tools, dialect }: QuoteTerms) {
    this.#messages = messages
    this.#names = new ToolNames(tools.map(({ function: { name } }) => name))
    this.#sources = messages.map((message) => (message.role === 'system' ? '' : plainOf(message)))
    this.#own = this.#ownCalls()
    const names = new Set(calls.map((call) => plain(this.#nameOf(call.function.name))))
    const found = new Map<string, number[]>()
    for (const [at, message] of messages.entries()) {
      if (![...names].some((name) => this.#holds(at, name))) continue
      for (const call of callsOf(message, dialect, tools)) {
        const key = this.#keyOf(
          call.name,
          plainArguments(call, () => call.arguments),
        )
        const places = found.get(key)
        if (places === undefined) found.set(key, [at])
        else if (places.at(-1) !== at) places.push(at)
      }
    }
    this.#found = found
  }

  has(call: ReadCall): boolean {
    const key = this.#keyOfCall(call)
    const written = plain(call.written ?? '')
    const both = `${key}\n${written}`
    const known = this.#known.get(both) ?? this.#isQuoted(key, written)
    this.#known.set(both, known)
    return known
  }

  #isQuoted(key: string, written: string): boolean {
    const own = this.#own.get(key)
    const counts = (at: number): boolean => {
      const message = this.#messages[at]
      if (own === undefined || message === undefined) return true
      return at > own.at && !(isToolResult(message) && own.ids.has(message.toolCallId))
    }
    if (this.#found.get(key)?.some(counts)) return true
    return written !== '' && this.#messages.some((_, at) => counts(at) && this.#holds(at, written))
  }

  /** Whether the message at position `at` contains `text`. The result is also true if the search limit is exceeded. */
  #holds(at: number, text: string): boolean {
    const source = this.#sources[at] ?? ''
    this.#left -= source.length
    return source !== '' && (this.#left < 0 || source.includes(text))
  }

  /** Collects the calls that the model has made itself. Skips calls that were refused as quoted. */
  #ownCalls(): Map<string, OwnCalls> {
    const quoted = new Set(
      this.#messages.flatMap((message) => (isToolResult(message) && isQuotedText(textOf(message.content)) ? [message.toolCallId] : [])),
    )
    const own = new Map<string, OwnCalls>()
    for (const [at, message] of this.#messages.entries()) {
      if (!hasToolCalls(message)) continue
      for (const call of message.toolCalls) {
        if (quoted.has(call.id)) continue
        const key = this.#keyOfCall(call)
        const known = own.get(key)
        if (known?.at === at) known.ids.add(call.id)
        else own.set(key, { at, ids: new Set([call.id]) })
      }
    }
    return own
  }

  /** A key that is the same for calls that differ only in spelling. */
  #keyOfCall(call: ToolCall): string {
    const { name, arguments: json } = call.function
    return this.#keyOf(
      name,
      plainArguments(call, () => jsonIn(json)),
    )
  }

  #keyOf(name: string, args: string): string {
    return `${this.#nameOf(name)}\n${args}`
  }

  #nameOf(name: string): string {
    return this.#names.meantBy(name) ?? name
  }
}

const argumentTexts = new WeakMap<object, string>()

/**
 * Returns a call's arguments in a form that can be compared. The form is cached, because the conversation is searched again for each
 * response.
 */
function plainArguments(call: object, read: () => unknown): string {
  const known = argumentTexts.get(call)
  if (known !== undefined) return known
  const text = plain(sorted(read()))
  argumentTexts.set(call, text)
  return text
}

interface FoundCalls {
  dialect: Dialect
  tools: readonly ToolDefinition[]
  calls: readonly { name: string; arguments: unknown }[]
}

const foundCalls = new WeakMap<ChatMessage, FoundCalls>()

/**
 * Returns the calls that the dialect finds in the text of a message. The calls are cached, because the conversation is searched again for
 * each response.
 */
function callsOf(message: ChatMessage, dialect: Dialect, tools: readonly ToolDefinition[]): FoundCalls['calls'] {
  const known = foundCalls.get(message)
  if (known?.dialect === dialect && known.tools === tools) return known.calls
  const calls: { name: string; arguments: unknown }[] = []
  const nothing = () => {}
  const sink = { text: nothing, reject: nothing, call: (call: (typeof calls)[number]) => void calls.push(call) }
  const parser = new DialectParser(dialect, sink, { tools, fencedTags: 'run' })
  // Removes backticks, so that the parser also finds calls in code fences.
  parser.push(decoded(wordsOf(message)).replaceAll('`', ''))
  parser.end('stop')
  foundCalls.set(message, { dialect, tools, calls })
  return calls
}

const plainTexts = new WeakMap<ChatMessage, string>()

function plainOf(message: ChatMessage): string {
  const known = plainTexts.get(message)
  if (known !== undefined) return known
  const text = plain(wordsOf(message))
  plainTexts.set(message, text)
  return text
}

/** The text of the message and of its text files. */
function wordsOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => {
      if (part.type === 'text') return part.text
      const isText = part.type === 'file' && 'data' in part && /^text\/|[/+](?:json|xml|yaml)\b/.test(part.mediaType)
      return isText ? Buffer.from(part.data, 'base64').toString() : ''
    })
    .join('\n')
}

/** Removes possible differences between a call and its quotation: letter case, whitespace, quotes and escapes. */
function plain(text: string): string {
  return withoutComments(decoded(text))
    .replace(/["'`]([\s+]+)["'`]/g, (found, between: string) => (between.includes('+') ? '' : found))
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s\p{Cf}"'`‘’“”\\]+/gu, '')
}

function withoutComments(text: string): string {
  let rest = ''
  for (let at = 0; ; ) {
    const start = text.indexOf('<!--', at)
    const end = start < 0 ? -1 : text.indexOf('-->', start + 4)
    if (end < 0) return rest + text.slice(at)
    rest += text.slice(at, start)
    at = end + 3
  }
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", lbrace: '{', rbrace: '}' }

/** Decodes the escapes of HTML, JSON and URLs, even if a text was escaped twice. */
function decoded(text: string): string {
  let read = text
  for (let times = 0; times < 2 && /[&\\%]/.test(read); times++) {
    read = read
      .replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,6}));/gi, (found, hex, decimal, name) =>
        name === undefined
          ? characterOf(Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16))
          : (entities[name.toLowerCase()] ?? found),
      )
      .replace(/\\(?:u([0-9a-f]{4})|x([0-9a-f]{2})|([nrt]))/gi, (_, long, short, blank) =>
        blank === undefined ? characterOf(Number.parseInt(long ?? short, 16)) : ' ',
      )
      .replace(/%([2-7][0-9a-f])/gi, (_, hex) => characterOf(Number.parseInt(hex, 16)))
  }
  return read
}

function characterOf(code: number): string {
  return code > 0x10_ff_ff ? '' : String.fromCodePoint(code)
}

/** The JSON of a value with its keys sorted. */
function sorted(value: unknown): string {
  const inOrder = (_: string, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  return JSON.stringify(value, inOrder) ?? ''
}
