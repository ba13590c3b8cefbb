import { isDeepEqual } from '../../core/json.ts'
import { type MessageInput, toChatMessages } from '../../core/message-input.ts'
import {
  type ChatMessage,
  type Content,
  type ContentPart,
  hasToolCalls,
  isJsonObject,
  type JsonObject,
  type ToolCall,
  withoutUndefined,
} from '../../core/messages.ts'
import type { ToolDefinition, ToolFunction } from '../../tools/tool.ts'
import { urlOf } from '../conversion/part-bytes.ts'
import { fitParameters } from '../conversion/tool-parameters.ts'
import { CallIds, type MalformedArguments, objectIn } from '../conversion/wire.ts'
import { moonshotSchema } from './moonshot-schema.ts'
import type { OpenAIQuirks } from './quirks.ts'
import { contentWithReasoning, reasoningFields } from './reasoning.ts'

/** A part of a user's message in OpenAI's format. */
type OpenAIContentPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; file: { file_data: string; filename?: string } }
/** A text in OpenAI's format. */
interface OpenAITextPart {
  type: 'text'
  text: string
}

/** A message in the format of OpenAI's Chat Completions API. Source: https://platform.openai.com/docs/api-reference/chat/create */
export type OpenAIMessage =
  | { role: 'system' | 'developer'; content: string; name?: string }
  | { role: 'user'; content: string | OpenAIContentPart[]; name?: string }
  | { role: 'assistant'; content?: string | null; tool_calls?: ToolCall[]; name?: string }
  | { role: 'tool'; content: string | OpenAITextPart[]; tool_call_id: string }

/** Marks `providerData` from `messagesFromOpenAI`, which `messagesToOpenAI` uses to restore the original message. */
export const OPENAI_MESSAGES = 'openai-messages'

/** Converts messages to Chat Completions messages: plain data, ready for the OpenAI SDK or a fine-tuning file. Throws `invalid_message`. */
export function messagesToOpenAI(list: readonly MessageInput[]): OpenAIMessage[] {
  return toChatMessages(list).map(toOpenAIMessage)
}

function toOpenAIMessage(message: ChatMessage): OpenAIMessage {
  const wire = wireOf(message)
  return message.providerData?.provider === OPENAI_MESSAGES ? restore(wire, message.providerData.data, message) : wire
}

/** Converts a message to OpenAI's format. Does not restore the original message that `messagesFromOpenAI` converted. */
export function wireOf(message: ChatMessage): OpenAIMessage {
  const name = message.name === undefined ? {} : { name: message.name }
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content, ...name }
    case 'user':
      return { role: 'user', content: typeof message.content === 'string' ? message.content : message.content.map(toOpenAIPart), ...name }
    case 'tool':
      return { role: 'tool', content: toToolContent(message.content), tool_call_id: message.toolCallId }
    case 'assistant':
      if (!hasToolCalls(message)) return { role: 'assistant', content: message.content, ...name }
      return {
        role: 'assistant',
        content: message.content === '' ? null : message.content,
        tool_calls: message.toolCalls.map(copyOf),
        ...name,
      }
  }
}

function copyOf({ id, type, function: { name, arguments: json } }: ToolCall): ToolCall {
  return { id, type, function: { name, arguments: json } }
}

function toOpenAIPart(part: ContentPart): OpenAIContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image':
      return { type: 'image_url', image_url: { url: urlOf(part) } }
    case 'file':
      return { type: 'file', file: { file_data: urlOf(part), ...withoutUndefined({ filename: part.name }) } }
  }
}

/** Converts the content of a tool message, which may contain only text. A note replaces each part of another type. */
function toToolContent(content: Content): string | OpenAITextPart[] {
  if (typeof content === 'string') return content
  return content.map((part) => ({ type: 'text', text: part.type === 'text' ? part.text : `[${part.type} not shown]` }))
}

/** Legacy fields, each with the field to which it was converted. A legacy field is restored only if the converted field is unchanged. */
const standsFor: ReadonlyMap<string, string> = new Map([
  ['function_call', 'tool_calls'],
  ['role', 'tool_call_id'],
])

/** Restores the original message that `messagesFromOpenAI` converted. */
function restore(wire: OpenAIMessage, { set, dropped }: JsonObject, message: ChatMessage): OpenAIMessage {
  const restored = new Map<string, unknown>(Object.entries(wire))
  const goes = new Map(Object.entries(isJsonObject(dropped) ? dropped : {}))
  const untouched = (key: string) => !goes.has(key) || isDeepEqual(restored.get(key), goes.get(key))
  for (const [key, change] of Object.entries(isJsonObject(set) ? set : {})) {
    if (isJsonObject(change) && isDeepEqual(restored.get(key), change.from) && untouched(standsFor.get(key) ?? key)) {
      restored.set(key, key === 'name' && message.role === 'tool' ? message.name : change.to)
    }
  }
  for (const key of goes.keys()) if (untouched(key)) restored.delete(key)
  return Object.fromEntries(restored) as OpenAIMessage
}

/**
 * Returns a call's arguments, for an API that accepts them as text. No server accepts an empty text in a conversation, and some accept only
 * a JSON object.
 */
export function argumentsText(json: string, malformed: MalformedArguments): string {
  if (json.trim() === '') return '{}'
  return malformed === 'keep' || objectIn(json) !== undefined ? json : '{}'
}

/** Converts messages and tools to one provider's variant of OpenAI's format. Adds a warning for each detail that is lost. */
export class OpenAIWire {
  readonly #provider: string
  readonly #quirks: OpenAIQuirks
  readonly #fitted = new WeakMap<object, { definition: ToolDefinition; warnings: readonly string[] }>()

  constructor(provider: string, quirks: OpenAIQuirks) {
    this.#provider = provider
    this.#quirks = quirks
  }

  messages(messages: readonly ChatMessage[], warnings: Set<string>): object[] {
    const ids = new CallIds(this.#quirks.toolCallId)
    const sent = messages.map((message) => this.#message(message, ids, warnings))
    return this.#quirks.resultNames ? withToolNames(sent, messages) : sent
  }

  #message(message: ChatMessage, ids: CallIds, warnings: Set<string>): object {
    const wire = this.#named(toOpenAIMessage(message), warnings)
    if (wire.role === 'developer' && !this.#quirks.developerRole) return { ...wire, role: 'system' }
    if (message.role === 'user' && wire.role === 'user' && Array.isArray(message.content)) this.#fitParts(message.content, wire, warnings)
    if (message.role === 'tool' && wire.role === 'tool') {
      wire.tool_call_id = ids.ofResult(wire.tool_call_id)
      this.#fitToolContent(wire, message.content, warnings)
    }
    if (message.role === 'assistant' && wire.role === 'assistant') {
      const data = message.providerData?.provider === this.#provider ? message.providerData.data : undefined
      if (wire.tool_calls !== undefined) wire.tool_calls = this.#fitCalls(wire.tool_calls, ids, data)
      if (data === undefined && (!this.#quirks.sendReasoningBack || this.#quirks.missingReasoning === null)) return wire
      const { role, ...rest } = wire
      // Fields that came with the message take precedence over replacements for missing reasoning.
      return { role, ...reasoningFields(data, this.#quirks), ...rest, ...contentWithReasoning(message.content, data) }
    }
    return wire
  }

  /** Replaces or removes a name with characters that OpenAI does not accept: https://github.com/moltis-org/moltis/pull/915 */
  #named(wire: OpenAIMessage, warnings: Set<string>): OpenAIMessage {
    if (wire.role === 'tool' || typeof wire.name !== 'string') return wire
    const { name, ...rest } = wire
    const legal = name
      .trim()
      .replace(/[^a-zA-Z0-9_-]+/g, '_')
      .slice(0, 64)
    if (this.#quirks.messageNames && /[a-zA-Z0-9]/.test(legal)) return { ...rest, name: legal }
    warnings.add(`The \`name\` of a message was left out: ${this.#provider} does not support it`)
    return rest
  }

  tool({ function: tool }: ToolDefinition, warnings: Set<string>): ToolDefinition {
    const fitted = this.#fitted.get(tool) ?? this.#fit(tool)
    this.#fitted.set(tool, fitted)
    for (const warning of fitted.warnings) warnings.add(warning)
    return fitted.definition
  }

  #fit(tool: ToolFunction): { definition: ToolDefinition; warnings: readonly string[] } {
    const { name, strict } = tool
    const { words, parameters, warnings } = fitParameters(tool, this.#provider)
    const definition: ToolFunction = { name, ...words }
    if (tool.parameters !== undefined) definition.parameters = this.#schema(parameters)
    if (strict === undefined || this.#quirks.strictTools) {
      if (strict !== undefined) definition.strict = strict
      return { definition: { type: 'function', function: definition }, warnings }
    }
    const leftOut = `\`strict\` of tool \`${name}\` was left out: ${this.#provider} does not support it`
    return { definition: { type: 'function', function: definition }, warnings: [leftOut, ...warnings] }
  }

  #schema(parameters: JsonObject): JsonObject {
    const schema = { ...parameters, properties: parameters.properties ?? {} }
    return this.#quirks.toolSchema === 'moonshot' ? moonshotSchema(schema) : schema
  }

  /** Whether an image or file can be sent in a user message. */
  takesFromUser(part: ContentPart): boolean {
    if (part.type === 'text') return false
    // The API accepts a file's bytes, but not a file's URL: https://platform.openai.com/docs/guides/pdf-files
    if (part.type === 'file' && 'url' in part && !part.url.startsWith('data:')) return false
    return this.#quirks.contentParts.includes(part.type)
  }

  #fitParts(parts: readonly ContentPart[], wire: OpenAIMessage & { role: 'user' }, warnings: Set<string>): void {
    wire.content = parts.map((part) => {
      if (part.type === 'text' || this.takesFromUser(part)) return toOpenAIPart(part)
      warnings.add(`A part of type '${part.type}' was replaced by a note: ${this.#provider} does not support it`)
      return { type: 'text', text: `[${part.type} not shown]` }
    })
  }

  #fitToolContent(wire: OpenAIMessage & { role: 'tool' }, content: ChatMessage['content'], warnings: Set<string>): void {
    if (Array.isArray(content)) {
      for (const { type } of content) {
        if (type !== 'text') warnings.add(`A part of type '${type}' in a tool's result was replaced by a note: results are text here`)
      }
    }
    if (Array.isArray(wire.content) && !this.#quirks.toolContentParts) wire.content = wire.content.map(({ text }) => text).join('\n')
  }

  #fitCalls(calls: readonly ToolCall[], ids: CallIds, data: JsonObject = {}): ToolCall[] {
    const fieldsOf = Array.isArray(data.calls) ? extraFields(data.calls.filter(isJsonObject)) : undefined
    return calls.map((call, position) => {
      const { name, arguments: json } = call.function
      const body = { name, arguments: argumentsText(json, this.#quirks.malformedArguments) }
      return { id: ids.ofCall(call), type: call.type, function: body, ...fieldsOf?.(call, position) }
    })
  }
}

/** Adds the tool's name to each result. The name comes from the result itself or from its call. */
function withToolNames(sent: readonly object[], messages: readonly ChatMessage[]): object[] {
  const names = new Map<string, string>()
  return sent.map((wire, at) => {
    const message = messages[at]
    if (message !== undefined && hasToolCalls(message)) for (const call of message.toolCalls) names.set(call.id, call.function.name)
    if (message?.role !== 'tool') return wire
    return { ...wire, ...withoutUndefined({ name: message.name ?? names.get(message.toolCallId) }) }
  })
}

/** Finds the fields that arrived with a call. */
function extraFields(extras: readonly JsonObject[]): (call: ToolCall, position: number) => JsonObject | undefined {
  const byId = new Map(extras.toReversed().map((entry) => [entry.id, entry]))
  const byPosition = new Map(extras.filter(({ id }) => id === '').map((entry) => [entry.position, entry]))
  return ({ id }, position) => {
    // Falls back to the position: a call without an id gets one later, but its fields are stored without an id.
    const extra = (id === '' ? undefined : byId.get(id)) ?? byPosition.get(position)
    return isJsonObject(extra?.fields) ? extra.fields : undefined
  }
}
