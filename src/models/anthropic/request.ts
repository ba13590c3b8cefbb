import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import type { ModelRequest, ModelSink, ToolChoice } from '../chat-model.ts'
import { effortFields } from '../conversion/effort.ts'
import { beginning, fitConversation } from '../conversion/fit-conversation.ts'
import { fitResponseSchema } from '../conversion/response-schema.ts'
import { isToolSearch, type SearchedTools, searchedTools } from '../conversion/tool-search.ts'
import type { ErrorContext } from '../errors/provider-error.ts'
import type { Access, Api, ApiRequest } from '../transport/sdk-client.ts'
import type { AnthropicQuirks } from './quirks.ts'
import { AnthropicResponse } from './response.ts'
import { anthropicSchema } from './schema.ts'
import { AnthropicWire, type WireMessage } from './wire.ts'

/** The smallest budget for thinking, in tokens: https://platform.claude.com/docs/en/build-with-claude/extended-thinking */
const leastBudget = 1024

/** https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool#limits-and-best-practices */
const mostDeferred = 10_000

/**
 * The provider's tool search. It is sent as the last tool, because the last tool gets the mark for caching, which the API refuses on a
 * deferred tool.
 */
const toolSearch = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }

/** Builds requests to the Messages API in the form that one model accepts, and creates the readers of the responses. */
export class AnthropicApi implements Api<Access, ApiRequest, AnthropicResponse> {
  readonly #provider: string
  readonly #model: string
  readonly #quirks: AnthropicQuirks
  readonly #providerOptions: JsonObject
  readonly #wire: AnthropicWire

  constructor(provider: string, model: string, quirks: AnthropicQuirks, providerOptions: JsonObject = {}) {
    this.#provider = provider
    this.#model = model
    this.#quirks = quirks
    this.#providerOptions = providerOptions
    this.#wire = new AnthropicWire(provider, quirks)
  }

  build(given: ModelRequest, { baseURL }: Access, paused?: AnthropicResponse): ApiRequest {
    const request = paused === undefined ? given : { ...given, messages: [...given.messages, paused.pause()] }
    const warnings = new Set<string>()
    const {
      messages,
      system,
      tools: theirTools,
      promptCaching,
      output_config,
      ...options
    } = { ...this.#providerOptions, ...request.providerOptions }
    if (messages !== undefined || system !== undefined) {
      warnings.add('`messages` and `system` in `providerOptions` were left out: they come from the request itself')
    }
    const caches = typeof promptCaching === 'boolean' ? promptCaching : this.#quirks.promptCaching
    const theirs = Array.isArray(theirTools) ? theirTools.filter(isJsonObject) : []
    const searches = request.searchable !== undefined && (this.#quirks.toolSearch ?? isAnthropic(baseURL))
    const searched = searches ? searchedTools(request, mostDeferred) : undefined
    const conversation = this.#converse(request, takesBack(request, searched, theirs), paused !== undefined, warnings)
    const fields: JsonObject = {
      model: this.#model,
      max_tokens: request.maxOutputTokens ?? this.#quirks.maxTokens,
      stream: request.stream !== false,
      ...withoutUndefined({ container: conversation.container }),
    }
    const own = this.#tools(request, searched, conversation.toolNames, warnings)
    if (searched !== undefined && !theirs.some(isToolSearch)) own.push(toolSearch)
    const tools = [...own, ...theirs]
    const asked = own.length > 0 && request.tools !== undefined && request.tools.length > 0
    this.#setThinking(fields, options, request, asked, warnings)
    this.#setSampling(fields, options, request, warnings)
    if (asked) Object.assign(fields, this.#choice(request, { ...fields, ...options }, warnings))
    // All tools of this request are placeholders, which the model must not call.
    else if (own.length > 0) fields.tool_choice = { type: 'none' }
    this.#setOutput(fields, output_config, request, tools.length > 0, warnings)
    Object.assign(fields, options)

    const params = {
      ...fields,
      ...(tools.length === 0 ? {} : { tools: caches ? marked(tools) : tools }),
      ...(conversation.system.length === 0 ? {} : { system: caches ? marked(conversation.system) : conversation.system }),
      messages: wireTurns(conversation.turns, caches),
    }
    const toolNames = new Set([...(request.tools ?? []), ...(searched?.deferred ?? [])].map((tool) => tool.function.name))
    return { params, stream: fields.stream !== false, toolNames, warnings: [...warnings] }
  }

  open(context: ErrorContext, sink: ModelSink | undefined, { toolNames }: ApiRequest): AnthropicResponse {
    return new AnthropicResponse(context, sink, toolNames)
  }

  /** Groups messages into turns, each with one role, because all tool results of a turn belong in one message. */
  #converse(
    { messages }: ModelRequest,
    takesBack: (found: readonly string[]) => boolean,
    isPaused: boolean,
    warnings: Set<string>,
  ): Conversation {
    const system: JsonObject[] = []
    const turns: Turn[] = []
    const toolNames = new Set<string>()
    let container: string | undefined
    const { systemMessages, messageOrder } = this.#quirks
    const endsWithAnswer = isPaused || this.#quirks.endsWithAnswer
    const ids = this.#wire.callIds()
    for (const message of fitConversation(messages, { systemMessages, messageOrder, endsWithAnswer, movesPart: () => false })) {
      const whole = this.#wire.message(message, ids, warnings)
      const wire = whole.search === undefined || takesBack(whole.search.found) ? whole : whole.search.without
      for (const name of wire.toolNames) toolNames.add(name)
      container = wire.container ?? container
      if (wire.blocks.length === 0) continue
      if (wire.role === 'system' && turns.length === 0) system.push(...wire.blocks)
      else addTo(turns, wire)
    }
    if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', results: [], blocks: [{ type: 'text', text: beginning }] })
    return { system, turns, toolNames, container }
  }

  /**
   * The tools to offer. The API refuses a conversation with calls but no tools, so placeholders are sent for the tools that were called.
   */
  #tools(
    { tools = [] }: ModelRequest,
    searched: SearchedTools | undefined,
    called: ReadonlySet<string>,
    warnings: Set<string>,
  ): JsonObject[] {
    if (tools.length === 0) return [...called].map((name) => ({ name, input_schema: { type: 'object' } }))
    const shown = (searched?.tools ?? tools).map((tool) => this.#wire.tool(tool, warnings))
    return [...shown, ...(searched?.deferred ?? []).map((tool) => this.#wire.tool(tool, warnings, { defer_loading: true }))]
  }

  #setThinking(fields: JsonObject, options: JsonObject, request: ModelRequest, hasTools: boolean, warnings: Set<string>): void {
    const effort = request.reasoningEffort
    const model = `${this.#provider}/${this.#model}`
    if (effort !== undefined) Object.assign(fields, effortFields(effort, this.#quirks.reasoningEffort, model, warnings))
    const isForced = hasTools && forces(request.toolChoice)
    if (isForced && options.thinking === undefined && this.#quirks.thinks !== 'always') {
      if (isOn(fields.thinking)) {
        delete fields.thinking
        warnings.add('Thinking was left out: it can’t be combined with a tool choice that forces a call')
      }
      if (this.#quirks.thinks === 'by-default') fields.thinking = { type: 'disabled' }
    }
    this.#fitBudget(fields, options, warnings)
  }

  /**
   * Sets `output_config`, which contains the response schema and the effort:
   * https://platform.claude.com/docs/en/build-with-claude/structured-outputs
   */
  #setOutput(fields: JsonObject, theirs: Json | undefined, request: ModelRequest, hasTools: boolean, warnings: Set<string>): void {
    const given = isJsonObject(theirs) ? theirs : {}
    const format = given.format === undefined ? this.#format(request, hasTools, warnings) : {}
    const all = { ...(isJsonObject(fields.output_config) ? fields.output_config : {}), ...format, ...given }
    if (Object.keys(all).length > 0) fields.output_config = all
  }

  #format({ responseSchema }: ModelRequest, hasTools: boolean, warnings: Set<string>): JsonObject {
    if (responseSchema === undefined) return {}
    const model = `${this.#provider}/${this.#model}`
    const asked = fitResponseSchema(responseSchema, this.#quirks.structuredOutput, hasTools, model, warnings)
    if (asked === undefined) return {}
    const fitted = anthropicSchema(asked.schema)
    if ('schema' in fitted) return { format: { type: 'json_schema', schema: fitted.schema } }
    warnings.add(`\`responseSchema\` was left out: ${model} does not support one that ${fitted.problem}`)
    return {}
  }

  /** Keeps the thinking budget below `max_tokens`, because `max_tokens` must also cover the answer. */
  #fitBudget(fields: JsonObject, options: JsonObject, warnings: Set<string>): void {
    const { thinking } = fields
    const most = options.max_tokens ?? fields.max_tokens
    if (!isJsonObject(thinking) || typeof thinking.budget_tokens !== 'number' || typeof most !== 'number') return
    const budget = Math.min(thinking.budget_tokens, Math.floor(most * 0.8))
    if (budget >= leastBudget) fields.thinking = { ...thinking, budget_tokens: budget }
    else {
      delete fields.thinking
      warnings.add(`Thinking was left out: it takes at least ${leastBudget} tokens of \`max_tokens\`, which is ${most}`)
    }
  }

  #setSampling(fields: JsonObject, options: JsonObject, request: ModelRequest, warnings: Set<string>): void {
    const { unsupported, thinks } = this.#quirks
    const { temperature, topP, stop } = request
    for (const name of ['seed', 'frequencyPenalty', 'presencePenalty'] as const) {
      if (request[name] !== undefined) warnings.add(this.#leftOut(name))
    }
    const thinking = options.thinking ?? fields.thinking
    const isThinking = thinking === undefined ? thinks !== 'when-asked' : isOn(thinking)
    if (temperature !== undefined) {
      if (unsupported.includes('temperature')) warnings.add(this.#leftOut('temperature'))
      else if (isThinking) warnings.add('`temperature` was left out: it can’t be combined with thinking')
      else {
        fields.temperature = Math.min(temperature, 1)
        if (temperature > 1) warnings.add(`\`temperature\` ${temperature} was sent as 1, the highest ${this.#provider} takes`)
      }
    }
    if (topP !== undefined) {
      if (unsupported.includes('topP')) warnings.add(this.#leftOut('topP'))
      // https://platform.claude.com/docs/en/about-claude/models/migration-guide
      else if (fields.temperature !== undefined) warnings.add('`topP` was left out: it can’t be combined with `temperature`')
      else if (isThinking && topP < 0.95) warnings.add('`topP` was left out: below 0.95 it can’t be combined with thinking')
      else fields.top_p = topP
    }
    if (stop === undefined) return
    if (unsupported.includes('stop')) warnings.add(this.#leftOut('stop'))
    else fields.stop_sequences = stop
  }

  #choice({ toolChoice, parallelToolCalls }: ModelRequest, body: JsonObject, warnings: Set<string>): JsonObject {
    let choice = toolChoice
    const thinks = this.#quirks.thinks === 'always' || isOn(body.thinking)
    if (forces(choice) && thinks) {
      warnings.add(`The tool choice ${JSON.stringify(choice)} was left out: it can’t be combined with thinking`)
      choice = undefined
    }
    if (choice === 'none') return { tool_choice: { type: 'none' } }
    const single: JsonObject = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
    if (choice === undefined && parallelToolCalls !== false) return {}
    return { tool_choice: { ...wireChoice(choice ?? 'auto'), ...single } }
  }

  #leftOut(setting: string): string {
    return `\`${setting}\` was left out: ${this.#provider}/${this.#model} does not support it`
  }
}

/** Whether a tool search of an earlier response may be sent back. True only if the request defines every tool that the search found. */
function takesBack(
  { tools = [] }: ModelRequest,
  searched: SearchedTools | undefined,
  theirs: readonly JsonObject[],
): (found: readonly string[]) => boolean {
  if (searched === undefined && !theirs.some(isToolSearch)) return () => false
  let names: ReadonlySet<unknown> | undefined
  return (found) => {
    const own = [...(searched?.tools ?? tools), ...(searched?.deferred ?? [])]
    names ??= new Set([...own.map(({ function: { name } }) => name), ...theirs.map(({ name }) => name)])
    return found.every((name) => names?.has(name))
  }
}

export function isAnthropic(baseURL: string): boolean {
  return new URL(baseURL).hostname === 'api.anthropic.com'
}

interface Turn {
  role: 'user' | 'assistant'
  results: JsonObject[]
  blocks: JsonObject[]
  /** The system messages after this turn. */
  system?: JsonObject[]
}

interface Conversation {
  system: JsonObject[]
  turns: Turn[]
  toolNames: ReadonlySet<string>
  container: string | undefined
}

function addTo(turns: Turn[], { role, blocks, areResults }: WireMessage): void {
  const side = role === 'assistant' ? 'assistant' : 'user'
  let turn = turns.at(-1)
  if (turn?.role !== side) {
    turn = { role: side, results: [], blocks: [] }
    turns.push(turn)
  }
  if (role === 'system') turn.system = [...(turn.system ?? []), ...blocks]
  else (areResults ? turn.results : turn.blocks).push(...blocks)
}

/**
 * Converts turns to messages. If `caches` is true, marks two messages for caching: the last one, and the last one of the previous request.
 * The API looks for cached content only in the 20 blocks before a mark, and a turn with many calls has more blocks.
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching#how-automatic-prefix-checking-works
 */
function wireTurns(turns: readonly Turn[], caches: boolean): JsonObject[] {
  const last = turns.length - 1
  const before = turns[last]?.role === 'user' ? turns.findLastIndex(({ role }, at) => role === 'user' && at < last) : -1
  return turns.flatMap(({ role, results, blocks, system }, at) => {
    const content = [...results, ...(at === last && role === 'assistant' ? withoutLastBlanks(blocks) : blocks)]
    // Fills a user turn that has only a system message, because the API accepts a system message only after a user turn:
    // https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
    if (content.length === 0) content.push({ type: 'text', text: '[the user has said nothing]' })
    const turn = { role, content: caches && (at === last || at === before) ? marked(content) : content }
    return system === undefined ? [turn] : [turn, { role: 'system', content: system }]
  })
}

/** Removes white space at the end of the last message, because the API refuses it: https://github.com/tailcallhq/forgecode/issues/1872 */
function withoutLastBlanks(blocks: readonly JsonObject[]): JsonObject[] {
  const last = blocks.at(-1)
  return typeof last?.text === 'string' ? [...blocks.slice(0, -1), { ...last, text: last.text.trimEnd() }] : [...blocks]
}

/** https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools#controlling-claudes-output */
function wireChoice(choice: Exclude<ToolChoice, 'none'>): JsonObject {
  if (typeof choice === 'object') return { type: 'tool', name: choice.function.name }
  return { type: choice === 'required' ? 'any' : 'auto' }
}

function forces(choice: ToolChoice | undefined): boolean {
  return choice === 'required' || typeof choice === 'object'
}

function isOn(thinking: Json | undefined): boolean {
  return isJsonObject(thinking) && thinking.type !== 'disabled'
}

/**
 * Marks the last block as the end of the cached prefix. The last block is never thinking, which can't be marked.
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
function marked(blocks: readonly JsonObject[]): JsonObject[] {
  const last = blocks.at(-1)
  if (last === undefined) return [...blocks]
  return [...blocks.slice(0, -1), { ...last, cache_control: { type: 'ephemeral' } }]
}
