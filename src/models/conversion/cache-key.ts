import { digestOf } from '../../core/digest.ts'
import type { QuirkCheck } from '../quirk-checks.ts'

/** Whether `prompt_cache_key` is taken. Null: by OpenAI's own address alone; many other servers refuse requests with a field they don't know. */
export type TakesCacheKey = boolean | null

export const takesCacheKey: QuirkCheck = {
  expected: 'true, false or null',
  passes: (value) => value === null || typeof value === 'boolean',
}

/** The field that has the request's key, where the server takes one. https://developers.openai.com/api/docs/guides/prompt-caching */
export function cacheKeyField(key: string, takes: TakesCacheKey, baseURL: string): { prompt_cache_key?: string } {
  if (!(takes ?? isOpenAI(baseURL))) return {}
  return { prompt_cache_key: key.length > longestKey ? digestOf(key) : key }
}

const longestKey = 64

/** `api.openai.com`, and that of a region, such as `eu.api.openai.com`. */
export function isOpenAI(baseURL: string): boolean {
  return /^(?:[a-z-]+\.)?api\.openai\.com$/.test(new URL(baseURL).hostname)
}
