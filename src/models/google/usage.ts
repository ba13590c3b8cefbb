import { isJsonObject, type Json, type Usage } from '../../core/messages.ts'
import { count, wholeUsage } from '../usage.ts'

/**
 * Tokens in our terms. The API counts what its own tools read apart from the prompt, and thoughts apart from the answer; each report of a
 * stream is the sum so far, and may lack what others have: https://ai.google.dev/api/generate-content#UsageMetadata
 */
export class GoogleUsage {
  #prompt: number | undefined
  #toolUse: number | undefined
  #candidates: number | undefined
  #thoughts: number | undefined
  #cached: number | undefined
  #total: number | undefined

  read(usage: Json | undefined): void {
    if (!isJsonObject(usage)) return
    this.#prompt = count(usage.promptTokenCount) ?? this.#prompt
    this.#toolUse = count(usage.toolUsePromptTokenCount) ?? this.#toolUse
    this.#candidates = count(usage.candidatesTokenCount) ?? this.#candidates
    this.#thoughts = count(usage.thoughtsTokenCount) ?? this.#thoughts
    this.#cached = count(usage.cachedContentTokenCount) ?? this.#cached
    this.#total = count(usage.totalTokenCount) ?? this.#total
  }

  /** Undefined while nothing was reported. */
  total(): Usage | undefined {
    if (this.#prompt === undefined && this.#candidates === undefined && this.#total === undefined) return undefined
    const inputTokens = (this.#prompt ?? 0) + (this.#toolUse ?? 0)
    const rest = Math.max(0, (this.#total ?? 0) - inputTokens)
    // Some reports have only the total besides the prompt.
    const outputTokens = this.#candidates === undefined ? rest : this.#candidates + (this.#thoughts ?? 0)
    return wholeUsage({ inputTokens, outputTokens, reasoningTokens: this.#thoughts, cacheReadTokens: this.#cached })
  }
}
