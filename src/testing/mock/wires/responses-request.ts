import {
  type ChatMessage,
  type Content,
  type ContentPart,
  hasToolCalls,
  isJsonObject,
  type Json,
  type JsonObject,
  type ToolCall,
} from '../../../core/messages.ts'
import type { ToolChoice } from '../../../models/chat-model.ts'
import type { ToolDefinition } from '../../../tools/tool.ts'
import { objectsIn, stringOf, type WireRequest } from './wire.ts'

/** Consecutive items of the assistant become one message. */
export function readResponsesRequest(body: JsonObject): WireRequest {
  const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : objectsIn(body.input)
  const instructions: ChatMessage[] = typeof body.instructions === 'string' ? [{ role: 'system', content: body.instructions }] : []
  return {
    model: stringOf(body.model),
    messages: items.reduce(addItem, instructions),
    tools: Array.isArray(body.tools) ? objectsIn(body.tools).flatMap(readTool) : undefined,
    toolChoice: readChoice(body.tool_choice),
  }
}

function addItem(messages: ChatMessage[], item: JsonObject): ChatMessage[] {
  const { type = 'message', role, content, output } = item
  if (type === 'function_call_output' || type === 'custom_tool_call_output') {
    messages.push({ role: 'tool', content: readContent(output), toolCallId: String(item.call_id) })
  } else if (type === 'message' && role === 'user') messages.push({ role, content: readContent(content) })
  else if (type === 'message' && role !== 'assistant') messages.push({ role: 'system', content: textIn(content) })
  else if (type === 'message') addToAssistant(messages, textIn(content), [])
  else if (type === 'function_call' || type === 'custom_tool_call') addToAssistant(messages, '', [readCall(item)])
  return messages
}

function addToAssistant(messages: ChatMessage[], text: string, calls: readonly ToolCall[]): void {
  const last = messages.at(-1)
  const before = last?.role === 'assistant' ? last : undefined
  if (before !== undefined) messages.pop()
  const content = `${before?.content ?? ''}${text}`
  const toolCalls = [...(before !== undefined && hasToolCalls(before) ? before.toolCalls : []), ...calls]
  messages.push(toolCalls.length === 0 ? { role: 'assistant', content } : { role: 'assistant', content, toolCalls })
}

function readCall({ type, call_id: id, name, arguments: json, input }: JsonObject): ToolCall {
  const text = type === 'custom_tool_call' ? JSON.stringify({ input }) : String(json)
  return { id: String(id), type: 'function', function: { name: String(name), arguments: text } }
}

function readContent(content: Json | undefined): Content {
  return typeof content === 'string' ? content : objectsIn(content).map(readPart)
}

function textIn(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return objectsIn(content)
    .map(({ text, refusal }) => String(text ?? refusal ?? ''))
    .join('')
}

function readPart({ type, text, image_url: image, file_url: address, file_data: data, filename: name }: JsonObject): ContentPart {
  if (type === 'input_image') return { type: 'image', url: String(image) }
  if (type === 'input_file') return { type: 'file', url: String(address ?? data), ...(typeof name === 'string' ? { name } : {}) }
  return { type: 'text', text: String(text ?? '') }
}

/** Ignores the provider's own tools, which have no schema. */
function readTool({ type, name, description, parameters, strict }: JsonObject): ToolDefinition[] {
  if (type !== 'function' || typeof name !== 'string' || !isJsonObject(parameters)) return []
  const described = typeof description === 'string' ? { description } : {}
  return [{ type: 'function', function: { name, ...described, parameters, ...(strict === true ? { strict } : {}) } }]
}

function readChoice(choice: Json | undefined): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  if (!isJsonObject(choice) || choice.type !== 'function') return undefined
  return { type: 'function', function: { name: String(choice.name) } }
}
