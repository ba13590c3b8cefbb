import { ModelError } from '../core/errors.ts'
import { isDeepFrozen, type MessageInput, toChatMessage } from '../core/message-input.ts'
import { addUsage, type Content, hasToolCalls, isJsonObject, type Json, type JsonObject, type Usage } from '../core/messages.ts'
import type { ToolDefinition } from '../tools/tool.ts'
import { isModelError, type ModelCapabilities, type ModelRequest, type ModelResponse } from './chat-model.ts'

/** The approximate number of tokens of an image or a document. */
const partTokens = 1_500
const messageTokens = 4

/** The estimated number of tokens in the first response. */
const firstTokens = 500

/** Estimates the length of the next response from the lengths of previous responses. */
export class ExpectedOutput {
  #tokens = firstTokens

  /** Returns the estimate in tokens, at most `most`. */
  tokens(most: number = Number.POSITIVE_INFINITY): number {
    return Math.min(most, this.#tokens)
  }

  /** Ignores a response without output tokens, for example of a failed request. */
  learn({ outputTokens }: Pick<Usage, 'outputTokens'>): void {
    if (outputTokens > 0) this.#tokens += Math.round((outputTokens - this.#tokens) / 5)
  }
}

/**
 * Completes the usage that a model reports, so that it can be added up. Keeps only finite numbers ≥ 0, and derives missing counts from the
 * other counts. Undefined if no tokens are reported.
 */
export function wholeUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined
  const input = count(usage.inputTokens)
  const output = count(usage.outputTokens)
  const total = count(usage.totalTokens)
  if (input === undefined && output === undefined && total === undefined) return undefined
  const inputTokens = input ?? Math.max(0, (total ?? 0) - (output ?? 0))
  const outputTokens = output ?? Math.max(0, (total ?? 0) - inputTokens)
  const whole: Usage = { inputTokens, outputTokens, totalTokens: Math.max(total ?? 0, inputTokens + outputTokens) }
  for (const key of ['reasoningTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] as const) {
    const value = count(usage[key])
    if (value !== undefined) whole[key] = value
  }
  return whole
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

type Count =
  | 'prompt'
  | 'input'
  | 'toolInput'
  | 'output'
  | 'thoughts'
  | 'total'
  | 'reasoning'
  | 'cacheRead'
  | 'cacheWrite'
  | 'cacheReadApart'
  | 'cacheWriteApart'

/**
 * The providers' names for their counts. Each name also exists in camel case. Gateways mix the names of different APIs.
 * - Chat Completions and Responses: https://platform.openai.com/docs/api-reference/responses/object#usage; `prompt_cache_hit_tokens` of
 *   DeepSeek
 * - Messages and Bedrock: input counts exclude tokens that were read from the cache or written to it:
 *   https://platform.claude.com/docs/en/build-with-claude/prompt-caching#tracking-cache-performance
 * - Gemini: the prompt count excludes the tokens that its own tools read; the answer count excludes thoughts:
 *   https://ai.google.dev/api/generate-content#UsageMetadata
 * - Ollama: https://docs.ollama.com/api/usage
 */
const countNames: Record<Count, string> = {
  prompt: 'prompt_tokens prompt_token_count prompt_eval_count',
  input: 'input_tokens input_token_count',
  toolInput: 'tool_use_prompt_token_count',
  output: 'completion_tokens output_tokens candidates_token_count output_token_count eval_count',
  thoughts: 'thoughts_token_count',
  total: 'total_tokens total_token_count',
  reasoning: 'reasoning_tokens thinking_tokens',
  cacheRead: 'cached_tokens cached_content_token_count cached_input_tokens prompt_cache_hit_tokens cache_read_tokens',
  cacheWrite: 'cache_write_tokens cache_creation_tokens',
  cacheReadApart: 'cache_read_input_tokens',
  cacheWriteApart: 'cache_creation_input_tokens cache_write_input_tokens',
}

const countsByName: ReadonlyMap<string, Count> = new Map(
  (Object.keys(countNames) as Count[]).flatMap((kind) =>
    countNames[kind].split(' ').flatMap((name): [string, Count][] => [
      [name, kind],
      [name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()), kind],
    ]),
  ),
)

/** Counts of input tokens. They are replaced together: if one of them is positive in a report, the report's zeros count too. */
const inputCounts: readonly Count[] = ['prompt', 'input', 'toolInput', 'cacheRead', 'cacheWrite', 'cacheReadApart', 'cacheWriteApart']

/**
 * Combines the usage reports of a response. Each report counts all tokens used so far. A missing or zero count does not reset an earlier
 * count.
 */
export class UsageReport {
  readonly #counts: Partial<Record<Count, number>> = {}
  readonly #reportsCost: boolean
  #costUsd: number | undefined
  /** The usage of compaction, which the other counts exclude. */
  #compaction: Usage | undefined

  /** `reportsCost`: whether the field `cost` is the cost in US dollars. */
  constructor(reportsCost = false) {
    this.#reportsCost = reportsCost
  }

  read(usage: Json | undefined): void {
    if (!isJsonObject(usage)) return
    const counts = countsIn(usage)
    const readsInput = inputCounts.some((kind) => (counts.get(kind) ?? 0) > 0)
    // New input counts invalidate the earlier total, which was the sum of the earlier counts.
    if (readsInput) delete this.#counts.total
    for (const [kind, counted] of counts) {
      const isCounted = counted > 0 || (readsInput && inputCounts.includes(kind))
      if (isCounted || this.#counts[kind] === undefined) this.#counts[kind] = counted
    }
    if (this.#reportsCost) this.#costUsd = count(usage.cost) ?? this.#costUsd
    if (Array.isArray(usage.iterations)) this.#compaction = compactionIn(usage.iterations)
  }

  /** The combined usage. Undefined if no usage was reported. */
  total(): Usage | undefined {
    const { prompt, input, toolInput = 0, output, thoughts, total, reasoning = thoughts, ...cache } = this.#counts
    const read = cache.cacheRead || (cache.cacheReadApart ?? cache.cacheRead)
    const written = cache.cacheWrite || (cache.cacheWriteApart ?? cache.cacheWrite)
    if (![prompt, input, output, total, read, written].some(Boolean)) return this.#compaction
    const counted = (prompt || (input ?? 0)) + toolInput
    const outputTokens = (output ?? 0) + (thoughts ?? 0)
    const isNamedApart = !prompt && !cache.cacheRead && !cache.cacheWrite
    const inputTokens = counted + cacheApart({ counted, outputTokens, total, reasoning, read, written, isNamedApart })
    // Some servers omit the input count. Others exclude reasoning from the output count but include it in the total.
    const isPartial = inputTokens === 0 && outputTokens > 0
    const usage = wholeUsage({
      inputTokens: isPartial ? undefined : inputTokens,
      outputTokens: isPartial ? outputTokens : Math.max(outputTokens, (total ?? 0) - inputTokens),
      totalTokens: isPartial ? total : undefined,
      reasoningTokens: reasoning,
      cacheReadTokens: read,
      cacheWriteTokens: written,
      costUsd: this.#costUsd,
    })
    return sumOfUsage(this.#compaction, usage)
  }
}

/** Returns the counts in one report, including the counts in its details. */
function countsIn(usage: JsonObject): Map<Count, number> {
  const counts = new Map<Count, number>()
  const take = (fields: JsonObject): void => {
    for (const [name, value] of Object.entries(fields)) {
      const counted = count(value)
      const kind = counted === undefined ? undefined : countsByName.get(name)
      if (kind !== undefined && counted !== undefined) counts.set(kind, counted || (counts.get(kind) ?? 0))
    }
  }
  take(usage)
  for (const [name, value] of Object.entries(usage)) if (isJsonObject(value) && /_details$|Details$/.test(name)) take(value)
  return counts
}

interface CacheCounts {
  /** The reported number of input tokens. `isNamedApart`: whether `counted` excludes cache tokens, judging by the names of the counts. */
  counted: number
  isNamedApart: boolean
  outputTokens: number
  total: number | undefined
  reasoning: number | undefined
  read: number | undefined
  written: number | undefined
}

/**
 * Returns the number of cache tokens that `counted` does not include. Some gateways to Claude exclude cache tokens from `prompt_tokens`,
 * but include them in the total: https://github.com/Portkey-AI/gateway/pull/1754
 */
function cacheApart({ counted, isNamedApart, outputTokens, total = 0, reasoning = 0, read = 0, written = 0 }: CacheCounts): number {
  const cache = read + written
  if (isNamedApart || cache > counted) return cache
  const missing = total - counted - outputTokens
  return [cache, read, written].find((part) => part > 0 && (missing === part || missing === part + reasoning)) ?? 0
}

/**
 * The usage of compaction, which the other counts exclude:
 * https://platform.claude.com/docs/en/build-with-claude/compaction#understanding-usage
 */
function compactionIn(iterations: readonly Json[]): Usage | undefined {
  let sum: Usage | undefined
  for (const iteration of iterations) {
    if (!isJsonObject(iteration) || iteration.type !== 'compaction') continue
    const pass = new UsageReport()
    pass.read(iteration)
    sum = sumOfUsage(sum, pass.total())
  }
  return sum
}

/**
 * Estimates the usage of a request by its length, for a model that does not report usage. Frozen messages and tools are measured only once.
 */
export function estimateUsage(
  { messages, tools = [] }: Pick<ModelRequest, 'messages' | 'tools'>,
  { text = '', reasoning = '', toolCalls = [] }: Partial<ModelResponse>,
): Usage {
  let inputTokens = 0
  for (const message of messages) inputTokens += estimateTokens(message)
  for (const tool of tools) inputTokens += toolTokens(tool)
  const outputTokens = estimateTokens({ role: 'assistant', content: text, toolCalls }) - messageTokens + textTokens(reasoning)
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
}

/** If no usage was reported, adds an estimate and a warning. */
export function withWholeUsage(
  request: Pick<ModelRequest, 'messages' | 'tools'>,
  response: ModelResponse,
): ModelResponse & { usage: Usage } {
  const usage = wholeUsage(response.usage)
  if (usage !== undefined) return { ...response, usage }
  const warning = 'The model reported no usage; it was estimated from the length of the request and the response'
  return { ...response, usage: estimateUsage(request, response), warnings: [...(response.warnings ?? []), warning] }
}

/**
 * An empty response counts as an overflow if the input fills at least this fraction of the context window. Less than 1, because some
 * servers reserve a few tokens.
 */
const fullWindow = 0.99

/**
 * Returns an explanation if the usage shows that the conversation was too long. Some providers do not report this: z.ai ignores the start
 * of the conversation, and others return an empty response.
 * https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts
 */
export function overflowIn(response: ModelResponse, contextWindow: number): string | undefined {
  const { text, toolCalls, finishReason } = response
  const { inputTokens = 0 } = wholeUsage(response.usage) ?? {}
  if (inputTokens > contextWindow) {
    return `${inputTokens} input tokens, more than the \`contextWindow\` of ${contextWindow}: some of them were not read`
  }
  const isEmpty = finishReason === 'length' && text.trim() === '' && toolCalls.length === 0
  return isEmpty && inputTokens >= fullWindow * contextWindow
    ? `${inputTokens} input tokens, which leave no room for a response`
    : undefined
}

/** Adds the usage of two requests. Undefined if both are undefined. */
export function sumOfUsage(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  return one === undefined ? other : addUsage(one, other)
}

/** Adds a waiting time to the response's `waitedMs`. */
export function havingWaited<Response extends Pick<ModelResponse, 'waitedMs'>>(
  response: Response,
  { waitedMs }: Pick<ModelResponse, 'waitedMs'>,
): Response {
  return waitedMs === undefined ? response : { ...response, waitedMs: (response.waitedMs ?? 0) + waitedMs }
}

/** Returns the reported usage of a failed request. */
export function usageOfFailure(error: unknown): Usage | undefined {
  return isModelError(error) ? wholeUsage(error.partial?.usage) : undefined
}

/**
 * Returns the usage of a failed request. If the response broke off without reporting usage, its usage is estimated, because it is billed.
 */
export function usageOfAttempt(request: Pick<ModelRequest, 'messages' | 'tools'>, error: unknown): Usage | undefined {
  const partial = isModelError(error) ? error.partial : undefined
  return usageOfFailure(error) ?? (partial && estimateUsage(request, partial))
}

export function withUsage<E>(error: E, usage: Usage | undefined): E | ModelError {
  if (usage === undefined || !isModelError(error)) return error
  const { code, message, cause: _, partial, ...fields } = error
  return new ModelError(code, message, { ...fields, partial: { text: '', ...partial, usage }, cause: error })
}

/**
 * Adds an estimated usage to the error of an aborted response, which the provider bills without reporting its usage. `received`: the text
 * that had arrived.
 */
export function withReceived(error: unknown, request: ModelRequest, received: string | undefined): unknown {
  if (received === undefined || !isModelError(error) || usageOfFailure(error) !== undefined) return error
  const { text = '', reasoning = '' } = error.partial ?? {}
  return withUsage(error, estimateUsage(request, { text: text === '' ? received : text, reasoning }))
}

/** Whether `withCost` can determine the cost of a request to a model with these capabilities. */
export function knowsCost({ price, reportsCost }: ModelCapabilities): boolean {
  return price !== undefined || reportsCost === true
}

/** Adds the cost in US dollars, if the provider did not report it and the model has a price. */
export function withCost(usage: Usage, { price }: ModelCapabilities): Usage {
  if (price === undefined || usage.costUsd !== undefined) return usage
  const { longContext } = price
  const {
    input,
    output,
    cacheRead = input,
    cacheWrite = input,
  } = longContext !== undefined && usage.inputTokens > longContext.above ? longContext : price
  const { cacheReadTokens = 0, cacheWriteTokens = 0 } = usage
  const fresh = Math.max(0, usage.inputTokens - cacheReadTokens - cacheWriteTokens)
  const dollars = fresh * input + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite + usage.outputTokens * output
  return { ...usage, costUsd: dollars / 1_000_000 }
}

const estimates = new WeakMap<MessageInput | ToolDefinition, number>()

/**
 * Estimates the tokens of a message: four characters per token, or one character per token in scripts without spaces between words. The
 * estimate is more often too high than too low. Throws `invalid_message`.
 */
export function estimateTokens(given: MessageInput): number {
  const known = estimates.get(given)
  if (known !== undefined) return known
  const message = toChatMessage(given, 'message')
  let tokens = messageTokens + contentTokens(message.content)
  if (hasToolCalls(message))
    for (const { function: call } of message.toolCalls) tokens += textTokens(call.name) + textTokens(call.arguments)
  if (isDeepFrozen(given)) estimates.set(given, tokens)
  return tokens
}

function toolTokens(tool: ToolDefinition): number {
  let tokens = estimates.get(tool)
  if (tokens === undefined) {
    tokens = textTokens(JSON.stringify(tool))
    estimates.set(tool, tokens)
  }
  return tokens
}

function contentTokens(content: Content): number {
  if (typeof content === 'string') return textTokens(content)
  return content.reduce((sum, part) => sum + (part.type === 'text' ? textTokens(part.text) : partTokens), 0)
}

function textTokens(text: string): number {
  let wide = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x2e80) wide++
  return Math.ceil((text.length - wide) / 4) + wide
}
