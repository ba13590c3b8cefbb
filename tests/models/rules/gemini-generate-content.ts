import { isJsonObject, type Json, type JsonObject } from '../../../src/core/messages.ts'
import { refuseGeminiTools, unknownName } from './gemini-tools.ts'
import { refuseResponseSchema } from './response-formats.ts'

/**
 * The reason why Gemini's generateContent would refuse a request with status 400, so that a test notices a broken request and not only a
 * broken response. Checks the rules about conversations, tools and the generation config of the newest models. Source:
 * https://ai.google.dev/api/generate-content and …/gemini-api/docs/function-calling
 */
export function refuseGeminiRequest(body: JsonObject): string | undefined {
  return (
    refuseSettings(body.generationConfig) ??
    refuseGeminiTools(body) ??
    refuseSystem(body.systemInstruction) ??
    refuseContents(body.contents)
  )
}

/** https://ai.google.dev/api/generate-content#generationconfig */
const settings = new Set([
  ...['temperature', 'topP', 'topK', 'candidateCount', 'maxOutputTokens', 'stopSequences', 'seed', 'presencePenalty', 'frequencyPenalty'],
  ...['responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseModalities', 'responseLogprobs', 'logprobs'],
  ...['thinkingConfig', 'speechConfig', 'mediaResolution', 'imageConfig', 'enableEnhancedCivicAnswers'],
])
const thinkingSettings = new Set(['includeThoughts', 'thinkingBudget', 'thinkingLevel'])

function refuseSettings(config: Json | undefined): string | undefined {
  if (config === undefined) return undefined
  if (!isJsonObject(config)) return "Invalid value at 'generation_config'"
  const { temperature, stopSequences, thinkingConfig = {}, maxOutputTokens } = config
  const unknown = unknownName(config, settings, 'generation_config')
  if (unknown !== undefined) return unknown
  if (typeof temperature === 'number' && !(temperature >= 0 && temperature <= 2)) {
    return `Unable to submit request because it has a temperature value of ${temperature} but the supported range is from 0 (inclusive) to 2.0001 (exclusive).`
  }
  if (Array.isArray(stopSequences) && stopSequences.length > 5) return 'The number of stop sequences must be at most 5.'
  if (typeof maxOutputTokens === 'number' && maxOutputTokens < 1) return 'max_output_tokens must be positive.'
  if (!isJsonObject(thinkingConfig)) return "Invalid value at 'generation_config.thinking_config'"
  if (thinkingConfig.thinkingBudget !== undefined && thinkingConfig.thinkingLevel !== undefined) {
    return 'You can only set only one of thinking budget and thinking level.'
  }
  if (thinkingConfig.thinkingBudget === 0 && thinkingConfig.includeThoughts === true) {
    return 'Unable to submit request because thinking_config.include_thoughts is only enabled when thinking is enabled.'
  }
  return unknownName(thinkingConfig, thinkingSettings, 'generation_config.thinking_config') ?? refuseResponseSchema(config)
}

function refuseSystem(instruction: Json | undefined): string | undefined {
  if (instruction === undefined) return undefined
  const parts = isJsonObject(instruction) && Array.isArray(instruction.parts) ? instruction.parts : []
  const isText = parts.every((part) => isJsonObject(part) && typeof part.text === 'string' && part.text !== '')
  return parts.length > 0 && isText ? undefined : 'system_instruction.parts must be texts'
}

function refuseContents(contents: Json | undefined): string | undefined {
  if (!Array.isArray(contents) || contents.length === 0) return '* GenerateContentRequest.contents: contents is not specified\n'
  let before: JsonObject[] | undefined
  let roleBefore: string | undefined
  for (const [at, content] of contents.entries()) {
    if (!isJsonObject(content) || (content.role !== 'user' && content.role !== 'model')) return 'Please use a valid role: user, model.'
    const parts = Array.isArray(content.parts) ? content.parts.filter(isJsonObject) : []
    if (parts.length === 0) return `* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.\n`
    for (const [index, part] of parts.entries()) {
      const problem = refusePart(part, content.role)
      if (problem !== undefined) return `* GenerateContentRequest.contents[${at}].parts[${index}]: ${problem}\n`
    }
    if (before === undefined && content.role !== 'user') return 'Please ensure that multiturn requests begin with a user turn.'
    const problem = refuseOrder(before ?? [], parts, roleBefore)
    if (problem !== undefined) return problem
    before = parts
    roleBefore = content.role
  }
  return before !== undefined && callsIn(before).length > 0 ? unequal : undefined
}

const unequal =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'

/** Every call must have its result in the next content, and every result its call. */
function refuseOrder(before: readonly JsonObject[], parts: readonly JsonObject[], roleBefore: string | undefined): string | undefined {
  const open = callsIn(before)
  const results = parts.flatMap(({ functionResponse: result }) => (isJsonObject(result) ? [result] : []))
  if (open.length === 0 && results.length > 0)
    return 'Please ensure that function response turn comes immediately after a function call turn.'
  if (open.length !== results.length) return unequal
  for (const result of results) {
    const at = open.findIndex(({ id, name }) => id === result.id && name === result.name)
    if (at === -1)
      return `Expected a function response to have id and name of a function call, got ${JSON.stringify([result.id, result.name])}`
    open.splice(at, 1)
  }
  if (callsIn(parts).length > 0 && roleBefore !== 'user') {
    return 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
  }
  return undefined
}

function callsIn(parts: readonly JsonObject[]): JsonObject[] {
  return parts.flatMap(({ functionCall: call }) => (isJsonObject(call) ? [call] : []))
}

/** A part must have exactly one of these: https://ai.google.dev/api/caching#Part */
const data = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
]
const partFields = new Set([...data, 'thought', 'thoughtSignature', 'videoMetadata', 'mediaResolution', 'partMetadata'])

function refusePart(part: JsonObject, role: string): string | undefined {
  const unknown = unknownName(part, partFields, 'contents.parts')
  if (unknown !== undefined) return unknown
  if (data.filter((key) => part[key] !== undefined).length !== 1) return "required oneof field 'data' must have one initialized field"
  const { text, thoughtSignature: signature, functionCall: call, functionResponse: result, inlineData: bytes } = part
  if (text === '' && signature === undefined) return 'Unable to submit request because it must have a text parameter.'
  if (signature !== undefined && (typeof signature !== 'string' || !/^[\w+/-]+=*$/.test(signature))) return 'Base64 decoding failed'
  if (isJsonObject(bytes) && (typeof bytes.mimeType !== 'string' || bytes.mimeType === '' || typeof bytes.data !== 'string')) {
    return 'inline_data: mime_type must be specified'
  }
  if (isJsonObject(call)) {
    if (role !== 'model') return 'a function call must be in a turn of the model'
    return refuseName(call.name) ?? (isJsonObject(call.args) ? undefined : "Invalid value at 'function_call.args'")
  }
  if (!isJsonObject(result)) return undefined
  if (role !== 'user') return 'a function response must be in a turn of the user'
  return refuseName(result.name) ?? (isJsonObject(result.response) ? undefined : "Invalid value at 'function_response.response'")
}

function refuseName(name: Json | undefined): string | undefined {
  return typeof name === 'string' && name !== '' ? undefined : 'Name cannot be empty.'
}
