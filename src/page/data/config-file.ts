import type { ConfigState } from '../types.ts'
import { ask } from './api.ts'
import type { ModelEntry, Settings } from './model-settings.ts'

/** The parts of the configuration that the page can change. */
export interface Config {
  model?: ModelEntry
  models?: Record<string, ModelEntry>
  providers?: Record<string, Settings>
  [section: string]: unknown
}

export interface ConfigFile {
  etag: string
  text: string
  /** The parsed text. Null if the text is invalid. */
  config: Config | null
  /** The places of values that can be changed only in the file, as JSON Pointers. `*` matches any key. */
  fileOnly: string[]
  state: ConfigState
}
/** Applies `change` to the configuration and saves it. `said` is the message that is shown afterwards. */
export type Save = (change: (config: Config) => void, said: string) => Promise<void>

export function readConfig(): Promise<ConfigFile> {
  return ask('admin/api/config')
}

/**
 * Replaces the configuration. Rejects with an `ApiError`: 412 if the configuration has changed since `etag`, 422 with the invalid paths.
 */
export function writeConfig(change: { config: unknown } | { text: string }, etag: string): Promise<ConfigFile> {
  return ask('admin/api/config', { method: 'PUT', body: change, headers: { 'if-match': etag } })
}

/**
 * Adds an entry to a section of a configuration. If `from` is given, replaces the entry with this name; otherwise, appends the entry.
 * Throws if the new name is taken.
 */
export function putEntry(
  config: Config,
  section: 'models' | 'providers',
  { from, to, value }: { from: string | undefined; to: string; value: ModelEntry },
) {
  const before = Object.entries(config[section] ?? {})
  const names = before.map(([name]) => name)
  if (to !== from && names.includes(to)) throw new Error(`A ${section === 'models' ? 'model' : 'provider'} named ${to} already exists`)
  const isNew = from === undefined || !names.includes(from)
  const entries = before.map(([name, old]) => (name === from ? [to, value] : [name, old]))
  config[section] = Object.fromEntries(isNew ? [...entries, [to, value]] : entries)
}
