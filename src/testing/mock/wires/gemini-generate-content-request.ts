import { type ChatMessage, type ContentPart, isJsonObject, type Json, type JsonObject, type ToolCall } from '../../../core/messages.ts'
import type { ToolChoice } from '../../../models/chat-model.ts'
import type { ToolDefinition } from '../../../tools/tool.ts'
import { objectsIn, type WireRequest } from './wire.ts'

/** The model's name is in the path, not in the body. */
export function readGeminiRequest(body: JsonObject): WireRequest {
  return {
    messages: [...readSystem(body.systemInstruction), ...objectsIn(body.contents).flatMap(readContent)],
    tools: Array.isArray(body.tools) ? objectsIn(body.tools).flatMap(readTools) : undefined,
    toolChoice: readChoice(body.toolConfig),
  }
}

function readSystem(instruction: Json | undefined): ChatMessage[] {
  return isJsonObject(instruction) ? objectsIn(instruction.parts).map(({ text }) => ({ role: 'system', content: String(text) })) : []
}

function readContent({ role, parts }: JsonObject): ChatMessage[] {
  const all = objectsIn(parts)
  return role === 'model' ? [readModel(all)] : readUser(all)
}

function readModel(parts: readonly JsonObject[]): ChatMessage {
  const content = parts.map(({ text, thought }) => (typeof text === 'string' && thought !== true ? text : '')).join('')
  const toolCalls = parts.flatMap(({ functionCall: call }): ToolCall[] =>
    isJsonObject(call)
      ? [{ id: idOf(call), type: 'function', function: { name: String(call.name), arguments: JSON.stringify(call.args ?? {}) } }]
      : [],
  )
  return toolCalls.length === 0 ? { role: 'assistant', content } : { role: 'assistant', content, toolCalls }
}

function readUser(parts: readonly JsonObject[]): ChatMessage[] {
  const results = parts.flatMap(({ functionResponse: result }) => (isJsonObject(result) ? [readResult(result)] : []))
  const others = parts.filter(({ functionResponse }) => functionResponse === undefined)
  if (others.length === 0) return results
  const content = others.every(({ text }) => typeof text === 'string') ? others.map(({ text }) => text).join('') : readParts(others)
  return [...results, { role: 'user', content }]
}

function readResult(result: JsonObject): ChatMessage {
  const response = isJsonObject(result.response) ? result.response : {}
  const isError = response.error === undefined ? {} : { isError: true }
  const text = String(response.error ?? response.output ?? '')
  const parts = readParts(objectsIn(result.parts))
  const content = parts.length === 0 ? text : [{ type: 'text' as const, text }, ...parts]
  return { role: 'tool', content, toolCallId: idOf(result), ...isError }
}

function readParts(parts: readonly JsonObject[]): ContentPart[] {
  return parts.map(({ text, inlineData, fileData }) => {
    if (isJsonObject(inlineData)) {
      const from = { data: String(inlineData.data), mediaType: String(inlineData.mimeType) }
      return from.mediaType.startsWith('image/') ? { type: 'image', ...from } : { type: 'file', ...from }
    }
    if (isJsonObject(fileData)) {
      const from = { url: String(fileData.fileUri) }
      return String(fileData.mimeType).startsWith('image/') ? { type: 'image', ...from } : { type: 'file', ...from }
    }
    return { type: 'text', text: String(text ?? '') }
  })
}

/** Ignores the provider's own tools, which declare no functions. */
function readTools({ functionDeclarations }: JsonObject): ToolDefinition[] {
  return objectsIn(functionDeclarations).map(({ name, description, parameters, parametersJsonSchema: schema = parameters }) => ({
    type: 'function',
    function: {
      name: String(name),
      ...(typeof description === 'string' ? { description } : {}),
      ...(isJsonObject(schema) ? { parameters: schema } : {}),
    },
  }))
}

function readChoice(config: Json | undefined): ToolChoice | undefined {
  const calling = isJsonObject(config) && isJsonObject(config.functionCallingConfig) ? config.functionCallingConfig : {}
  const [name] = Array.isArray(calling.allowedFunctionNames) ? calling.allowedFunctionNames : []
  switch (calling.mode) {
    case 'AUTO':
      return 'auto'
    case 'NONE':
      return 'none'
    case 'ANY':
      return typeof name === 'string' ? { type: 'function', function: { name } } : 'required'
    default:
      return undefined
  }
}

function idOf({ id }: JsonObject): string {
  return typeof id === 'string' ? id : ''
}
