import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { ApiError, messageOf } from '../data/api.ts'
import { type ConfigFile, readConfig, type Save, writeConfig } from '../data/config-file.ts'
import { announce } from '../ui/announce.ts'
import { useLive, useWhenConnected } from '../ui/live-context.ts'

/** The result of the last change. `isConflict` is true if somebody else has changed the file first. */
interface Saved {
  kind: 'good' | 'error'
  words: string
  isConflict?: boolean
}

export interface ConfigEditing {
  /** The configuration file. Undefined until it is loaded. */
  file: ConfigFile | undefined
  saved: Saved | undefined
  dismiss(): void
  reload(): Promise<void>
  /** Saves a change. Rejects with an `ApiError`. */
  save: Save
  /** Like `save`, but reports errors in `saved`. Use it for buttons. */
  saveNow: Save
}

/**
 * Returns the configuration, and functions that change one section at a time. The configuration is read again when the service has loaded a
 * new version.
 */
export function useConfigFile(): ConfigEditing {
  const live = useLive()
  const file = useSignal<ConfigFile | undefined>(undefined)
  const saved = useSignal<Saved | undefined>(undefined)
  const loadedAt = live.state?.config.loadedAt ?? ''
  const load = async () => {
    try {
      const isFirst = file.value === undefined
      file.value = await readConfig()
      // The read has succeeded, so the error of an earlier attempt no longer applies.
      if (isFirst) saved.value = undefined
    } catch (thrown) {
      saved.value = { kind: 'error', words: messageOf(thrown) }
    }
  }
  useWhenConnected(() => {
    if (file.value === undefined || loadedAt > file.value.state.loadedAt) void load()
  }, loadedAt)
  const saving = useRef<Promise<void>>(Promise.resolve())
  /** Changes are made one after another, each based on the result of the previous change. */
  const save: Save = (change, words) => {
    const own = saving.current.then(() => saveOne(change, words))
    saving.current = own.catch(() => {})
    return own
  }
  const saveOne: Save = async (change, words) => {
    if (file.value === undefined) return
    const config = structuredClone(file.value.config ?? {})
    change(config)
    file.value = await writeConfig({ config }, file.value.etag)
    saved.value = { kind: 'good', words }
    announce(words)
    // An error is ignored: the state is requested again after the next change.
    await live.update().catch(() => {})
  }
  const saveNow: Save = (change, words) =>
    save(change, words).catch((thrown) => {
      const isConflict = thrown instanceof ApiError && thrown.status === 412
      const why = isConflict ? 'Someone else changed the configuration. Nothing was saved.' : messageOf(thrown)
      saved.value = { kind: 'error', words: why, isConflict }
    })
  return {
    file: file.value,
    saved: saved.value,
    dismiss() {
      saved.value = undefined
    },
    async reload() {
      await load()
      saved.value = undefined
    },
    save,
    saveNow,
  }
}
