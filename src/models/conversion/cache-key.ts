import { digestOf } from '../../core/digest.ts'
import type { QuirkCheck } from '../quirk-checks.ts'

/**
 * Whether the server accepts `prompt_cache_key`. Null: only OpenAI's own servers do, because many other servers refuse unknown
 * fields.
 */
export type TakesCacheKey = boolean | null

export const takesCacheKey: QuirkCheck = {
  expected: 'true, false or null',
  passes: (value) => value === null || typeof value === 'boolean',
}

/**
 * Returns the body field with the request's cache key, if the server accepts it.
 * https://developers.openai.com/api/docs/guides/prompt-caching
 */
export function cacheKeyField(key: string, takes: TakesCacheKey, baseURL: string): { prompt_cache_key?: string } {
  if (!(takes ?? isOpenAI(baseURL))) return {}
  return { prompt_cache_key: key.length > longestKey ? digestOf(key) : key }
}

const longestKey = 64

/** Whether the host is `api.openai.com` or a regional host, such as `eu.api.openai.com`. */
export function isOpenAI(baseURL: string): boolean {
  return /^(?:[a-z-]+\.)?api\.openai\.com$/.test(new URL(baseURL).hostname)
}
