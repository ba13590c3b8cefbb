import {
  type ChatMessage,
  type Content,
  type ContentPart,
  isJsonObject,
  type Json,
  type JsonObject,
  type ToolCall,
} from '../../../core/messages.ts'
import type { ToolChoice } from '../../../models/chat-model.ts'
import type { ToolDefinition } from '../../../tools/tool.ts'
import { objectsIn, stringOf, type WireRequest } from './wire.ts'

/** A turn that joins several user messages is split into one message per text. */
export function readAnthropicRequest(body: JsonObject): WireRequest {
  return {
    model: stringOf(body.model),
    messages: [...readSystem(body.system), ...objectsIn(body.messages).flatMap(readMessage)],
    tools: Array.isArray(body.tools) ? objectsIn(body.tools).flatMap(readTool) : undefined,
    toolChoice: readChoice(body.tool_choice),
  }
}

function readSystem(system: Json | undefined): ChatMessage[] {
  if (typeof system === 'string') return [{ role: 'system', content: system }]
  return objectsIn(system).map(({ text }) => ({ role: 'system', content: String(text) }))
}

function readMessage({ role, content }: JsonObject): ChatMessage[] {
  if (role === 'system') return readSystem(content)
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : objectsIn(content)
  return role === 'assistant' ? [readAssistant(blocks)] : readUser(blocks)
}

function readAssistant(blocks: readonly JsonObject[]): ChatMessage {
  const content = blocks.map((block) => (block.type === 'text' ? String(block.text) : '')).join('')
  const toolCalls = blocks.flatMap(({ type, id, name, input }): ToolCall[] =>
    type === 'tool_use' ? [{ id: String(id), type: 'function', function: { name: String(name), arguments: JSON.stringify(input) } }] : [],
  )
  return toolCalls.length === 0 ? { role: 'assistant', content } : { role: 'assistant', content, toolCalls }
}

function readUser(blocks: readonly JsonObject[]): ChatMessage[] {
  const results = blocks
    .filter(({ type }) => type === 'tool_result')
    .map((block): ChatMessage => {
      const isError = block.is_error === true ? { isError: true } : {}
      return { role: 'tool', content: readContent(block.content), toolCallId: String(block.tool_use_id), ...isError }
    })
  const others = blocks.filter(({ type }) => type !== 'tool_result')
  const isText = others.every(({ type }) => type === 'text')
  const said = isText ? others.map(({ text }) => String(text)) : [others.map(readPart)]
  return [...results, ...said.map((content): ChatMessage => ({ role: 'user', content }))]
}

function readContent(content: Json | undefined): Content {
  return typeof content === 'string' ? content : content === undefined ? '' : objectsIn(content).map(readPart)
}

function readPart(block: JsonObject): ContentPart {
  const source = isJsonObject(block.source) ? block.source : {}
  const from =
    typeof source.url === 'string' ? { url: source.url } : { data: String(source.data ?? ''), mediaType: String(source.media_type ?? '') }
  if (block.type === 'image') return { type: 'image', ...from }
  if (block.type === 'document') return { type: 'file', ...from, ...(typeof block.title === 'string' ? { name: block.title } : {}) }
  return { type: 'text', text: String(block.text ?? '') }
}

/** Ignores the provider's own tools, which have no schema. */
function readTool({ name, description, input_schema: schema }: JsonObject): ToolDefinition[] {
  if (typeof name !== 'string' || !isJsonObject(schema)) return []
  const described = typeof description === 'string' ? { description } : {}
  return [{ type: 'function', function: { name, ...described, parameters: schema } }]
}

function readChoice(choice: Json | undefined): ToolChoice | undefined {
  if (!isJsonObject(choice)) return undefined
  switch (choice.type) {
    case 'auto':
    case 'none':
      return choice.type
    case 'any':
      return 'required'
    case 'tool':
      return { type: 'function', function: { name: String(choice.name) } }
    default:
      return undefined
  }
}
