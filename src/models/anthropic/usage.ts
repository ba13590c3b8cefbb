import { isJsonObject, type Json, type Usage } from '../../core/messages.ts'
import { count, sumOfUsage, wholeUsage } from '../usage.ts'

/**
 * Tokens in our terms. The API counts what it read from its cache, and what it wrote there, apart from `input_tokens`; each report of a
 * stream is the sum so far, and a later one may lack what an earlier one had: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
export class AnthropicUsage {
  #reported = false
  #input = 0
  #output = 0
  #cacheRead: number | undefined
  #cacheWrite: number | undefined
  #thinking: number | undefined
  /** Of the passes that made the conversation shorter. */
  #compaction: Usage | undefined

  read(usage: Json | undefined): void {
    if (!isJsonObject(usage)) return
    this.#reported = true
    const [input, cacheRead, cacheWrite] = [usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens].map(count)
    // Some servers count nothing but the output at the end.
    if ((input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0) > 0 || this.#inputTokens === 0) {
      this.#input = input ?? this.#input
      this.#cacheRead = cacheRead ?? this.#cacheRead
      this.#cacheWrite = cacheWrite ?? this.#cacheWrite
    }
    this.#output = count(usage.output_tokens) ?? this.#output
    const details = usage.output_tokens_details
    if (isJsonObject(details)) this.#thinking = count(details.thinking_tokens) ?? this.#thinking
    if (Array.isArray(usage.iterations)) this.#compaction = compactionIn(usage.iterations)
  }

  /** Undefined while nothing was reported. */
  total(): Usage | undefined {
    if (!this.#reported) return undefined
    const usage = wholeUsage({
      inputTokens: this.#inputTokens,
      outputTokens: this.#output,
      reasoningTokens: this.#thinking,
      cacheReadTokens: this.#cacheRead,
      cacheWriteTokens: this.#cacheWrite,
    })
    return sumOfUsage(this.#compaction, usage)
  }

  get #inputTokens(): number {
    return this.#input + (this.#cacheRead ?? 0) + (this.#cacheWrite ?? 0)
  }
}

/** What is not in the other counts: https://platform.claude.com/docs/en/build-with-claude/compaction#understanding-usage */
function compactionIn(iterations: readonly Json[]): Usage | undefined {
  let sum: Usage | undefined
  for (const iteration of iterations) {
    if (!isJsonObject(iteration) || iteration.type !== 'compaction') continue
    const pass = new AnthropicUsage()
    pass.read(iteration)
    sum = sumOfUsage(sum, pass.total())
  }
  return sum
}
