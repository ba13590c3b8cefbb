import type { ConfigState } from '../types.ts'
import { ask } from './api.ts'
import type { ModelEntry, Settings } from './model-settings.ts'

/** What the configuration says, as far as the page changes it. */
export interface Config {
  model?: ModelEntry
  models?: Record<string, ModelEntry>
  providers?: Record<string, Settings>
  [section: string]: unknown
}

export interface ConfigFile {
  etag: string
  text: string
  /** What the text says; null where it can't be read. */
  config: Config | null
  /** JSON Pointers of what can be changed in the file alone; `*` stands for any key. */
  fileOnly: string[]
  state: ConfigState
}
/** Saves the configuration as `change` makes it. */
export type Save = (change: (config: Config) => void, said: string) => Promise<void>

export function readConfig(): Promise<ConfigFile> {
  return ask('admin/api/config')
}

/** Replaces the configuration. Throws an `ApiError`: 412 when somebody else has changed it since `etag`, 422 with the failing paths. */
export function writeConfig(change: { config: unknown } | { text: string }, etag: string): Promise<ConfigFile> {
  return ask('admin/api/config', { method: 'PUT', body: change, headers: { 'if-match': etag } })
}

/**
 * Puts an entry into a section of a configuration: at the place of the one it comes from, else at the end. Throws where the name is taken.
 * `from`: the name it has had; undefined: it is new.
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
