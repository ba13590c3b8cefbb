import { signal, useComputed } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ConfigFile, readConfig, writeConfig } from '../data/config-file.ts'
import type { Live } from '../data/live.ts'
import { linesOfPath } from '../data/yaml-lines.ts'
import { useTitle } from '../shell/address.ts'
import type { ConfigState } from '../types.ts'
import { announce } from '../ui/announce.ts'
import { useLive, useWhenConnected } from '../ui/live-context.ts'
import { ConfigFacts } from './config-facts.tsx'
import { badLines, Failure } from './config-failure.tsx'
import { LineEditor, selectLine } from './line-editor.tsx'

const hidden = '[redacted]'

/** The text of the configuration file during editing. */
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
      // Text that was entered meanwhile is not saved yet.
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

  /** Handles the current state of the configuration. */
  see(now: ConfigState): void {
    if (this.state.value === undefined || !isNewer(now, this.state.value)) return
    // Does not overwrite what the user is writing: saving it reports the conflict.
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

/** The configuration file: its state, and its text for editing. */
export function ConfigView() {
  useTitle('Configuration')
  const live = useLive()
  const now = useComputed(() => live.state?.config).value
  const editor = useRef<HTMLTextAreaElement>(null)
  const [config] = useState(() => new ConfigText(live))
  const { file, state, text, failure, isSaving, isSaved, isChanged } = config
  useWhenConnected(() => file.value ?? config.load({ evenIfChanged: true }))
  useEffect(() => {
    if (now !== undefined) config.see(now)
  }, [config, now])

  // For a path that stands for several keys, the service reports the error on saving.
  const locked = new Set(file.value?.fileOnly.flatMap((path) => (path.includes('*') ? [] : linesOfPath(text.value, path))))
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
        <label for="config-text">Configuration file, as YAML</label>
        <div id="config-problems" role="alert">
          {failure.value !== undefined && (
            <Failure
              thrown={failure.value}
              text={text.value}
              showLine={(line) => selectLine(editor.current, line)}
              reload={() => config.load({ evenIfChanged: true })}
            />
          )}
        </div>
        <LineEditor
          editorRef={editor}
          id="config-text"
          describedBy="config-problems"
          text={text.value}
          isDisabled={file.value === undefined}
          isInvalid={file.value !== undefined && failure.value !== undefined}
          bad={badLines(failure.value, text.value)}
          locked={locked}
          onInput={(written) => {
            text.value = written
          }}
        />
        <p class="hint" hidden={locked.size === 0}>
          Lines with a struck number are read-only here: what they open, whom they let in and who is asked is decided in the file itself.
          Here it can only be taken away.
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
          <span class="hint">Changes apply from the next request; running runs keep the old configuration. Ctrl+S saves.</span>
        </div>
      </form>
    </div>
  )
}

/** Whether the file has been read again since, by this process or another. */
function isNewer(now: ConfigState, before: ConfigState): boolean {
  return now.loadedAt > before.loadedAt || (now.loadedAt === before.loadedAt && now.lastError?.at !== before.lastError?.at)
}
