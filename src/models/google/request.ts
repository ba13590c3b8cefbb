import { type FilePart, type ImagePart, isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import type { ModelRequest, ModelSink, ToolChoice } from '../chat-model.ts'
import { effortFields } from '../conversion/effort.ts'
import { beginning, fitConversation } from '../conversion/fit-conversation.ts'
import { fitResponseSchema } from '../conversion/response-schema.ts'
import type { ErrorContext } from '../errors/provider-error.ts'
import type { Access, Api, ApiRequest } from '../transport/sdk-client.ts'
import type { GoogleQuirks } from './quirks.ts'
import { GoogleResponse } from './response.ts'
import { geminiJsonSchema, openAPISchema } from './schema.ts'
import { GoogleWire, wireName } from './wire.ts'

export interface GoogleBody extends ApiRequest {
  /** The original names of renamed tools, keyed by the names that are sent. */
  names: ReadonlyMap<string, string>
}

/** https://ai.google.dev/api/generate-content#generationconfig */
const mostStops = 5

/** Builds requests to `generateContent` in the form that one model accepts, and creates the readers of the responses. */
export class GoogleApi implements Api<Access, GoogleBody, GoogleResponse> {
  readonly #provider: string
  readonly #model: string
  readonly #quirks: GoogleQuirks
  readonly #providerOptions: JsonObject
  readonly #wire: GoogleWire

  constructor(provider: string, model: string, quirks: GoogleQuirks, providerOptions: JsonObject = {}) {
    this.#provider = provider
    this.#model = model
    this.#quirks = quirks
    this.#providerOptions = providerOptions
    this.#wire = new GoogleWire(provider, quirks)
  }

  build(request: ModelRequest, _access: Access, paused?: GoogleResponse): GoogleBody {
    const warnings = new Set<string>()
    const options = { ...this.#providerOptions, ...request.providerOptions }
    const { contents, systemInstruction, tools: theirTools, generationConfig, toolConfig, ...others } = options
    const [generation, calling] = [plain(generationConfig), plain(toolConfig)]
    if (contents !== undefined || systemInstruction !== undefined) {
      warnings.add('`contents` and `systemInstruction` in `providerOptions` were left out: they come from the request itself')
    }
    const theirs = Array.isArray(theirTools) ? theirTools : []
    const declared = (request.tools ?? []).map((tool) => this.#wire.tool(tool, warnings))
    const hasTools = declared.length > 0 || theirs.length > 0
    const tools = declared.length === 0 ? theirs : [{ functionDeclarations: declared }, ...theirs]
    const { system, contents: ours } = this.#converse(request, warnings)
    // The SDK copies `extraBody` into the request body. It drops all other fields that it does not know.
    const extraBody = {
      ...others,
      ...optional('generationConfig', generation),
      ...optional('toolConfig', calling),
      ...(theirs.length === 0 ? {} : { tools }),
    }
    const config = {
      ...without(this.#generationConfig(request, generation, hasTools, warnings), generation),
      ...optional('toolConfig', without(this.#toolConfig(request, warnings), calling)),
      ...(declared.length === 0 || theirs.length > 0 ? {} : { tools }),
      ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
      ...withoutUndefined({ continuationToken: paused?.pause() }),
      httpOptions: { extraBody },
    }
    const params = { model: this.#model, contents: ours, config }
    const toolNames = new Set(request.tools?.map((tool) => tool.function.name))
    return { params, stream: request.stream !== false, toolNames, names: renamedTools(request), warnings: [...warnings] }
  }

  open(context: ErrorContext, sink: ModelSink | undefined, { toolNames, names }: GoogleBody): GoogleResponse {
    return new GoogleResponse(context, sink, toolNames, names)
  }

  /**
   * Moves all system messages to the start, because the API does not support later system messages. All results of a turn are sent in one
   * `Content`. Consecutive model messages are joined, because a `Content` with calls must directly follow a `Content` with the role `user`.
   */
  #converse({ messages }: ModelRequest, warnings: Set<string>): { system: JsonObject[]; contents: JsonObject[] } {
    const system: JsonObject[] = []
    const contents: { kind: 'user' | 'model' | 'results'; parts: JsonObject[] }[] = []
    let callNames: ReadonlyMap<string, string> | undefined
    const movesPart = (part: ImagePart | FilePart) => this.#wire.movesPart(part)
    for (const message of fitConversation(messages, { systemMessages: 'as-user', messageOrder: 'any', endsWithAnswer: true, movesPart })) {
      const { kind, parts, callNames: names } = this.#wire.message(message, callNames, warnings)
      if (kind === 'model') callNames = names
      if (parts.length === 0) continue
      const last = contents.at(-1)
      if (kind === 'system') system.push(...parts)
      else if (last?.kind === kind && kind !== 'user') last.parts.push(...parts)
      else contents.push({ kind, parts: [...parts] })
    }
    if (contents[0]?.kind !== 'user') contents.unshift({ kind: 'user', parts: [{ text: beginning }] })
    return { system, contents: contents.map(({ kind, parts }) => ({ role: kind === 'model' ? 'model' : 'user', parts })) }
  }

  /** https://ai.google.dev/gemini-api/docs/function-calling#function_calling_modes */
  #toolConfig({ tools = [], toolChoice, parallelToolCalls }: ModelRequest, warnings: Set<string>): JsonObject {
    if (tools.length === 0) return {}
    if (parallelToolCalls === false) warnings.add(this.#leftOut('parallelToolCalls'))
    return toolChoice === undefined ? {} : { functionCallingConfig: wireChoice(toolChoice) }
  }

  #generationConfig(request: ModelRequest, theirs: JsonObject, hasTools: boolean, warnings: Set<string>): JsonObject {
    const { temperature, topP, seed, frequencyPenalty, presencePenalty, stop, maxOutputTokens } = request
    const fields: JsonObject = maxOutputTokens === undefined ? {} : { maxOutputTokens }
    for (const [name, value] of Object.entries({ temperature, topP, seed, frequencyPenalty, presencePenalty, stop })) {
      if (value === undefined) continue
      if (this.#quirks.unsupported.includes(name)) warnings.add(this.#leftOut(name))
      else if (Array.isArray(value)) fields.stopSequences = this.#stops(value, warnings)
      else fields[name] = value
    }
    const thinking = theirs.thinkingConfig === undefined ? this.#thinking(request, warnings) : {}
    return { ...fields, ...optional('thinkingConfig', thinking), ...this.#responseFormat(request, theirs, hasTools, warnings) }
  }

  /** https://ai.google.dev/gemini-api/docs/structured-output */
  #responseFormat({ responseSchema }: ModelRequest, theirs: JsonObject, hasTools: boolean, warnings: Set<string>): JsonObject {
    const isJson = theirs.responseMimeType === undefined || theirs.responseMimeType === 'application/json'
    if (responseSchema === undefined || !isJson || theirs.responseSchema !== undefined || theirs.responseJsonSchema !== undefined) return {}
    const { structuredOutput, toolSchema } = this.#quirks
    const format = fitResponseSchema(responseSchema, structuredOutput, hasTools, `${this.#provider}/${this.#model}`, warnings)
    if (format === undefined) return {}
    const schema = toolSchema === 'json-schema' ? geminiJsonSchema(format.schema) : openAPISchema(format.schema)
    const field = toolSchema === 'json-schema' ? 'responseJsonSchema' : 'responseSchema'
    return { responseMimeType: 'application/json', ...withoutUndefined({ [field]: schema }) }
  }

  #thinking({ reasoningEffort: effort }: ModelRequest, warnings: Set<string>): JsonObject {
    const model = `${this.#provider}/${this.#model}`
    const asked = effort === undefined ? {} : effortFields(effort, this.#quirks.reasoningEffort, model, warnings)
    return { ...(this.#quirks.includeThoughts ? { includeThoughts: true } : {}), ...asked }
  }

  #stops(stop: readonly string[], warnings: Set<string>): string[] {
    if (stop.length > mostStops)
      warnings.add(`Of ${stop.length} \`stop\` texts, only the first ${mostStops} were sent, the most that ${this.#provider} accepts`)
    return stop.slice(0, mostStops)
  }

  #leftOut(setting: string): string {
    return `\`${setting}\` was left out: ${this.#provider}/${this.#model} does not support it`
  }
}

function renamedTools({ tools = [] }: ModelRequest): ReadonlyMap<string, string> {
  const names = tools.map(({ function: { name } }) => name)
  return new Map(names.flatMap((name) => (wireName(name) === name ? [] : [[wireName(name), name]])))
}

function wireChoice(choice: ToolChoice): JsonObject {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [wireName(choice.function.name)] }
  return { mode: choice === 'required' ? 'ANY' : choice === 'none' ? 'NONE' : 'AUTO' }
}

function optional(name: string, fields: JsonObject): JsonObject {
  return Object.keys(fields).length === 0 ? {} : { [name]: fields }
}

function without(fields: JsonObject, others: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(others, name)))
}

function plain(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
