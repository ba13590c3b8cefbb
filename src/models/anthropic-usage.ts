import { isJsonObject, type Json, type Usage } from '../messages.ts'

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

  read(usage: Json | undefined): void {
    if (!isJsonObject(usage)) return
    this.#reported = true
    this.#input = larger(this.#input, usage.input_tokens) ?? 0
    // The first report holds an estimate.
    if (typeof usage.output_tokens === 'number') this.#output = Math.max(0, usage.output_tokens)
    this.#cacheRead = larger(this.#cacheRead, usage.cache_read_input_tokens)
    this.#cacheWrite = larger(this.#cacheWrite, usage.cache_creation_input_tokens)
    const details = usage.output_tokens_details
    if (isJsonObject(details)) this.#thinking = larger(this.#thinking, details.thinking_tokens)
  }

  /** Undefined while nothing was reported. */
  total(): Usage | undefined {
    if (!this.#reported) return undefined
    const inputTokens = this.#input + (this.#cacheRead ?? 0) + (this.#cacheWrite ?? 0)
    return {
      inputTokens,
      outputTokens: this.#output,
      totalTokens: inputTokens + this.#output,
      ...(this.#thinking === undefined ? {} : { reasoningTokens: this.#thinking }),
      ...(this.#cacheRead === undefined ? {} : { cacheReadTokens: this.#cacheRead }),
      ...(this.#cacheWrite === undefined ? {} : { cacheWriteTokens: this.#cacheWrite }),
    }
  }

  clear(): void {
    this.#reported = false
    this.#input = 0
    this.#output = 0
    this.#cacheRead = undefined
    this.#cacheWrite = undefined
    this.#thinking = undefined
  }
}

function larger(known: number | undefined, given: Json | undefined): number | undefined {
  return typeof given === 'number' && given >= 0 ? Math.max(known ?? 0, given) : known
}
