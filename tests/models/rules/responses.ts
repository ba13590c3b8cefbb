import { isJsonObject, type Json, type JsonObject } from '../../../src/core/messages.ts'
import { refuseJsonSchemaFormat } from './response-formats.ts'
import { refuseFunctionSchema } from './tool-schemas.ts'

/**
 * The reason why OpenAI's Responses API would refuse a request with status 400, so that a test notices a broken request and not only a
 * broken response. Checks the rules about conversations and tools. Source: https://platform.openai.com/docs/api-reference/responses/create
 */
export function refuseResponse(body: JsonObject): string | undefined {
  if (typeof body.model !== 'string' || body.model === '') return "Missing required parameter: 'model'."
  if (body.stream_options !== undefined && body.stream !== true)
    return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
  const unknown = ['messages', 'max_tokens', 'stop', 'seed', 'reasoning_effort', 'response_format'].find((name) => body[name] !== undefined)
  if (unknown !== undefined) return `Unknown parameter: '${unknown}'.`
  const most = body.max_output_tokens
  if (typeof most === 'number' && most < 16) return "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
  return refuseTools(body) ?? refuseDeferred(body) ?? refuseText(body.text) ?? refuseInput(body)
}

function refuseText(text: Json | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!isJsonObject(text)) return "Invalid type for 'text': expected an object."
  const { format = { type: 'text' } } = text
  if (!isJsonObject(format)) return "Invalid type for 'text.format': expected an object."
  if (format.type === 'text' || format.type === 'json_object') return undefined
  if (format.type !== 'json_schema')
    return `Invalid value: '${String(format.type)}'. Supported values are: 'text', 'json_object', 'json_schema'.`
  return refuseJsonSchemaFormat(format, 'text.format')
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

function refuseTools({ tools, tool_choice: choice }: JsonObject): string | undefined {
  const offered = tools === undefined ? [] : tools
  if (!Array.isArray(offered)) return "Invalid type for 'tools': expected an array of objects."
  const names = new Set<string>()
  for (const [at, tool] of offered.entries()) {
    if (!isJsonObject(tool) || typeof tool.type !== 'string') return `Missing required parameter: 'tools[${at}].type'.`
    if (tool.type !== 'function' && tool.type !== 'custom') continue
    if (tool.function !== undefined) return `Unknown parameter: 'tools[${at}].function'.`
    if (typeof tool.name !== 'string') return `Missing required parameter: 'tools[${at}].name'.`
    if (!toolName.test(tool.name)) {
      return `Invalid 'tools[${at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
    }
    if (names.has(tool.name)) return `Invalid 'tools[${at}].name': '${tool.name}' is defined twice.`
    names.add(tool.name)
    const refusal = tool.type === 'function' ? refuseFunctionSchema(tool.name, tool.parameters) : undefined
    if (refusal !== undefined) return refusal
  }
  if (isJsonObject(choice) && choice.type === 'function' && !names.has(String(choice.name))) {
    return `Tool choice '${String(choice.name)}' not found in 'tools' parameter.`
  }
  return choice === 'required' && offered.length === 0 ? "Tool choice 'required' must be specified with 'tools' parameter." : undefined
}

/** A tool that a search has loaded is in a namespace with its own name: https://developers.openai.com/api/docs/guides/tools-tool-search */
function refuseDeferred({ tools, input }: JsonObject): string | undefined {
  const offered = Array.isArray(tools) ? tools.filter(isJsonObject) : []
  const eager = new Set(offered.filter((tool) => tool.defer_loading !== true).map(({ name }) => name))
  const deferred = new Set(offered.filter((tool) => tool.defer_loading === true).map(({ name }) => name))
  if (deferred.size === 0 && offered.some(({ type }) => type === 'tool_search')) {
    return "Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred tool."
  }
  const loaded = new Set<Json | undefined>()
  for (const { type, tools: found, name, namespace } of Array.isArray(input) ? input.filter(isJsonObject) : []) {
    if (type === 'tool_search_output' && Array.isArray(found)) for (const tool of found) if (isJsonObject(tool)) loaded.add(tool.name)
    if (type !== 'function_call') continue
    if (namespace === undefined && !eager.has(name) && (loaded.has(name) || deferred.has(name))) {
      return `Missing namespace for function_call '${String(name)}'. It does not exist in the default namespace.`
    }
    if (namespace !== undefined && !loaded.has(namespace)) return `Namespace '${String(namespace)}' not found.`
  }
  return undefined
}

/** The prefixes of item ids by type. */
const idPrefixes: Readonly<Record<string, string>> = { message: 'msg', function_call: 'fc', custom_tool_call: 'ctc', reasoning: 'rs' }
const roles = ['user', 'assistant', 'system', 'developer']
const outputsOf: Readonly<Record<string, string>> = { function_call: 'function_call_output', custom_tool_call: 'custom_tool_call_output' }

function refuseInput({ input, store }: JsonObject): string | undefined {
  if (typeof input === 'string') return undefined
  if (!Array.isArray(input) || input.length === 0) return "Missing required parameter: 'input'."
  const ids = new Set<string>()
  /** The calls so far that have no output yet: their type by id. */
  const open = new Map<string, string>()
  const known = new Set<string>()
  for (const [at, item] of input.entries()) {
    if (!isJsonObject(item)) return `Invalid type for 'input[${at}]': expected an object.`
    const refusal = refuseId(item, at, ids) ?? refuseItem(item, at)
    if (refusal !== undefined) return refusal
    const { type = 'message', call_id: callId } = item
    const id = String(callId)
    const output = outputsOf[String(type)]
    if (output !== undefined) {
      if (known.has(id)) return `Duplicate item found with call_id ${id}. Remove duplicate items from your input and try again.`
      known.add(id)
      open.set(id, output)
    } else if (Object.values(outputsOf).includes(String(type))) {
      if (open.get(id) !== type) return `No tool call found for ${String(type).replaceAll('_', ' ')} with call_id ${id}.`
      open.delete(id)
    } else if (type === 'reasoning') {
      const sealed = typeof item.encrypted_content === 'string' && item.encrypted_content !== ''
      if (store === false && !sealed) {
        return `Item with id '${String(item.id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
      }
      if (!isOfModel(input[at + 1]))
        return `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`
    }
  }
  const [unanswered] = open.keys()
  return (
    unanswered &&
    `No tool output found for ${open.get(unanswered) === 'function_call_output' ? 'function' : 'custom tool'} call ${unanswered}.`
  )
}

function refuseId({ id, type = 'message' }: JsonObject, at: number, ids: Set<string>): string | undefined {
  if (id === undefined || id === null) return undefined
  const prefix = idPrefixes[String(type)]
  if (prefix !== undefined && !String(id).startsWith(prefix)) {
    return `Invalid 'input[${at}].id': '${String(id)}'. Expected an ID that begins with '${prefix}'.`
  }
  if (ids.has(String(id))) return `Duplicate item found with id ${String(id)}. Remove duplicate items from your input and try again.`
  ids.add(String(id))
  return undefined
}

function refuseItem(item: JsonObject, at: number): string | undefined {
  const { type = 'message', role, content } = item
  const missing = (name: string): string => `Missing required parameter: 'input[${at}].${name}'.`
  switch (type) {
    case 'message':
      if (!roles.includes(String(role)))
        return `Invalid value: '${String(role)}'. Supported values are: ${roles.map((name) => `'${name}'`).join(', ')}.`
      return refuseContent(content, role === 'assistant' ? ['output_text', 'refusal'] : inputTypes, `input[${at}].content`)
    case 'function_call':
    case 'custom_tool_call': {
      const field = type === 'function_call' ? 'arguments' : 'input'
      if (typeof item.name !== 'string') return missing('name')
      if (!toolName.test(item.name)) return `Invalid 'input[${at}].name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`
      return refuseCallId(item, at) ?? (typeof item[field] === 'string' ? undefined : missing(field))
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return refuseCallId(item, at) ?? refuseContent(item.output, inputTypes, `input[${at}].output`)
    case 'reasoning':
      return Array.isArray(item.summary) ? undefined : missing('summary')
    case 'tool_result':
    case 'tool_use':
    case 'tool':
      return `Invalid value: '${type}'. Supported values are: 'message', 'function_call', 'function_call_output', 'reasoning', and others.`
    default:
      return undefined
  }
}

const inputTypes = ['input_text', 'input_image', 'input_file']

function refuseContent(content: Json | undefined, types: readonly string[], path: string): string | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return `Invalid type for '${path}': expected one of an array of objects or string.`
  const at = content.findIndex((part) => !isJsonObject(part) || !types.includes(String(part.type)))
  return at === -1
    ? undefined
    : `Invalid value: '${path}[${at}].type'. Supported values are: ${types.map((type) => `'${type}'`).join(', ')}.`
}

function refuseCallId({ call_id: id }: JsonObject, at: number): string | undefined {
  if (typeof id !== 'string' || id === '') return `Missing required parameter: 'input[${at}].call_id'.`
  if (id.length > 64) {
    return `Invalid 'input[${at}].call_id': string too long. Expected a string with maximum length 64, but got a string with length ${id.length} instead.`
  }
  return undefined
}

/** Whether the model may have written the item after reasoning. */
function isOfModel(item: Json | undefined): boolean {
  if (!isJsonObject(item)) return false
  return item.role === 'assistant' || (typeof item.type === 'string' && item.type !== 'message' && !item.type.endsWith('_output'))
}
