import { jsonIn } from '../../core/json.ts'
import { type ChatMessage, hasToolCalls, isToolResult, type ToolCall, textOf } from '../../core/messages.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import { DialectParser } from '../../dialects/reader/parser.ts'
import { ToolNames } from '../../tools/call/written-name.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { isQuotedText } from '../told.ts'
import type { ReadCall } from './read-call.ts'

/** A call as it is compared: two that differ in spelling alone are the same. */
interface Compared {
  name: string
  args: string
}

export interface QuoteTerms {
  /** What the model was sent: it can quote nothing else. */
  messages: readonly ChatMessage[]
  tools: readonly ToolDefinition[]
  dialect: Dialect
}

/**
 * The calls that stand in a text the model was given: in a result, a user's message, or an answer of its own. A model that writes such a call may
 * only quote it. Calls that it has made since, and what those returned, don't count: it may make them again. `system` messages are the program's.
 */
export function findQuoted(calls: readonly ReadCall[], { messages, tools, dialect }: QuoteTerms): Set<ReadCall> {
  const names = new ToolNames(tools.map(({ function: { name } }) => name))
  const comparedOf = (name: string, args: unknown): Compared => ({ name: names.meantBy(name) ?? name, args: plain(sorted(args)) })
  const comparedCall = ({ function: { name, arguments: json } }: ToolCall) => comparedOf(name, jsonIn(json))
  const sources = messages.map((message) => (message.role === 'system' ? '' : plainOf(message)))

  const isQuoted = (call: ReadCall): boolean => {
    if (call.written === undefined || call.unreadable !== undefined) return false
    const meant = comparedCall(call)
    const isSame = (other: Compared) => other.name === meant.name && other.args === meant.args
    const own = lastOwn(messages, (made) => isSame(comparedCall(made)))
    const [written, name] = [plain(call.written), plain(meant.name)]
    return messages.some((message, at) => {
      const source = sources[at] ?? ''
      if (at <= own.at || source === '' || (isToolResult(message) && own.ids.has(message.toolCallId))) return false
      if (written !== '' && source.includes(written)) return true
      if (!source.includes(name)) return false
      return callsOf(message, dialect, tools).some((found) => isSame(comparedOf(found.name, found.arguments)))
    })
  }
  return new Set(calls.filter(isQuoted))
}

/** Where the model last made the call itself, but for calls that were only quoted, and under which ids. */
function lastOwn(messages: readonly ChatMessage[], isSame: (call: ToolCall) => boolean): { at: number; ids: ReadonlySet<string> } {
  const quoted = new Set(
    messages.flatMap((message) => (isToolResult(message) && isQuotedText(textOf(message.content)) ? [message.toolCallId] : [])),
  )
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]
    if (message === undefined || !hasToolCalls(message)) continue
    const made = message.toolCalls.filter((call) => !quoted.has(call.id) && isSame(call))
    if (made.length > 0) return { at, ids: new Set(made.map(({ id }) => id)) }
  }
  return { at: -1, ids: new Set() }
}

interface FoundCalls {
  dialect: Dialect
  tools: readonly ToolDefinition[]
  calls: readonly { name: string; arguments: unknown }[]
}

const foundCalls = new WeakMap<ChatMessage, FoundCalls>()

/** The calls in its text, as the dialect reads them. Messages don't change, and a conversation is looked at again with each call. */
function callsOf(message: ChatMessage, dialect: Dialect, tools: readonly ToolDefinition[]): FoundCalls['calls'] {
  const known = foundCalls.get(message)
  if (known?.dialect === dialect && known.tools === tools) return known.calls
  const calls: { name: string; arguments: unknown }[] = []
  const nothing = () => {}
  const sink = { text: nothing, reject: nothing, call: (call: (typeof calls)[number]) => void calls.push(call) }
  const parser = new DialectParser(dialect, sink, { tools, fencedTags: 'run' })
  // Code fences and quotes only say how it is quoted.
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

/** Its text, and that of the files in it. */
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

/** Text without what differs between a call and its quotation: letter case, blanks, quotes, and how characters are escaped. */
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

/** Text with the escapes of HTML, JSON and URLs read, also doubly. */
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

/** JSON whose keys are in order. */
function sorted(value: unknown): string {
  const inOrder = (_: string, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  return JSON.stringify(value, inOrder) ?? ''
}
