import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { ApiError, messageOf } from '../data/api.ts'
import { type ConfigFile, readConfig, type Save, writeConfig } from '../data/config-file.ts'
import { announce } from '../ui/announce.ts'
import { useLive, useWhenConnected } from '../ui/live-context.ts'

/** What came of the last change. `isConflict`: somebody else was quicker. */
interface Saved {
  kind: 'good' | 'error'
  words: string
  isConflict?: boolean
}

export interface ConfigEditing {
  /** Undefined: not there yet. */
  file: ConfigFile | undefined
  saved: Saved | undefined
  dismiss(): void
  /** Reads the file anew. */
  reload(): Promise<void>
  /** Rejects with an `ApiError`. */
  save: Save
  /** The same for a button: what goes wrong is told by `saved`. */
  saveNow: Save
}

/** The configuration, read anew when the service has loaded another one, and changed a section at a time. */
export function useConfigFile(): ConfigEditing {
  const live = useLive()
  const file = useSignal<ConfigFile | undefined>(undefined)
  const saved = useSignal<Saved | undefined>(undefined)
  const loadedAt = live.state?.config.loadedAt ?? ''
  const load = async () => {
    try {
      const isFirst = file.value === undefined
      file.value = await readConfig()
      // Why it was not there before is over.
      if (isFirst) saved.value = undefined
    } catch (thrown) {
      saved.value = { kind: 'error', words: messageOf(thrown) }
    }
  }
  useWhenConnected(() => {
    if (file.value === undefined || loadedAt > file.value.state.loadedAt) void load()
  }, loadedAt)
  const saving = useRef<Promise<void>>(Promise.resolve())
  /** One change after the other: each is made of what the one before it has left. */
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
    // What can't be asked for now will come with the next change.
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
