import { type ChatMessage, hasToolCalls, isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { ModelRequest, ModelSink, Sampling, ToolChoice } from '../chat-model.ts'
import { cacheKeyField } from '../conversion/cache-key.ts'
import { effortFields, isReasoning } from '../conversion/effort.ts'
import { fitConversation } from '../conversion/fit-conversation.ts'
import { fitResponseSchema } from '../conversion/response-schema.ts'
import { isStrictSchema } from '../conversion/strict-schema.ts'
import { choiceWarning, fitToolChoice } from '../conversion/tool-choice.ts'
import type { ErrorContext } from '../errors/provider-error.ts'
import { type Access, type Api, type ApiRequest, requestOptions } from '../transport/sdk-client.ts'
import type { AskOpenAI } from './client.ts'
import type { OpenAIQuirks } from './quirks.ts'
import { OpenAIResponse } from './response.ts'
import { OpenAIWire } from './wire.ts'

export const askCompletions: AskOpenAI = (sdk, { params }, exchange) =>
  sdk.chat.completions.create(params as Parameters<typeof sdk.chat.completions.create>[0], requestOptions(exchange)).asResponse()

/** Builds requests to Chat Completions in the form that one model accepts, and creates the readers of the responses. */
export class OpenAIApi implements Api<Access> {
  readonly #provider: string
  readonly #model: string
  readonly #quirks: OpenAIQuirks
  readonly #providerOptions: JsonObject
  readonly #wire: OpenAIWire

  constructor(provider: string, model: string, quirks: OpenAIQuirks, providerOptions: JsonObject = {}) {
    this.#provider = provider
    this.#model = model
    this.#quirks = quirks
    this.#providerOptions = providerOptions
    this.#wire = new OpenAIWire(provider, quirks)
  }

  build(request: ModelRequest, { baseURL }: Access): ApiRequest {
    const warnings = new Set<string>()
    const { messages: theirMessages, tools: theirTools, ...options } = { ...this.#providerOptions, ...request.providerOptions }
    if (theirMessages !== undefined) warnings.add('`messages` in `providerOptions` were left out: they come from the request itself')

    const messages = this.#wire.messages(this.#fitted(request.messages), warnings)
    const stream = request.stream !== false || !this.#quirks.wholeResponses
    const fields: { [key: string]: Json } = { model: this.#model, stream }
    if (stream && this.#quirks.streamOptions) fields.stream_options = { include_usage: true }
    const hasTheirs = Array.isArray(theirTools) && theirTools.length > 0
    this.#setEffort(fields, request, options, hasTheirs || (request.tools?.length ?? 0) > 0, warnings)
    this.#setSampling(fields, request, options.reasoning_effort ?? fields.reasoning_effort, warnings)
    const tools = this.#setTools(fields, request, options, theirTools, warnings)
    if (options.response_format === undefined) this.#setResponseFormat(fields, request, tools.length > 0, warnings)
    const { cacheKey } = request
    Object.assign(fields, cacheKey === undefined ? {} : cacheKeyField(cacheKey, this.#quirks.promptCacheKey, baseURL), options)

    const toolNames = new Set(request.tools?.map((tool) => tool.function.name))
    const params = { ...fields, messages, ...(tools.length === 0 ? {} : { tools }) }
    return { params, stream: fields.stream !== false, toolNames, warnings: [...warnings] }
  }

  open(context: ErrorContext, sink: ModelSink | undefined, { toolNames }: ApiRequest): OpenAIResponse {
    return new OpenAIResponse(context, sink, toolNames, this.#quirks.reportsCost)
  }

  #fitted(messages: readonly ChatMessage[]): readonly ChatMessage[] {
    const { systemMessages, messageOrder, endsWithAnswer } = this.#quirks
    const said = messages.some(isBlankAnswer) ? messages.filter((message) => !isBlankAnswer(message)) : messages
    const isFitting = systemMessages === 'anywhere' && messageOrder === 'any' && endsWithAnswer && !said.some(hasResultParts)
    if (isFitting) return said
    return fitConversation(said, { systemMessages, messageOrder, endsWithAnswer, movesPart: (part) => this.#wire.takesFromUser(part) })
  }

  #setEffort(
    fields: { [key: string]: Json },
    { reasoningEffort: effort }: ModelRequest,
    options: JsonObject,
    hasTools: boolean,
    warnings: Set<string>,
  ): void {
    const { unsupported, reasoningEffort: known, effortWithTools } = this.#quirks
    const model = `${this.#provider}/${this.#model}`
    if (hasTools && effortWithTools !== true) {
      if (options.reasoning_effort !== undefined) return
      if (effortWithTools === 'none') fields.reasoning_effort = 'none'
      if (effort !== 'none' && (effort !== undefined || effortWithTools === 'none'))
        warnings.add(
          `${model} was asked without reasoning: over Chat Completions it does not accept both reasoning and tools. \`api: 'responses'\` accepts both`,
        )
    } else if (effort !== undefined) {
      const taken = unsupported.includes('reasoningEffort') ? false : known
      Object.assign(
        fields,
        effortFields(effort, taken, model, warnings, (nearest) => ({ reasoning_effort: nearest })),
      )
    }
  }

  #setSampling(fields: { [key: string]: Json }, request: ModelRequest, effort: Json | undefined, warnings: Set<string>): void {
    const { maxTokensField, seedField, unsupported, reasons } = this.#quirks
    const set = (setting: keyof Sampling, field: string, goesWithReasoning = false): void => {
      const value = request[setting]
      if (value === undefined) return
      if (unsupported.includes(setting)) warnings.add(this.#leftOut(setting))
      else if (!goesWithReasoning && reasons !== null && isReasoning(reasons, effort))
        warnings.add(`\`${setting}\` was left out: it can’t be combined with reasoning`)
      else fields[field] = value
    }
    set('temperature', 'temperature')
    set('topP', 'top_p')
    set('maxOutputTokens', maxTokensField, true)
    set('stop', 'stop')
    set('seed', seedField, true)
    set('frequencyPenalty', 'frequency_penalty')
    set('presencePenalty', 'presence_penalty')
  }

  /** https://platform.openai.com/docs/guides/structured-outputs */
  #setResponseFormat(fields: { [key: string]: Json }, { responseSchema }: ModelRequest, hasTools: boolean, warnings: Set<string>): void {
    if (responseSchema === undefined) return
    const format = fitResponseSchema(responseSchema, this.#quirks.structuredOutput, hasTools, `${this.#provider}/${this.#model}`, warnings)
    if (format === undefined) return
    fields.response_format = { type: 'json_schema', json_schema: { ...format, strict: isStrictSchema(format.schema) } }
  }

  #setTools(
    fields: { [key: string]: Json },
    request: ModelRequest,
    options: JsonObject,
    theirTools: Json | undefined,
    warnings: Set<string>,
  ): readonly object[] {
    // The provider's own tools are passed on unchanged.
    const theirs = Array.isArray(theirTools) ? theirTools.filter(isJsonObject) : []
    const tools = [...(request.tools ?? []).map((tool) => this.#wire.tool(tool, warnings)), ...theirs]
    if (tools.length === 0) return this.#quirks.toolsOfCalls ? placeholders(request.messages) : []

    if (request.toolChoice === 'none' && !this.#quirks.toolChoice.includes('none')) {
      warnings.add(`The tools were left out: ${this.#provider} does not support the tool choice 'none'`)
      return []
    }
    if (request.toolChoice !== undefined) {
      const choice = this.#fitChoice(request.toolChoice, { ...fields, ...options })
      if (choice !== request.toolChoice) warnings.add(choiceWarning(request.toolChoice, choice, this.#provider))
      if (choice !== undefined) fields.tool_choice = typeof choice === 'string' ? choice : { ...choice }
    }
    if (request.parallelToolCalls !== undefined) {
      if (this.#quirks.parallelToolCalls) fields.parallel_tool_calls = request.parallelToolCalls
      else if (!request.parallelToolCalls) warnings.add(this.#leftOut('parallelToolCalls'))
    }
    return tools
  }

  #fitChoice(choice: ToolChoice, body: JsonObject): ToolChoice | undefined {
    const { toolChoice: taken, forcedChoiceWhileThinking } = this.#quirks
    const isForced = choice === 'required' || typeof choice === 'object'
    if (isForced && !forcedChoiceWhileThinking && !isThinkingOff(body)) return undefined
    return fitToolChoice(choice, taken)
  }

  #leftOut(setting: string): string {
    return `\`${setting}\` was left out: ${this.#provider}/${this.#model} does not support it`
  }
}

/** Creates definitions for tools that were called earlier but are not offered. */
function placeholders(messages: readonly ChatMessage[]): object[] {
  const names = new Set(messages.filter(hasToolCalls).flatMap(({ toolCalls }) => toolCalls.map((call) => call.function.name)))
  const parameters = { type: 'object', properties: {} }
  return [...names].map((name) => ({ type: 'function', function: { name, description: 'Not available now.', parameters } }))
}

/** Whether a message is an answer without text, which many servers refuse: https://github.com/AstrBotDevs/AstrBot/pull/7202 */
function isBlankAnswer(message: ChatMessage): boolean {
  return message.role === 'assistant' && !hasToolCalls(message) && message.content.trim() === ''
}

function hasResultParts({ role, content }: ChatMessage): boolean {
  return role === 'tool' && typeof content !== 'string'
}

/**
 * Thinking is turned off in the field `thinking.type` (https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model) or
 * `enable_thinking` (https://help.aliyun.com/zh/model-studio/deep-thinking).
 */
function isThinkingOff({ thinking, enable_thinking: enabled }: JsonObject): boolean {
  if (enabled === false) return true
  return typeof thinking === 'object' && thinking !== null && 'type' in thinking && thinking.type === 'disabled'
}
