import { post } from './api.ts'
import { duration } from './format.ts'
import type { ModelEntry } from './model-settings.ts'

export type Told = { text: string; kind: 'good' | 'bad' | '' }

/**
 * Sends a model one small question and describes the outcome. `providers` contains sections of the configuration that are not saved yet.
 * Rejects with an `ApiError`.
 */
export async function testModel(model: ModelEntry, providers?: Record<string, unknown>): Promise<Told> {
  const { ok, durationMs, text, error } = await post('admin/api/providers/test', { model, providers })
  if (ok) return { text: `Answered in ${duration(durationMs)}: ${text}`, kind: 'good' }
  return { text: `${error.path === undefined ? '' : `${error.path} `}${error.message}`, kind: 'bad' }
}
