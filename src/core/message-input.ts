import { messageOf, show, ToolloopError } from './errors.ts'
import { hasMoreValues, isDeeperThan } from './json.ts'
import {
  type AIMessage,
  areChecked,
  asChecked,
  type ChatMessage,
  type Content,
  copyJson,
  type FinishReason,
  isChecked,
  isJsonObject,
  type JsonObject,
  type ParsedToolCall,
  type ProviderData,
  type ToolCall,
  type Usage,
} from './messages.ts'

/** A message as callers may pass it: a message of a conversation, a reply of `ToolAgent.generate()`, or a role and a text. */
export type MessageInput =
  | ChatMessage
  | AIMessage
  | { role: 'system' | 'user' | 'assistant'; content: string; name?: string; providerData?: ProviderData }

/** Maps frozen messages that callers have passed to the converted messages. */
const made = new WeakMap<object, ChatMessage>()

/**
 * Converts messages that callers pass. Each message is checked, and copied into the form that is stored and sent. All messages enter the
 * library through this function. The copies are frozen. A message that is already converted is returned unchanged. Throws
 * `invalid_message`. The error contains the path `name` of the list.
 */
export function toChatMessages(list: readonly MessageInput[], name = 'messages'): readonly ChatMessage[] {
  const given: unknown = list
  if (!Array.isArray(given)) throw invalid(name, 'an array of messages', given)
  return areChecked(list) ? list : Array.from(list, (message, at) => toChatMessage(message, `${name}[${at}]`))
}

/** Converts one message as `toChatMessages` does. The error contains the path `name`. */
export function toChatMessage(given: MessageInput, name: string): ChatMessage {
  if (isChecked(given)) return given
  const before = typeof given === 'object' && given !== null ? made.get(given) : undefined
  if (before !== undefined) return before
  checkMessage(given, name)
  const message = asChecked(wireForm(given, name))
  if (isDeepFrozen(given)) made.set(given, message)
  return message
}

/** Whether a value can be the content of a tool message. */
export function isContent(content: unknown): content is Content {
  return typeof content === 'string' || (Array.isArray(content) && content.every(isPart))
}

/** Fields in which a reply of `generate` differs from a stored message. */
interface Reply {
  toolCalls?: readonly (ToolCall | ParsedToolCall)[]
  finishReason?: FinishReason
  stoppedBy?: string
  usage?: Usage
  warnings?: string[]
}

/** Copies a message. In the copy, calls are in wire form. Fields that are not part of a stored message are omitted. */
function wireForm(given: MessageInput, name: string): ChatMessage {
  const {
    toolCalls = [],
    finishReason: _end,
    stoppedBy: _by,
    usage: _usage,
    warnings: _warnings,
    ...message
  } = given as MessageInput & Reply
  const calls = toolCalls.map((call, at) => wireCall(call, `${name}.toolCalls[${at}]`))
  return { ...copyJson(message), ...(calls.length === 0 ? {} : { toolCalls: calls }) } as ChatMessage
}

/** Converts a call in either form to wire form. Throws `invalid_message`. The error contains the path `name`. */
export function toToolCall(call: ToolCall | ParsedToolCall, name: string): ToolCall {
  checkCall(call, name)
  return wireCall(call, name)
}

function wireCall(call: ToolCall | ParsedToolCall, name: string): ToolCall {
  if ('function' in call) return copyJson(call)
  return { id: call.id, type: 'function', function: { name: call.name, arguments: jsonOf(call.arguments, `${name}.arguments`) } }
}

function jsonOf(args: JsonObject, name: string): string {
  try {
    return JSON.stringify(args)
  } catch (error) {
    throw invalid(name, `plain JSON (${messageOf(error)})`, args)
  }
}

const roles: readonly unknown[] = ['system', 'user', 'assistant', 'tool']
const maxLevels = 200
const maxValues = 1_000_000

function checkMessage(message: unknown, name: string): void {
  if (!isJsonObject(message)) throw invalid(name, 'a message', message)
  // The error doesn't show the message, because rendering it may never end.
  if (hasMoreValues(maxValues, message) || isDeeperThan(maxLevels, message))
    throw invalid(name, `at most ${maxLevels} levels deep, of at most ${maxValues} values`, 'a larger message, or one that contains itself')
  const { role, content, toolCallId, toolCalls } = message
  if (isOpenAIs(message)) throw invalid(name, 'a toolloop message: convert it with `messagesFromOpenAI`', message)
  if (!roles.includes(role)) throw invalid(`${name}.role`, "'system', 'user', 'assistant' or 'tool'", role)
  const mayHaveParts = role === 'user' || role === 'tool'
  if (typeof content !== 'string' && !(mayHaveParts && Array.isArray(content)))
    throw invalid(`${name}.content`, mayHaveParts ? 'a string or an array of parts' : 'a string', content)
  if (Array.isArray(content)) for (const [at, part] of content.entries()) checkPart(part, `${name}.content[${at}]`)
  if (role === 'tool' && typeof toolCallId !== 'string') throw invalid(`${name}.toolCallId`, 'a string', toolCallId)
  if (toolCalls !== undefined && !Array.isArray(toolCalls)) throw invalid(`${name}.toolCalls`, 'an array', toolCalls)
  if (Array.isArray(toolCalls)) for (const [at, call] of toolCalls.entries()) checkCall(call, `${name}.toolCalls[${at}]`)
}

/** Whether a message has OpenAI's format. Such messages are rejected, because their calls and results would be lost silently. */
function isOpenAIs(message: JsonObject): boolean {
  return (message.tool_calls !== undefined && message.toolCalls === undefined) || typeof message.tool_call_id === 'string'
}

function checkPart(part: unknown, name: string): void {
  if (!isPart(part))
    throw invalid(name, "a part of type 'text' with a `text`, or 'image' or 'file' with a `url`, or `data` and its `mediaType`", part)
}

function isPart(part: unknown): boolean {
  if (!isJsonObject(part)) return false
  const { type, text, url, data, mediaType } = part
  if (type === 'text') return typeof text === 'string'
  if (type !== 'image' && type !== 'file') return false
  return data === undefined ? typeof url === 'string' : typeof data === 'string' && typeof mediaType === 'string'
}

function checkCall(call: unknown, name: string): void {
  const isCall = isJsonObject(call) && typeof call.id === 'string' && ('function' in call ? isWireCall(call) : isParsedCall(call))
  if (isCall) return
  throw invalid(name, '`{id, type, function: {name, arguments}}` with texts, or `{id, name, arguments}` with an object', call)
}

function isWireCall({ function: body }: JsonObject): boolean {
  return isJsonObject(body) && typeof body.name === 'string' && typeof body.arguments === 'string'
}

function isParsedCall({ name, arguments: args }: JsonObject): boolean {
  return typeof name === 'string' && isJsonObject(args)
}

function invalid(name: string, expected: string, got: unknown): ToolloopError {
  return new ToolloopError('invalid_message', `Expected ${name} to be ${expected}, got \`${show(got)}\``)
}

/** Whether a value and everything inside it is frozen. */
export function isDeepFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.isFrozen(value) && Object.values(value).every(isDeepFrozen)
}
