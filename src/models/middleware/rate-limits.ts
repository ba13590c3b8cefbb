import { type ChatModel, isModelError, type ModelRequest, type ModelResponse, type ModelSink } from '../chat-model.ts'
import { accountOf, type LimitedPart, type ProviderPreset } from '../presets.ts'
import { RateLimiter } from '../rate-limiter.ts'
import type { ModelSettings } from '../settings.ts'
import { ExpectedOutput, estimateUsage, usageOfFailure, wholeUsage } from '../usage.ts'
import { defaultMaxRetryDelayMs } from './retry.ts'

/** The rate limiters, one for each combination of account and limited group of models. All models and runs of the process share them. */
const limiters = new Map<string, RateLimiter>()
let sweepAt = 1_000

/**
 * Wraps a model so that its requests wait until they are within the limits of the model and of its provider. If the provider says how long
 * to wait, other requests wait too, unless the time is longer than `maxRetryDelayMs`.
 */
export function withRateLimits(
  model: ChatModel,
  parts: readonly LimitedPart[],
  settings: ModelSettings,
  preset: ProviderPreset,
): ChatModel {
  if (parts.length === 0) return model
  const { maxRetryDelayMs = defaultMaxRetryDelayMs } = settings
  const countsTokens = parts.some(({ limits }) => limits.tokensPerMinute !== undefined)
  const refused = new WeakSet<ModelRequest>()
  const expected = new ExpectedOutput()

  const tokensOf = (request: ModelRequest): number =>
    countsTokens ? estimateUsage(request, {}).inputTokens + expected.tokens(request.maxOutputTokens) : 0

  return {
    provider: model.provider,
    model: model.model,
    capabilities: model.capabilities,
    get baseURL() {
      return model.baseURL
    },
    get api() {
      return model.api
    },
    async prepare(): Promise<void> {
      await model.prepare?.()
    },
    async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
      // Determined for each request, because the key and the address may change in the environment.
      const account = accountOf(settings, preset)
      const limited = parts.map(({ part, limits }) => ({ limits, limiter: limiterOf(JSON.stringify([account, part])) }))
      const askedAt = performance.now()
      let waited = false
      const onWait = (ahead: number) => {
        waited = true
        sink?.queued?.(ahead)
      }
      const { signal } = request
      const { provider, model: name } = model
      const applicant = { provider, model: name, signal, tokens: tokensOf(request), isRefused: refused.delete(request), onWait }
      const slots = []
      let used: number | undefined = 0
      try {
        // The request waits first for the limit that applies to the fewest models. Meanwhile, requests to the provider's other models can
        // continue.
        for (const { limits, limiter } of limited) slots.push(await limiter.enter({ ...applicant, limits }))
        const waitedMs = performance.now() - askedAt
        used = undefined
        const response = await model.generate(request, sink)
        const usage = wholeUsage(response.usage)
        used = usage?.totalTokens
        if (usage !== undefined) expected.learn(usage)
        return waited ? { ...response, waitedMs } : response
      } catch (error) {
        used ??= usageOfFailure(error)?.totalTokens
        if (isModelError(error) && error.retryable && error.retryAfterMs !== undefined) {
          used ??= 0
          refused.add(request)
          if (error.retryAfterMs <= maxRetryDelayMs) limited[0]?.limiter.hold(error.retryAfterMs)
        }
        throw error
      } finally {
        for (const slot of slots) slot.release(used)
      }
    },
  }
}

function limiterOf(key: string): RateLimiter {
  const known = limiters.get(key)
  if (known !== undefined) return known
  // Removes idle limiters. Their number can grow, because each API key has its own and an application may use a key per customer.
  if (limiters.size >= sweepAt) {
    for (const [other, limiter] of limiters) if (limiter.isIdle) limiters.delete(other)
    sweepAt = Math.max(1_000, 2 * limiters.size)
  }
  const limiter = new RateLimiter()
  limiters.set(key, limiter)
  return limiter
}
