import { signal, useComputed } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ask, messageOf } from '../data/api.ts'
import { type ConfigFile, readConfig, writeConfig } from '../data/config-file.ts'
import type { Live } from '../data/live.ts'
import { useTitle } from '../shell/address.ts'
import type { ConfigState } from '../types.ts'
import { announce } from '../ui/announce.ts'
import { useLive, useWhenConnected } from '../ui/live-context.ts'
import { Loading, loaded } from '../ui/loaded.tsx'
import type { ConfigSchema } from '../yaml/config-completions.ts'
import type { YamlEditorHandle } from '../yaml/yaml-editor.tsx'
import { YamlLines } from '../yaml/yaml-lines.ts'
import { ConfigFacts } from './config-facts.tsx'
import { badLines, Failure } from './config-failure.tsx'

const YamlEditor = loaded(() => import('../yaml/yaml-editor.tsx').then(({ YamlEditor }) => YamlEditor))

const hidden = '[redacted]'
const label = 'Configuration file, as YAML'

/** The text of the configuration file while the user edits it. */
class ConfigText {
  readonly file = signal<ConfigFile | undefined>(undefined)
  readonly state = signal<ConfigState | undefined>(undefined)
  readonly text = signal('')
  /** The error of reading or writing the file. */
  readonly failure = signal<unknown>(undefined)
  readonly isSaving = signal(false)
  readonly isSaved = signal(false)
  #live

  constructor(live: Live) {
    this.#live = live
  }

  get isChanged(): boolean {
    return this.file.value !== undefined && this.text.value !== this.file.value.text
  }

  async load({ evenIfChanged }: { evenIfChanged: boolean }): Promise<void> {
    try {
      const read = await readConfig()
      if (evenIfChanged || !this.isChanged) this.#take(read)
    } catch (thrown) {
      this.failure.value = thrown
    }
  }

  async save(): Promise<void> {
    const { file, text, failure, isSaving, isSaved } = this
    if (file.value === undefined || !this.isChanged || isSaving.value) return
    failure.value = undefined
    if (text.value.includes(hidden)) {
      failure.value = new Error(`The file contains ${hidden}. Replace it with an environment variable, such as \${NAME}, before you save.`)
      return
    }
    isSaving.value = true
    const sent = text.value
    try {
      const saved = await writeConfig({ text: sent }, file.value.etag)
      const written = text.value
      this.#take(saved)
      // The user may have changed the text during the request.
      if (written !== sent) text.value = written
      announce('Saved')
      isSaved.value = true
      this.#live.refresh()
    } catch (thrown) {
      failure.value = thrown
    } finally {
      isSaving.value = false
    }
  }

  discard(): void {
    this.text.value = this.file.value?.text ?? ''
    this.failure.value = undefined
  }

  /** Takes the latest state of the configuration, and reloads the file if it has changed. */
  see(now: ConfigState): void {
    if (this.state.value === undefined || !isNewer(now, this.state.value)) return
    // The text is not replaced while it has unsaved changes. Saving it will report the conflict.
    if (!this.isChanged) void this.load({ evenIfChanged: false })
    else {
      this.state.value = now
      this.isSaved.value = false
    }
  }

  #take(taken: ConfigFile) {
    this.file.value = taken
    this.state.value = taken.state
    this.text.value = taken.text
    this.failure.value = undefined
    this.isSaved.value = false
  }
}

/** The texts with unsaved changes. They are kept while other views are shown, until the user signs out. */
const unsaved = new WeakMap<Live, ConfigText>()

/** Whether the text of the configuration has unsaved changes. */
let isUnsaved = () => false
addEventListener('beforeunload', (event) => {
  if (isUnsaved()) event.preventDefault()
})

/** Shows the configuration file: its state, and its text for editing. */
export function ConfigView() {
  useTitle('Configuration')
  const live = useLive()
  const now = useComputed(() => live.state?.config).value
  const editor = useRef<YamlEditorHandle>(null)
  const [schema, setSchema] = useState<ConfigSchema>()
  const [config] = useState(() => unsaved.get(live) ?? new ConfigText(live))
  const { file, state, text, failure, isSaving, isSaved, isChanged } = config
  useWhenConnected(() => {
    if (file.value === undefined) void config.load({ evenIfChanged: true })
    // An error is ignored, because the text can also be edited without the schema.
    if (schema === undefined) ask('admin/api/config/schema').then(setSchema, () => {})
  })
  useEffect(() => {
    if (now !== undefined) config.see(now)
  }, [config, now])

  useEffect(() => {
    isUnsaved = () => config.isChanged && !live.isStopped
  }, [config, live])
  useEffect(
    () => () => {
      if (config.isChanged) unsaved.set(live, config)
      else unsaved.delete(live)
    },
    [config, live],
  )

  const lines = useMemo(() => new YamlLines(text.value), [text.value])
  const bad = useMemo(() => badLines(failure.value, lines), [failure.value, lines])
  const locked = useMemo(() => new Set(file.value?.fileOnly.flatMap((path) => lines.linesOf(path))), [file.value, lines])
  return (
    <div class="column wide">
      <div class="view-head">
        <h1 tabIndex={-1}>Configuration</h1>
        <p class="muted">The file contains no keys. It names the environment variables that hold them.</p>
      </div>
      <div class="config-state">
        {isSaved.value && <p class="saved">Saved. The changes apply from the next request.</p>}
        {state.value !== undefined && <ConfigFacts state={state.value} />}
      </div>
      <form
        class="config-form"
        hidden={file.value?.state.file === null}
        onSubmit={(event) => {
          event.preventDefault()
          void config.save()
        }}
        onKeyDown={(event) => {
          if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          void config.save()
        }}
      >
        <div id="config-problems" role="alert">
          {failure.value !== undefined && file.value !== undefined && (
            <Failure
              thrown={failure.value}
              lines={lines}
              showLine={(line) => editor.current?.selectLine(line)}
              reload={() => config.load({ evenIfChanged: true })}
            />
          )}
        </div>
        {file.value === undefined ? (
          <Loading
            failure={failure.value === undefined ? '' : messageOf(failure.value)}
            retry={() => config.load({ evenIfChanged: true })}
          />
        ) : (
          <YamlEditor
            handle={editor}
            id="config-text"
            label={label}
            text={text.value}
            isInvalid={failure.value !== undefined}
            bad={bad}
            locked={locked}
            schema={schema}
            onInput={(written) => {
              text.value = written
            }}
          />
        )}
        <p class="hint" hidden={locked.size === 0}>
          {`${rangesOf(locked)} can be changed only in the file itself; here you can remove parts of what they allow.`}
        </p>
        <div class="buttons">
          <button type="submit" class="primary" disabled={!isChanged || isSaving.value}>
            Save
          </button>
          <button
            type="button"
            class="quiet"
            disabled={!isChanged}
            onClick={() => {
              config.discard()
              editor.current?.focus()
            }}
          >
            Discard changes
          </button>
          <span class="hint">
            Changes apply from the next request; running runs keep the old configuration. Ctrl+S saves, Ctrl+Space suggests.
          </span>
        </div>
      </form>
    </div>
  )
}

/** Describes lines, numbered from 0, as people count them: “Line 3”, “Lines 3, 5–7”. */
function rangesOf(lines: ReadonlySet<number>): string {
  const sorted = [...lines].sort((a, b) => a - b)
  const starts = sorted.filter((line) => !lines.has(line - 1))
  const ends = sorted.filter((line) => !lines.has(line + 1))
  const parts = starts.map((start, at) => (ends[at] === start ? `${start + 1}` : `${start + 1}–${(ends[at] ?? start) + 1}`))
  return `${sorted.length === 1 ? 'Line' : 'Lines'} ${parts.join(', ')}`
}

/** Whether the service has read the file again since the state `before`. */
function isNewer(now: ConfigState, before: ConfigState): boolean {
  return now.loadedAt > before.loadedAt || (now.loadedAt === before.loadedAt && now.lastError?.at !== before.lastError?.at)
}
