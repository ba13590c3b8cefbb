/** Any value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
/** A plain JSON object. */
export type JsonObject = { [key: string]: Json }

/** A text in the content of a message. */
export interface TextPart {
  type: 'text'
  text: string
}

/** An image: by URL (`https:` or `data:`), or as base64 `data` with its media type. */
export type ImagePart = { type: 'image'; url: string; mediaType?: string } | { type: 'image'; data: string; mediaType: string }

/** A document: by URL (`https:` or `data:`), or as base64 `data` with its media type. */
export type FilePart =
  | { type: 'file'; url: string; mediaType?: string; name?: string }
  | { type: 'file'; data: string; mediaType: string; name?: string }

/** One part of a message's content. */
export type ContentPart = TextPart | ImagePart | FilePart
/** The content of a message or a result: a text, or texts, images and files in order. */
export type Content = string | ContentPart[]

/**
 * Data that a provider attached to a message and wants back unchanged, such as thought signatures, `reasoning_content` or thinking blocks.
 * Only the driver that created the data understands it. The data is sent back only to the same `provider`.
 */
export interface ProviderData {
  provider: string
  data: JsonObject
}

/** A tool call in wire form: `arguments` is the model's JSON text, unparsed. */
export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** A tool call in the form that agents use: its arguments are parsed. */
export interface ParsedToolCall {
  id: string
  name: string
  arguments: JsonObject
}

/** A system message, a user's message, or a model's message without tool calls. */
export type StandardChatMessage =
  | { role: 'system'; content: string; name?: string; providerData?: ProviderData }
  /** `id`: the application's own id for the message. It is stored, but never sent to a model. */
  | { role: 'user'; content: Content; id?: string; name?: string; providerData?: ProviderData }
  | { role: 'assistant'; content: string; name?: string; providerData?: ProviderData }

/** A model's message that calls tools. */
export interface AssistantToolCallMessage {
  role: 'assistant'
  /** The text that the model wrote along with its calls. `''` if it wrote no text. */
  content: string
  toolCalls: ToolCall[]
  name?: string
  providerData?: ProviderData
}

/** The idempotency key of a call that may have taken effect. Later calls to the same tool with the same arguments reuse this key. */
export interface CallKey {
  idempotencyKey: string
  /** A digest of the tool's name and the arguments. */
  call: string
  /** True if a call with this key has succeeded. Later calls then get a new key. */
  settled?: true
}

/** The result of a call, as the model gets it. */
export interface ToolResultMessage {
  role: 'tool'
  content: Content
  toolCallId: string
  /** The tool's name. */
  name?: string
  /** True if the content describes a failure. Drivers send this flag if the API has a field for it. */
  isError?: boolean
  /** Never sent to models. Later runs of the session read it. It is ignored in `messages` that a caller passes. */
  callKey?: CallKey
  providerData?: ProviderData
}

/** One message of a conversation, as plain JSON. */
export type ChatMessage = StandardChatMessage | AssistantToolCallMessage | ToolResultMessage

/** A model's message, with calls or without. */
export type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>

/** Another name for `ToolResultMessage`. */
export type ToolMessage = ToolResultMessage

/**
 * Why a response ended. `'tool_calls'`: the response has complete calls. `'length'`: a limit cut it off. `'content_filter'`: the provider's
 * filter stopped it. `'refusal'`: the model declined to answer. `'error'`: the provider ended it with an error.
 */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'refusal' | 'error'

/**
 * A model's reply with parsed calls, as `ToolAgent.generate()` returns it. `toolCalls` is `[]` if there are no calls. The reply can be
 * passed as a message of any conversation.
 */
export interface AIMessage {
  role: 'assistant'
  content: string
  toolCalls: ParsedToolCall[]
  finishReason: FinishReason
  /** Estimated if the provider reports no usage. */
  usage?: Usage
  providerData?: ProviderData
}

/**
 * The tokens of one or several model requests. `inputTokens` counts everything read, cached or not; `outputTokens` counts everything
 * written.
 */
export interface Usage {
  inputTokens: number
  outputTokens: number
  /** The sum of `inputTokens` and `outputTokens`. */
  totalTokens: number
  /** The part of `outputTokens` spent on reasoning. */
  reasoningTokens?: number
  /** The part of `inputTokens` read from the provider's prompt cache. */
  cacheReadTokens?: number
  /** The part of `inputTokens` written to the provider's prompt cache. */
  cacheWriteTokens?: number
  /** US dollars. Present if the provider reports a cost or the model has a price. */
  costUsd?: number
}

/** Whether a message calls tools. */
export function hasToolCalls(message: ChatMessage): message is AssistantToolCallMessage {
  return message.role === 'assistant' && 'toolCalls' in message && Array.isArray(message.toolCalls) && message.toolCalls.length > 0
}

/** Whether a message is the result of a call. */
export function isToolResult(message: ChatMessage): message is ToolResultMessage {
  return message.role === 'tool'
}

/** Creates the message that answers a call. All tool messages are created here. */
export function toolMessage(call: { id: string; name: string }, content: Content, ok: boolean): ToolResultMessage {
  return { role: 'tool', content, toolCallId: call.id, name: call.name, ...(ok ? {} : { isError: true }) }
}

/**
 * Converts a tool's name to a name that every provider accepts. This is needed if the model called a tool that does not exist: it can make
 * up any name.
 */
export function legalName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
}

/** Freezes plain data at any depth, so that it can be shared. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  if (Array.isArray(value)) for (const item of value) deepFreeze(item)
  // A `for` loop is faster than `Object.values`, and every message of every run passes through here.
  else for (const key in value) deepFreeze(value[key])
  return value
}

/** Returns the text of a message's content, without images and files. */
export function textOf(content: Content): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const part of content) if (part.type === 'text') text += part.text
  return text
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Copies plain JSON. `structuredClone` takes ten times as long as this function for a short message. */
export function copyJson<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyJson) as T
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) setField(copy, key, copyJson(item))
  return copy as T
}

/**
 * Removes fields that are undefined. Used for objects that are shown, stored or compared. Also used to keep undefined fields from
 * overriding defaults: `{ ...defaults, ...withoutUndefined({ model }) }`.
 */
export function withoutUndefined<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const defined: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) setField(defined, name, value)
  return defined as never
}

/** Sets a field. `__proto__` becomes an ordinary field, as in JSON. Assigning it would set the prototype instead. */
export function setField(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  else object[key] = value
}

/**
 * Replaces lone surrogates with U+FFFD in all texts of plain JSON, field names included. Returns the value itself if it has no lone
 * surrogates. A lone surrogate is half a character. Providers refuse a request that contains one, so the conversation could never be
 * continued.
 */
export function wellFormed<T>(value: T): T {
  return isWellFormed(value) ? value : (replaced(value) as T)
}

/** Checks the value without copying it, because every request is checked and few have lone surrogates. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  const fields = value as Record<string, unknown>
  for (const name in fields) if (!name.isWellFormed() || !isWellFormed(fields[name])) return false
  return true
}

function replaced(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(replaced)
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) setField(copy, key.toWellFormed(), replaced(item))
  return copy
}

export function storedText(value: unknown): string {
  return wellFormedJson(JSON.stringify(value))
}

/** Matches any escape in a JSON text. A pair of surrogates counts as one escape. */
const escapes = /\\(?:u(?:d[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|(?<lone>d[89a-f][\da-f]{2}))|.)/gis

/** Replaces lone surrogates in a JSON text, escaped ones included. The text may be invalid JSON. */
export function wellFormedJson(json: string): string {
  const text = json.toWellFormed()
  if (!/\\ud/i.test(text)) return text
  return text.replace(escapes, (written, lone: string | undefined) => (lone === undefined ? written : '\\ufffd'))
}

/** Messages that were checked, copied and frozen. This is a `WeakSet`, because V8 is slow to free the values of a long-lived `WeakMap`. */
const checked = new WeakSet<object>()

/**
 * Freezes a message that is known to be valid, and marks the message so that it is not checked or copied again. Every message of a
 * conversation passes through here. A message with lone surrogates is copied without them.
 */
export function asChecked<Message extends ChatMessage>(message: Message): Message {
  if (checked.has(message)) return message
  const kept = deepFreeze(withWholeCharacters(message))
  checked.add(kept)
  return kept
}

/** Whether a message was checked. */
export function isChecked(message: unknown): message is ChatMessage {
  return typeof message === 'object' && message !== null && checked.has(message)
}

export function areChecked(messages: unknown): messages is readonly ChatMessage[] {
  if (!Array.isArray(messages)) return false
  // `every` is not used, because it skips the holes of a sparse array.
  for (const message of messages) if (!isChecked(message)) return false
  return true
}

function withWholeCharacters<Message extends ChatMessage>(message: Message): Message {
  const whole = wellFormed(message)
  if (!hasToolCalls(whole)) return whole
  const toolCalls = whole.toolCalls.map(withWholeArguments)
  return toolCalls.every((call, at) => call === whole.toolCalls[at]) ? whole : { ...whole, toolCalls }
}

/** Returns the call itself if its arguments have no lone surrogates, escaped ones included. Otherwise returns a copy without them. */
export function withWholeArguments<Call extends ToolCall>(call: Call): Call {
  const json = wellFormedJson(call.function.arguments)
  return json === call.function.arguments ? call : { ...call, function: { ...call.function, arguments: json } }
}

const optionalCounts = ['reasoningTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] as const

export function addUsage(a: Usage, b: Usage | undefined): Usage {
  if (b === undefined) return a
  const sum: Usage = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
  }
  for (const key of optionalCounts) if (a[key] !== undefined || b[key] !== undefined) sum[key] = (a[key] ?? 0) + (b[key] ?? 0)
  return sum
}

export const noUsage: Usage = Object.freeze({ inputTokens: 0, outputTokens: 0, totalTokens: 0 })
