/** Any value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
/** A plain JSON object. */
export type JsonObject = { [key: string]: Json }

/** A text among other parts. */
export interface TextPart {
  type: 'text'
  text: string
}

/** A picture: by URL (`https:` or `data:`), or as base64 `data` with its media type. */
export type ImagePart = { type: 'image'; url: string; mediaType?: string } | { type: 'image'; data: string; mediaType: string }

/** A document: by URL (`https:` or `data:`), or as base64 `data` with its media type. */
export type FilePart =
  | { type: 'file'; url: string; mediaType?: string; name?: string }
  | { type: 'file'; data: string; mediaType: string; name?: string }

/** One part of a message's content. */
export type ContentPart = TextPart | ImagePart | FilePart
/** What a message or a result holds: a text, or texts, images and files in order. */
export type Content = string | ContentPart[]

/**
 * What one provider attached to a message and wants back unchanged (thought signatures, `reasoning_content`, thinking blocks).
 * It is opaque to everything but the driver that wrote it: sent back to the same `provider`, dropped for every other.
 */
export interface ProviderData {
  provider: string
  data: JsonObject
}

/** A tool call as the wire has it: `arguments` is the model's JSON text, unparsed. */
export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** A tool call as agents see it: arguments parsed. */
export interface ParsedToolCall {
  id: string
  name: string
  arguments: JsonObject
}

/** A message of the system, of a user, or of a model without tool calls. */
export type StandardChatMessage =
  | { role: 'system'; content: string; name?: string; providerData?: ProviderData }
  /** `id`: what an application or a page calls the message. It is kept, and never sent to a model. */
  | { role: 'user'; content: Content; id?: string; name?: string; providerData?: ProviderData }
  | { role: 'assistant'; content: string; name?: string; providerData?: ProviderData }

/** A model's message that calls tools. */
export interface AssistantToolCallMessage {
  role: 'assistant'
  /** Text the model wrote beside its calls; `''` when none. */
  content: string
  toolCalls: ToolCall[]
  name?: string
  providerData?: ProviderData
}

/** The idempotency key of a call that may have taken effect: later calls of the same tool with the same arguments carry it. */
export interface CallKey {
  idempotencyKey: string
  /** Digest of tool and arguments. */
  call: string
  /** One of these calls has succeeded: later ones have keys of their own. */
  settled?: true
}

/** What a call came to, told to the model. */
export interface ToolResultMessage {
  role: 'tool'
  content: Content
  toolCallId: string
  /** The tool's name. */
  name?: string
  /** True when the content tells of a failure; drivers pass it on where the wire has a place for it. */
  isError?: boolean
  /** Not sent to models. The next runs of the session read it; in `messages` that are handed in, it has no effect. */
  callKey?: CallKey
  providerData?: ProviderData
}

/** One message of a conversation, as plain JSON. */
export type ChatMessage = StandardChatMessage | AssistantToolCallMessage | ToolResultMessage

/** A model's message, with calls or without. */
export type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>

/** The tool message `CustomAgent.run()` appends. */
export type ToolMessage = ToolResultMessage

/**
 * Why a response ended. `'tool_calls'`: it has complete calls; `'length'`: it was cut by a limit; `'content_filter'`: the provider's filter
 * stopped it; `'refusal'`: the model declined; `'error'`: the provider ended it with an error.
 */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'refusal' | 'error'

/**
 * What `ToolAgent.generate()` returns: one model reply, its calls parsed. `toolCalls` is `[]` when there are none. It can stand among the
 * messages of any conversation that is handed in.
 */
export interface AIMessage {
  role: 'assistant'
  content: string
  toolCalls: ParsedToolCall[]
  finishReason: FinishReason
  /** Estimated where the provider reports none. */
  usage?: Usage
  providerData?: ProviderData
}

/** Tokens of one or several model requests. `inputTokens` counts everything read, cached or not; `outputTokens` everything written. */
export interface Usage {
  inputTokens: number
  outputTokens: number
  /** inputTokens + outputTokens. */
  totalTokens: number
  /** The part of `outputTokens` spent on reasoning. */
  reasoningTokens?: number
  /** The part of `inputTokens` read from the provider's prompt cache. */
  cacheReadTokens?: number
  /** The part of `inputTokens` written to the provider's prompt cache. */
  cacheWriteTokens?: number
  /** US dollars, when the provider reports them or the model has a price. */
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

/** The message that answers a call: made here and nowhere else. */
export function toolMessage(call: { id: string; name: string }, content: Content, ok: boolean): ToolResultMessage {
  return { role: 'tool', content, toolCallId: call.id, name: call.name, ...(ok ? {} : { isError: true }) }
}

/** A tool's name as every provider takes it, also where the model called one that is not there. */
export function legalName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
}

/** Makes plain data unchangeable, so that it can be shared. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  if (Array.isArray(value)) for (const item of value) deepFreeze(item)
  // Not `Object.values`: every message of every run comes by here.
  else for (const key in value) deepFreeze(value[key])
  return value
}

/** The text of a message's content; parts that are not text are left out. */
export function textOf(content: Content): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const part of content) if (part.type === 'text') text += part.text
  return text
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A copy of plain JSON. A structured clone of a short message costs ten times as much. */
export function copyJson<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyJson) as T
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) setField(copy, key, copyJson(item))
  return copy as T
}

/**
 * The fields that are not undefined. For objects that are shown, stored or compared, where a field that is undefined would be seen, and for
 * fields that must not replace an earlier one with undefined: `{ ...defaults, ...withoutUndefined({ model }) }`.
 */
export function withoutUndefined<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}

/** Sets a field, also `__proto__`: in JSON it is a name like any other, and assigning it would be something else. */
export function setField(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  else object[key] = value
}

/**
 * Replaces lone surrogates in every text of plain JSON, field names included, with U+FFFD. Returns the value itself if it has none.
 * Providers refuse a request with half a character, and a conversation that holds one would be refused for good.
 */
export function wellFormed<T>(value: T): T {
  return isWellFormed(value) ? value : (replaced(value) as T)
}

/** Copies nothing: most requests have no lone surrogate, and all of them are looked through. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  for (const key in value) if (!key.isWellFormed() || !isWellFormed(Reflect.get(value, key))) return false
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

/** The text of a JSON value, as it is stored: without lone surrogates. */
export function storedText(value: unknown): string {
  return wellFormedJson(JSON.stringify(value))
}

/** Any escape in a JSON text. A whole pair of surrogates is one. */
const escapes = /\\(?:u(?:d[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|(?<lone>d[89a-f][\da-f]{2}))|.)/gis

/** Replaces the lone surrogates of a JSON text, also the escaped ones. The text need not be valid JSON. */
export function wellFormedJson(json: string): string {
  const text = json.toWellFormed()
  if (!/\\ud/i.test(text)) return text
  return text.replace(escapes, (written, lone: string | undefined) => (lone === undefined ? written : '\\ufffd'))
}

const optionalCounts = ['reasoningTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] as const

export function addUsage(a: Usage, b: Usage | undefined): Usage {
  if (b === undefined) return a
  const sum: Usage = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
  }
  for (const key of optionalCounts) {
    const [one, other] = [a[key], b[key]]
    if (one !== undefined || other !== undefined) sum[key] = (one ?? 0) + (other ?? 0)
  }
  return sum
}

export const noUsage: Usage = Object.freeze({ inputTokens: 0, outputTokens: 0, totalTokens: 0 })
