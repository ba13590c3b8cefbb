import { type FilePart, type ImagePart, isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { ModelRequest, ModelSink, ToolChoice } from '../chat-model.ts'
import { cacheKeyField, isOpenAI } from '../conversion/cache-key.ts'
import { effortFields, isReasoning } from '../conversion/effort.ts'
import { fitConversation } from '../conversion/fit-conversation.ts'
import { fitResponseSchema } from '../conversion/response-schema.ts'
import { isStrictSchema } from '../conversion/strict-schema.ts'
import { choiceWarning, fitToolChoice } from '../conversion/tool-choice.ts'
import { isToolSearch, type SearchedTools } from '../conversion/tool-search.ts'
import type { ErrorContext } from '../errors/provider-error.ts'
import type { AskOpenAI } from '../openai/client.ts'
import { type Access, type Api, type ApiRequest, requestOptions } from '../transport/sdk-client.ts'
import { converse } from './input.ts'
import { namesOf } from './items.ts'
import type { ResponsesQuirks } from './quirks.ts'
import { ResponsesResponse } from './response.ts'
import { ResponsesWire } from './wire.ts'

/** Fields of `providerOptions` that would add another conversation to the messages of the request. */
const conversationFields = ['input', 'previous_response_id', 'conversation']

export const askResponses: AskOpenAI = (sdk, { params }, exchange) =>
  sdk.responses.create(params as Parameters<typeof sdk.responses.create>[0], requestOptions(exchange)).asResponse()

/** Builds requests to the Responses API in the form that one model accepts, and creates the readers of the responses. */
export class ResponsesApi implements Api<Access> {
  readonly #provider: string
  readonly #model: string
  readonly #quirks: ResponsesQuirks
  readonly #providerOptions: JsonObject
  readonly #wire: ResponsesWire

  constructor(provider: string, model: string, quirks: ResponsesQuirks, providerOptions: JsonObject = {}) {
    this.#provider = provider
    this.#model = model
    this.#quirks = quirks
    this.#providerOptions = providerOptions
    this.#wire = new ResponsesWire(provider, quirks)
  }

  build(request: ModelRequest, { baseURL }: Access): ApiRequest {
    const warnings = new Set<string>()
    const { tools: theirTools, reasoning, include, text, ...options } = { ...this.#providerOptions, ...request.providerOptions }
    for (const field of conversationFields) {
      if (options[field] !== undefined) warnings.add(`\`${field}\` in \`providerOptions\` was left out: it comes from the request itself`)
      delete options[field]
    }
    const fields: JsonObject = { model: this.#model, stream: request.stream !== false }
    if (this.#quirks.stateless) fields.store = false
    this.#setReasoning(fields, reasoning, include, request, warnings)
    this.#setSampling(fields, request, warnings)

    const theirs = Array.isArray(theirTools) ? theirTools.filter(isJsonObject) : []
    const searches = request.searchable !== undefined && (this.#quirks.toolSearch ?? isOpenAI(baseURL))
    const { systemMessages, messageOrder, toolContentParts, contentParts } = this.#quirks
    const movesPart = ({ type }: ImagePart | FilePart) => !toolContentParts && contentParts.includes(type)
    const fitted = {
      ...request,
      messages: fitConversation(request.messages, { systemMessages, messageOrder, endsWithAnswer: true, movesPart }),
    }
    const { input, searched } = converse(fitted, this.#wire, searches, theirs, warnings)
    let tools = [...this.#tools(request, searched, theirs, warnings), ...theirs]
    if (tools.length > 0 && !this.#setToolFields(fields, request, warnings)) tools = []
    this.#setText(fields, text, request, tools.length > 0, warnings)
    const { cacheKey } = request
    Object.assign(fields, cacheKey === undefined ? {} : cacheKeyField(cacheKey, this.#quirks.promptCacheKey, baseURL), options)

    const own = [...(request.tools ?? []), ...(searched?.deferred ?? [])]
    const toolNames = new Set([...own.map((tool) => tool.function.name), ...namesOf(theirs)])
    const params = { ...fields, input, ...(tools.length === 0 ? {} : { tools }) }
    return { params, stream: fields.stream !== false, toolNames, warnings: [...warnings] }
  }

  open(context: ErrorContext, sink: ModelSink | undefined, { toolNames }: ApiRequest): ResponsesResponse {
    return new ResponsesResponse(context, sink, toolNames)
  }

  #tools(
    { tools = [] }: ModelRequest,
    searched: SearchedTools | undefined,
    theirs: readonly JsonObject[],
    warnings: Set<string>,
  ): JsonObject[] {
    if (tools.length === 0) return []
    const shown = (searched?.tools ?? tools).map((tool) => this.#wire.tool(tool, warnings))
    const deferred = (searched?.deferred ?? []).map((tool) => this.#wire.tool(tool, warnings, { defer_loading: true }))
    const search = searched === undefined || theirs.some(isToolSearch) ? [] : [{ type: 'tool_search' }]
    return [...shown, ...deferred, ...search]
  }

  /** Requests encrypted reasoning, which can be sent back. The server stores no reasoning. */
  #setReasoning(
    fields: JsonObject,
    theirs: Json | undefined,
    include: Json | undefined,
    request: ModelRequest,
    warnings: Set<string>,
  ): void {
    const { reasons, stateless, reasoningEffort: known } = this.#quirks
    const effort = request.reasoningEffort
    if (effort !== undefined) {
      const inWords = (nearest: string) => ({ reasoning: { effort: nearest } })
      const model = `${this.#provider}/${this.#model}`
      Object.assign(fields, effortFields(effort, reasons === 'never' ? false : known, model, warnings, inWords))
    }
    if (isJsonObject(theirs)) fields.reasoning = { ...(isJsonObject(fields.reasoning) ? fields.reasoning : {}), ...theirs }
    const asked = Array.isArray(include) ? include : []
    const all = stateless && reasons !== 'never' ? ['reasoning.encrypted_content', ...asked] : asked
    if (all.length > 0) fields.include = [...new Set(all)]
  }

  /**
   * Sets the response schema. Without `strict`, the API makes the schema strict itself.
   * https://platform.openai.com/docs/guides/structured-outputs
   */
  #setText(fields: JsonObject, theirs: Json | undefined, { responseSchema }: ModelRequest, hasTools: boolean, warnings: Set<string>): void {
    const own: JsonObject = {}
    if (responseSchema !== undefined && (!isJsonObject(theirs) || theirs.format === undefined)) {
      const format = fitResponseSchema(
        responseSchema,
        this.#quirks.structuredOutput,
        hasTools,
        `${this.#provider}/${this.#model}`,
        warnings,
      )
      if (format !== undefined) own.format = { type: 'json_schema', ...format, strict: isStrictSchema(format.schema) }
    }
    if (isJsonObject(theirs) || own.format !== undefined) fields.text = { ...own, ...(isJsonObject(theirs) ? theirs : {}) }
  }

  #setSampling(fields: JsonObject, request: ModelRequest, warnings: Set<string>): void {
    const { unsupported, leastOutputTokens } = this.#quirks
    for (const name of ['stop', 'seed', 'frequencyPenalty', 'presencePenalty'] as const) {
      if (request[name] !== undefined) warnings.add(this.#leftOut(name))
    }
    const reasoning = isReasoning(this.#quirks.reasons, isJsonObject(fields.reasoning) ? fields.reasoning.effort : undefined)
    for (const [name, field] of [
      ['temperature', 'temperature'],
      ['topP', 'top_p'],
    ] as const) {
      const value = request[name]
      if (value === undefined) continue
      if (unsupported.includes(name)) warnings.add(this.#leftOut(name))
      else if (reasoning) warnings.add(`\`${name}\` was left out: it can’t be combined with reasoning`)
      else fields[field] = value
    }
    const most = request.maxOutputTokens
    if (most === undefined) return
    if (unsupported.includes('maxOutputTokens')) warnings.add(this.#leftOut('maxOutputTokens'))
    else fields.max_output_tokens = Math.max(most, leastOutputTokens)
    if (most < leastOutputTokens)
      warnings.add(`\`maxOutputTokens\` ${most} was sent as ${leastOutputTokens}, the least that ${this.#provider} accepts`)
  }

  /** Sets the fields about tools. Returns false if the tools themselves must be left out. */
  #setToolFields(fields: JsonObject, { toolChoice, parallelToolCalls }: ModelRequest, warnings: Set<string>): boolean {
    const { toolChoice: taken, parallelToolCalls: takesParallel } = this.#quirks
    if (toolChoice === 'none' && !taken.includes('none')) {
      warnings.add(`The tools were left out: ${this.#provider} does not support the tool choice 'none'`)
      return false
    }
    if (toolChoice !== undefined) {
      const sent = fitToolChoice(toolChoice, taken)
      if (sent !== toolChoice) warnings.add(choiceWarning(toolChoice, sent, this.#provider))
      if (sent !== undefined) fields.tool_choice = wireChoice(sent)
    }
    if (parallelToolCalls !== undefined) {
      if (takesParallel) fields.parallel_tool_calls = parallelToolCalls
      else if (!parallelToolCalls) warnings.add(this.#leftOut('parallelToolCalls'))
    }
    return true
  }

  #leftOut(setting: string): string {
    return `\`${setting}\` was left out: ${this.#provider}/${this.#model} does not support it`
  }
}

function wireChoice(choice: ToolChoice): Json {
  return typeof choice === 'object' ? { type: 'function', name: choice.function.name } : choice
}
