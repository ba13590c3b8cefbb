import type { Usage } from '../core/messages.ts'
import type { ModelCapabilities } from './chat-model.ts'

/** Whether `withCost` can tell what a request to such a model cost. */
export function knowsCost({ price, reportsCost }: ModelCapabilities): boolean {
  return price !== undefined || reportsCost === true
}

/** The usage with its cost in US dollars, where the provider did not tell it and the model has a price. */
export function withCost(usage: Usage, { price }: ModelCapabilities): Usage {
  if (price === undefined || usage.costUsd !== undefined) return usage
  const { cacheReadTokens = 0, cacheWriteTokens = 0 } = usage
  const fresh = Math.max(0, usage.inputTokens - cacheReadTokens - cacheWriteTokens)
  const input =
    fresh * price.input + cacheReadTokens * (price.cacheRead ?? price.input) + cacheWriteTokens * (price.cacheWrite ?? price.input)
  return { ...usage, costUsd: (input + usage.outputTokens * price.output) / 1_000_000 }
}
