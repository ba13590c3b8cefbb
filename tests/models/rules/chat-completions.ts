import { isJsonObject, type Json, type JsonObject } from '../../../src/core/messages.ts'
import { refuseJsonSchemaFormat } from './response-formats.ts'
import { refuseFunctionSchema } from './tool-schemas.ts'

/**
 * The reason why OpenAI's Chat Completions API would refuse a request with status 400, so that a test notices a broken request and not only
 * a broken response. Checks the rules about conversations and tools. Source: https://platform.openai.com/docs/api-reference/chat/create
 */
export function refuseChatCompletion(body: JsonObject): string | undefined {
  if (typeof body.model !== 'string' || body.model === '') return "Missing required parameter: 'model'."
  if (body.stream_options !== undefined && body.stream !== true) {
    return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
  }
  const ofMistral = /^mistral-/.test(body.model) ? refuseOrder(body.messages) : undefined
  return refuseTools(body) ?? refuseFormat(body.response_format) ?? refuseMessages(body.messages) ?? ofMistral
}

function refuseFormat(format: Json | undefined): string | undefined {
  if (format === undefined || format === null) return undefined
  const { type, json_schema: given } = isJsonObject(format) ? format : {}
  if (type === 'text' || type === 'json_object') return undefined
  if (type !== 'json_schema') return `Invalid value: '${String(type)}'. Supported values are: 'text', 'json_object', 'json_schema'.`
  if (!isJsonObject(given)) return "Missing required parameter: 'response_format.json_schema'."
  return refuseJsonSchemaFormat(given, 'response_format.json_schema')
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

function refuseTools(body: JsonObject): string | undefined {
  const { tools } = body
  if (tools === undefined) {
    const orphan = ['tool_choice', 'parallel_tool_calls'].find((key) => body[key] !== undefined)
    return orphan && `'${orphan}' is only allowed when 'tools' are specified.`
  }
  if (!Array.isArray(tools) || tools.length === 0) return "[] is too short - 'tools'"
  const names = new Set<string>()
  for (const [at, tool] of tools.entries()) {
    const definition = isJsonObject(tool) && tool.type === 'function' ? tool.function : undefined
    if (!isJsonObject(definition)) return `Invalid type for 'tools[${at}]': expected a function tool.`
    const { name, parameters } = definition
    if (typeof name !== 'string' || !toolName.test(name)) {
      return `Invalid 'tools[${at}].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$' of at most 64 characters.`
    }
    if (names.has(name)) return `Invalid 'tools[${at}].function.name': '${name}' is defined twice.`
    names.add(name)
    if (parameters !== undefined && !isJsonObject(parameters))
      return `Invalid type for 'tools[${at}].function.parameters': expected an object.`
  }
  const chosen = isJsonObject(body.tool_choice) && isJsonObject(body.tool_choice.function) ? body.tool_choice.function.name : undefined
  if (chosen !== undefined && !names.has(String(chosen)))
    return `Invalid value for 'tool_choice': '${String(chosen)}' is not among 'tools'.`
  for (const { function: definition } of tools.filter(isJsonObject)) {
    if (!isJsonObject(definition) || definition.parameters === undefined) continue
    const problem = refuseFunctionSchema(definition.name, definition.parameters)
    if (problem !== undefined) return problem
  }
  return undefined
}

function refuseMessages(messages: Json | undefined): string | undefined {
  if (!Array.isArray(messages) || messages.length === 0) return "[] is too short - 'messages'"
  let open: { ids: Set<string>; at: number } | undefined
  const unanswered = (): string | undefined =>
    open !== undefined && open.ids.size > 0
      ? `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. ` +
        `The following tool_call_ids of messages[${open.at}] did not have response messages: ${[...open.ids].join(', ')}`
      : undefined

  for (const [at, message] of messages.entries()) {
    if (!isJsonObject(message)) return `Invalid type for 'messages[${at}]': expected an object.`
    if (message.role === 'tool') {
      const id = message.tool_call_id
      if (typeof id !== 'string' || open?.ids.delete(id) !== true) {
        return `Invalid 'messages[${at}]': messages with role 'tool' must be the one response to a call of the preceding message with 'tool_calls'.`
      }
      if (typeof message.content !== 'string' && !Array.isArray(message.content)) return missingContent(at)
      continue
    }
    const missing = unanswered()
    if (missing !== undefined) return missing
    open = undefined
    if (message.role === 'assistant' && message.tool_calls !== undefined) {
      const ids = callIds(message.tool_calls, at)
      if (typeof ids === 'string') return ids
      open = { ids, at }
    } else if (!['system', 'developer', 'user', 'assistant', 'function'].includes(String(message.role))) {
      return `Invalid value for 'messages[${at}].role': '${String(message.role)}'.`
    } else if (typeof message.content !== 'string' && !Array.isArray(message.content) && !hasOtherContent(message))
      return missingContent(at)
  }
  return unanswered()
}

/** Mistral's rules for the order of messages and for call ids: https://github.com/mistralai/mistral-common, `validator.py`. */
function refuseOrder(messages: Json | undefined): string | undefined {
  const follows: Record<string, string[]> = {
    system: ['system', 'user', 'assistant'],
    user: ['assistant', 'system', 'user'],
    assistant: ['assistant', 'user', 'tool'],
    tool: ['assistant', 'tool'],
  }
  const given = Array.isArray(messages) ? messages.filter(isJsonObject) : []
  for (const [at, { role, tool_call_id: id }] of given.entries()) {
    const before = given[at - 1]?.role
    if (before !== undefined && !follows[String(before)]?.includes(String(role))) return `Unexpected role '${role}' after role '${before}'`
    if (id !== undefined && !/^[a-zA-Z0-9]{9}$/.test(String(id)))
      return `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`
  }
  const last = given.at(-1)?.role
  return last === 'user' || last === 'tool' ? undefined : `Expected last role User or Tool for serving but got ${last}`
}

/** The ids of a message's calls, or the problem with them. */
function callIds(calls: Json, at: number): Set<string> | string {
  if (!Array.isArray(calls) || calls.length === 0) return `[] is too short - 'messages[${at}].tool_calls'`
  const ids = new Set<string>()
  for (const [position, call] of calls.entries()) {
    const path = `messages[${at}].tool_calls[${position}]`
    if (!isJsonObject(call) || call.type !== 'function' || !isJsonObject(call.function)) return `Invalid type for '${path}'.`
    if (typeof call.id !== 'string' || call.id === '') return `Missing required parameter: '${path}.id'.`
    if (ids.has(call.id)) return `Invalid '${path}.id': '${call.id}' is used twice.`
    if (typeof call.function.name !== 'string' || call.function.name === '') return `Missing required parameter: '${path}.function.name'.`
    if (typeof call.function.arguments !== 'string') return `Invalid type for '${path}.function.arguments': expected a string.`
    ids.add(call.id)
  }
  return ids
}

/** Whether an assistant message has something in place of content. */
function hasOtherContent({ role, function_call: call, refusal, audio }: JsonObject): boolean {
  return role === 'assistant' && [call, refusal, audio].some((field) => field !== undefined && field !== null)
}

function missingContent(at: number): string {
  return `Invalid type for 'messages[${at}].content': expected a string or an array, but got null or nothing.`
}
