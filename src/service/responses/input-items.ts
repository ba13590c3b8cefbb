import {
  type ChatMessage,
  type Content,
  type ContentPart,
  hasToolCalls,
  isJsonObject,
  isToolResult,
  type Json,
  type JsonObject,
  type ToolCall,
} from '../../core/messages.ts'
import { HttpProblem } from '../http/problem.ts'
import { mostCalls } from '../runs/run-order.ts'
import { calledName } from './requested-tools.ts'

/**
 * Converts the items of a request to messages. A model's text and its calls become one message. Throws an `HttpProblem` 400, with the path
 * of the item, for an item that the model would not see.
 */
export function messagesFromItems(items: readonly JsonObject[]): ChatMessage[] {
  const messages: ChatMessage[] = []
  let said: { content: string; toolCalls: ToolCall[] } | undefined
  for (const [at, item] of items.entries()) {
    const place = `input.${at}`
    const call = item.type === 'function_call' ? callOf(item, place) : undefined
    const isSaid = isMessage(item) && item.role === 'assistant'
    if (said !== undefined && (isSaid || (call === undefined && item.type !== 'reasoning'))) {
      messages.push(assistantMessage(said))
      said = undefined
    }
    if (call !== undefined) {
      said ??= { content: '', toolCalls: [] }
      said.toolCalls.push(call)
      if (said.toolCalls.length > mostCalls) throw unexpected(place, `at most ${mostCalls} calls in a row`)
    } else if (isSaid) said = { content: textOf(item.content, `${place}.content`), toolCalls: [] }
    // Reasoning items are ignored, because they can't be sent to the provider again.
    else if (item.type !== 'reasoning') messages.push(messageOf(item, place))
  }
  if (said !== undefined) messages.push(assistantMessage(said))
  return messages
}

/**
 * Throws an `HttpProblem` 400 unless every output has a call and every call has an output. An output without a call would never reach the
 * model. For a call without an output, the model would get an invented result. `before` is the conversation that the items continue.
 */
export function checkOutputs(input: string | readonly JsonObject[], before: readonly ChatMessage[]): void {
  const open = unanswered(before)
  for (const [at, { type, call_id: id }] of typeof input === 'string' ? [] : input.entries()) {
    if (typeof id !== 'string') continue
    if (type === 'function_call') {
      if (open.has(id)) throw withoutOutput(id)
      open.add(id)
    } else if (type === 'function_call_output' && !open.delete(id)) {
      const message = `No tool call found for function call output with call_id ${id}.`
      throw new HttpProblem(400, 'invalid_request', message, { param: `input.${at}.call_id` })
    }
  }
  for (const id of open) throw withoutOutput(id)
}

function withoutOutput(id: string): HttpProblem {
  return new HttpProblem(400, 'invalid_request', `No tool output found for function call ${id}.`, { param: 'input' })
}

/** Returns the ids of the calls that have no result. */
function unanswered(messages: readonly ChatMessage[]): Set<string> {
  const open = new Set<string>()
  for (const message of messages) {
    if (isToolResult(message)) open.delete(message.toolCallId)
    else if (hasToolCalls(message)) for (const { id } of message.toolCalls) open.add(id)
  }
  return open
}

function assistantMessage({ content, toolCalls }: { content: string; toolCalls: ToolCall[] }): ChatMessage {
  return toolCalls.length === 0 ? { role: 'assistant', content } : { role: 'assistant', content, toolCalls }
}

function isMessage({ type }: JsonObject): boolean {
  return type === undefined || type === 'message'
}

function messageOf(item: JsonObject, place: string): ChatMessage {
  if (item.type === 'function_call_output')
    return { role: 'tool', content: contentOf(item.output, `${place}.output`), toolCallId: textIn(item, 'call_id', place) }
  if (!isMessage(item)) throw unexpected(place, 'an item of type `message`, `function_call`, `function_call_output` or `reasoning`')
  const content = `${place}.content`
  if (item.role === 'user') return { role: 'user', content: contentOf(item.content, content) }
  if (item.role === 'system' || item.role === 'developer') return { role: 'system', content: textOf(item.content, content) }
  throw unexpected(`${place}.role`, '`user`, `assistant`, `system` or `developer`')
}

function callOf(item: JsonObject, place: string): ToolCall {
  const [id, , json] = ['call_id', 'name', 'arguments'].map((field) => textIn(item, field, place)) as [string, string, string]
  return { id, type: 'function', function: { name: calledName(item), arguments: json } }
}

function textIn(item: JsonObject, field: string, place: string): string {
  const value = item[field]
  if (typeof value !== 'string') throw unexpected(`${place}.${field}`, 'a string')
  return value
}

function textOf(content: Json | undefined, place: string): string {
  if (typeof content === 'string') return content
  return partsOf(content, place)
    .map((part, at) => {
      const text = isJsonObject(part) ? (part.text ?? part.refusal) : undefined
      if (typeof text !== 'string') throw unexpected(`${place}.${at}`, 'a part with a `text`')
      return text
    })
    .join('')
}

function contentOf(content: Json | undefined, place: string): Content {
  if (typeof content === 'string') return content
  return partsOf(content, place).map((part, at) => partOf(part, `${place}.${at}`))
}

function partsOf(content: Json | undefined, place: string): readonly Json[] {
  if (!Array.isArray(content)) throw unexpected(place, 'a string or a list of parts')
  return content
}

function partOf(part: Json, place: string): ContentPart {
  if (isJsonObject(part)) {
    const { type, text, image_url: image, file_data: data, file_url: url, filename } = part
    if ((type === 'input_text' || type === 'output_text') && typeof text === 'string') return { type: 'text', text }
    if (type === 'input_image' && typeof image === 'string') return { type: 'image', url: image }
    const file = data ?? url
    if (type === 'input_file' && typeof file === 'string')
      return { type: 'file', url: file, ...(typeof filename === 'string' ? { name: filename } : {}) }
  }
  throw unexpected(
    place,
    'a part of type `input_text`, `input_image` with an `image_url`, or `input_file` with `file_data` or a `file_url`',
  )
}

function unexpected(param: string, expected: string): HttpProblem {
  return new HttpProblem(400, 'invalid_request', `Expected ${expected}`, { param })
}
