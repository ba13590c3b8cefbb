import { messageOf, show, ToolloopError } from '../../core/errors.ts'
import { isDeepEqual } from '../../core/json.ts'
import {
  type AssistantToolCallMessage,
  type ChatMessage,
  type Content,
  type ContentPart,
  isJsonObject,
  type Json,
  type JsonObject,
  type TextPart,
  type ToolCall,
} from '../../core/messages.ts'
import { OPENAI_MESSAGES, type OpenAIMessage, wireOf } from './wire.ts'

/**
 * Converts Chat Completions messages from any source. Anything without an equivalent (unknown fields, the `developer` role,
 * `function_call`, refusals, audio) is kept in `providerData`, and `messagesToOpenAI` restores it. Throws `invalid_message`, with the
 * position, for anything that is not a message.
 */
export function messagesFromOpenAI(list: readonly object[]): ChatMessage[] {
  const functionCallIds = new Map<string, string>()
  return list.map((raw, position) => {
    const message = fromOpenAI(raw, position, functionCallIds)
    const kept = whatIsLost(wireOf(message), raw, position)
    if (kept !== undefined) message.providerData = { provider: OPENAI_MESSAGES, data: kept }
    return message
  })
}

function fromOpenAI(raw: object, position: number, functionCallIds: Map<string, string>): ChatMessage {
  const message: unknown = raw
  if (!isJsonObject(message)) throw invalid(position, 'an object', raw)
  const name = typeof message.name === 'string' ? { name: message.name } : {}
  const content = message.content
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: textContent(content, position), ...name }
    case 'user':
      return { role: 'user', content: userContent(content, position), ...name }
    case 'assistant':
      return fromAssistant(message, position, functionCallIds)
    case 'tool':
      if (idOf(message.tool_call_id) === undefined) throw invalid(position, 'a tool message with a `tool_call_id`', raw)
      return { role: 'tool', content: toolContent(content, position), toolCallId: String(message.tool_call_id), ...name }
    case 'function': {
      const id = functionCallIds.get(String(message.name)) ?? `call_${position}`
      return { role: 'tool', content: textContent(content, position), toolCallId: id, ...name }
    }
    default:
      throw invalid(position, "a message with `role` 'system', 'developer', 'user', 'assistant', 'tool' or 'function'", raw)
  }
}

function fromAssistant(message: JsonObject, position: number, functionCallIds: Map<string, string>): ChatMessage {
  const written = textContent(message.content, position)
  // A refusal replaces empty content, because the refusal is the text that the user was shown.
  const content = written === '' && typeof message.refusal === 'string' ? message.refusal : written
  const name = typeof message.name === 'string' ? { name: message.name } : {}
  const legacy = message.function_call
  const toolCalls: ToolCall[] = []
  if (Array.isArray(message.tool_calls)) {
    message.tool_calls.forEach((call, index) => {
      toolCalls.push(toolCallOf(call, position, index))
    })
  } else if (isJsonObject(legacy) && typeof legacy.name === 'string') {
    const id = `call_${position}`
    functionCallIds.set(legacy.name, id)
    toolCalls.push({ id, type: 'function', function: { name: legacy.name, arguments: argumentsText(legacy.arguments) } })
  }
  if (toolCalls.length === 0) return { role: 'assistant', content, ...name }
  return { role: 'assistant', content, toolCalls, ...name } satisfies AssistantToolCallMessage
}

function toolCallOf(call: Json, position: number, index: number): ToolCall {
  const body = isJsonObject(call) ? (call.function ?? call.custom) : undefined
  if (!isJsonObject(call) || !isJsonObject(body) || typeof body.name !== 'string') {
    throw invalid(position, `a message whose \`tool_calls[${index}]\` has a \`function\` with a \`name\``, call)
  }
  return {
    id: idOf(call.id) ?? `call_${position}_${index}`,
    type: 'function',
    function: { name: body.name, arguments: argumentsText(body.arguments ?? body.input) },
  }
}

/** Some servers use numbers as ids. */
function idOf(id: Json | undefined): string | undefined {
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined
}

function argumentsText(given: Json | undefined): string {
  return typeof given === 'string' ? given : given === undefined || given === null ? '' : JSON.stringify(given)
}

/** Returns the text of a content, which may be a string, null, or parts. `whatIsLost` keeps parts of other types. */
function textContent(content: Json | undefined, position: number): string {
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalid(position, 'a message whose `content` is a string, null or an array of parts', content)
  return content.map((part) => partText(part) ?? '').join('')
}

function partText(part: Json): string | undefined {
  if (typeof part === 'string') return part
  if (!isJsonObject(part)) return undefined
  const text = part.text ?? part.refusal
  return typeof text === 'string' ? text : undefined
}

/** Returns the text of an unsupported part, or a note such as `[input_audio not shown]`. */
function standIn(part: Json): TextPart {
  return { type: 'text', text: partText(part) ?? `[${isJsonObject(part) ? String(part.type ?? 'part') : 'part'} not shown]` }
}

function userContent(content: Json | undefined, position: number): Content {
  if (!Array.isArray(content)) return textContent(content, position)
  return content.map((part): ContentPart => {
    if (isJsonObject(part)) {
      if (part.type === 'image_url' && isJsonObject(part.image_url) && typeof part.image_url.url === 'string') {
        return { type: 'image', url: part.image_url.url }
      }
      if (part.type === 'file' && isJsonObject(part.file) && typeof part.file.file_data === 'string') {
        const name = typeof part.file.filename === 'string' ? { name: part.file.filename } : {}
        return { type: 'file', url: part.file.file_data, ...name }
      }
    }
    return standIn(part)
  })
}

function toolContent(content: Json | undefined, position: number): Content {
  if (!Array.isArray(content)) return textContent(content, position)
  return content.map(standIn)
}

/**
 * Compares `raw` with `ours`, which is `raw` converted to toolloop's format and back. Returns the fields to set and to drop to restore
 * `raw`. The values in `ours` are stored too: a field that was edited later no longer has that value, and is not restored.
 */
function whatIsLost(ours: OpenAIMessage, raw: object, position: number): JsonObject | undefined {
  const mine = new Map<string, unknown>(Object.entries(ours))
  const theirs = new Map<string, unknown>(Object.entries(raw))
  const set: [string, JsonObject][] = []
  const dropped: [string, Json][] = []
  for (const [key, value] of theirs) {
    if (isDeepEqual(mine.get(key), value)) continue
    const to = plain(value, position, key)
    if (to !== undefined) set.push([key, mine.has(key) ? { to, from: plain(mine.get(key), position, key) ?? null } : { to }])
  }
  for (const [key, value] of mine) if (theirs.get(key) === undefined) dropped.push([key, plain(value, position, key) ?? null])
  if (set.length === 0 && dropped.length === 0) return undefined
  // `fromEntries` creates own fields even for names such as `__proto__`.
  return { set: Object.fromEntries(set), dropped: Object.fromEntries(dropped) }
}

/** Copies `value` as JSON, so that the copy shares nothing with the caller's objects. */
function plain(value: unknown, position: number, key: string): Json | undefined {
  try {
    const json = JSON.stringify(value)
    return json === undefined ? undefined : JSON.parse(json)
  } catch (error) {
    throw invalid(position, `plain JSON in \`${key}\` (${messageOf(error)})`, value)
  }
}

function invalid(position: number, expected: string, got: unknown): ToolloopError {
  return new ToolloopError('invalid_message', `Expected messages[${position}] to be ${expected}, got \`${show(got)}\``)
}
