import { jsonOrText } from '../core/json.ts'
import {
  type ChatMessage,
  type ContentPart,
  hasToolCalls,
  isJsonObject,
  isToolResult,
  type JsonObject,
  withoutUndefined,
} from '../core/messages.ts'
import { redact, secretTexts } from '../core/redaction/redact.ts'
import type { SecretTexts } from '../core/redaction/secret-texts.ts'
import type { ModelRequest, ModelResponse } from '../models/chat-model.ts'
import type { Attributes } from './api.ts'
import { finishOf } from './attributes.ts'

/** A part of a message, as the conventions define it. */
type Part = JsonObject

/**
 * Converts the conversation of a run to attributes. Removes texts that look like secrets, and arguments that tools declare as `secrets`.
 */
export class SpanContent {
  readonly #secrets: SecretTexts
  /** The names of the arguments that tools declare as secret. */
  readonly #sensitive = new Set<string>()
  /** Caches the redacted JSON of frozen messages, because each message is part of every later request. */
  #written = new WeakMap<ChatMessage, string>()
  /** The number of secrets that were known when the cached messages were written. */
  #known = 0

  /** `secrets` contains the known secrets. New secrets are added to it. */
  constructor(secrets: SecretTexts) {
    this.#secrets = secrets
  }

  /** Returns the attributes for the input of a run. */
  given(instructions: string | undefined, input: readonly ChatMessage[]): Attributes {
    return {
      ...(instructions === undefined ? {} : { 'gen_ai.system_instructions': this.#json([textPart(instructions)]) }),
      'gen_ai.input.messages': this.#messages(input),
    }
  }

  answer(text: string, finishReason: string): Attributes {
    return { 'gen_ai.output.messages': this.#json([{ role: 'assistant', parts: [textPart(text)], finish_reason: finishReason }]) }
  }

  /** Returns the attributes for a request. `secretsOf` returns the names of a tool's secret arguments. */
  request({ messages, tools = [] }: ModelRequest, secretsOf: (tool: string) => ReadonlySet<string>): Attributes {
    for (const message of messages) if (hasToolCalls(message)) for (const call of message.toolCalls) this.#learn(call.function, secretsOf)
    const system = messages.filter(({ role }) => role === 'system')
    const said = messages.filter(({ role }) => role !== 'system')
    return {
      ...(system.length === 0 ? {} : { 'gen_ai.system_instructions': this.#json(system.flatMap(partsOf)) }),
      'gen_ai.input.messages': this.#messages(said),
      ...(tools.length === 0
        ? {}
        : { 'gen_ai.tool.definitions': JSON.stringify(tools.map(({ type, function: fn }) => ({ type, ...fn }))) }),
    }
  }

  response(response: ModelResponse, secretsOf: (tool: string) => ReadonlySet<string>): Attributes {
    const { text, reasoning, toolCalls } = response
    for (const call of toolCalls) this.#learn(call.function, secretsOf)
    const parts = [
      ...(reasoning === undefined || reasoning === '' ? [] : [{ type: 'reasoning', content: reasoning }]),
      ...(text === '' ? [] : [textPart(text)]),
      ...toolCalls.map(callPart),
    ]
    return { 'gen_ai.output.messages': this.#json([{ role: 'assistant', parts, finish_reason: finishOf(response) }]) }
  }

  arguments(args: JsonObject, sensitive: ReadonlySet<string>): Attributes {
    this.#hide(args, sensitive)
    return { 'gen_ai.tool.call.arguments': JSON.stringify(redact(args, sensitive, this.#secrets)) }
  }

  result(text: string, sensitive: ReadonlySet<string>): Attributes {
    return { 'gen_ai.tool.call.result': String(redact(text, sensitive, this.#secrets)) }
  }

  #learn({ name, arguments: json }: { name: string; arguments: string }, secretsOf: (tool: string) => ReadonlySet<string>): void {
    const args = jsonOrText(json)
    if (isJsonObject(args)) this.#hide(args, secretsOf(name))
  }

  #hide(args: JsonObject, sensitive: ReadonlySet<string>): void {
    for (const secret of secretTexts(args, sensitive)) this.#secrets.add(secret)
    for (const name of sensitive) this.#sensitive.add(name)
  }

  #messages(messages: readonly ChatMessage[]): string {
    const known = this.#secrets.isFull ? Number.POSITIVE_INFINITY : this.#secrets.size + this.#sensitive.size
    if (known > this.#known) this.#written = new WeakMap()
    this.#known = known
    return `[${messages.map((message) => this.#message(message)).join(',')}]`
  }

  #message(message: ChatMessage): string {
    const known = this.#written.get(message)
    if (known !== undefined) return known
    const written = this.#json(messageShown(message))
    if (Object.isFrozen(message)) this.#written.set(message, written)
    return written
  }

  #json(value: unknown): string {
    return JSON.stringify(redact(value, this.#sensitive, this.#secrets))
  }
}

function messageShown(message: ChatMessage): JsonObject {
  return { role: message.role, parts: partsOf(message) }
}

function partsOf(message: ChatMessage): Part[] {
  const { content } = message
  const said = typeof content === 'string' ? (content === '' ? [] : [textPart(content)]) : content.map(partShown)
  if (isToolResult(message)) {
    const text = typeof content === 'string' ? content : said
    return [{ type: 'tool_call_response', id: message.toolCallId, response: text }]
  }
  return hasToolCalls(message) ? [...said, ...message.toolCalls.map(callPart)] : said
}

function textPart(content: string): Part {
  return { type: 'text', content }
}

function callPart({ id, function: { name, arguments: json } }: { id: string; function: { name: string; arguments: string } }): Part {
  return { type: 'tool_call', id, name, arguments: jsonOrText(json) as JsonObject }
}

/** Converts a part of a message. The data of an image or document is left out, because it is large. */
function partShown(part: ContentPart): Part {
  if (part.type === 'text') return textPart(part.text)
  const { mediaType } = part
  const shown = { modality: part.type === 'image' ? 'image' : 'document', ...withoutUndefined({ mime_type: mediaType }) }
  if ('data' in part) return { type: 'blob', ...shown, content: `[${part.data.length} characters]` }
  if (part.url.startsWith('data:')) return { type: 'blob', ...shown, content: `[${part.url.length} characters]` }
  return { type: 'uri', ...shown, uri: part.url }
}
