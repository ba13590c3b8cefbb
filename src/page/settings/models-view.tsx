import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { Config } from '../data/config-file.ts'
import { useTitle } from '../shell/address.ts'
import { useLive } from '../ui/live-context.ts'
import { Loading } from '../ui/loaded.tsx'
import { useRefocus } from '../ui/refocus.ts'
import { CurrentModel } from './current-model.tsx'
import { ModelCard } from './model-card.tsx'
import { openModelDialog } from './model-dialog.ts'
import { ProviderCard } from './provider-card.tsx'
import { openProviderDialog } from './provider-dialog.ts'
import { type ConfigEditing, useConfigFile } from './use-config-file.ts'

/** Shows the current model, the other models, and their providers. */
export function ModelsView() {
  useTitle('Models')
  const editing = useConfigFile()
  const heading = useRef<HTMLHeadingElement>(null)
  const body = useRef<HTMLDivElement>(null)
  useRefocus(body, heading)
  return (
    <div class="column">
      <div class="view-head">
        <h1 ref={heading} tabIndex={-1}>
          Models and providers
        </h1>
      </div>
      <div class="notices">
        <Notice {...editing} />
      </div>
      <div ref={body} class="stack">
        <Sections {...editing} />
      </div>
    </div>
  )
}

function Notice({ file, saved, dismiss, reload }: ConfigEditing) {
  if (saved === undefined || file === undefined) return null
  return (
    <div key={saved} class={`notice ${saved.kind}`} role={saved.kind === 'error' ? 'alert' : 'status'}>
      <p>{saved.words}</p>
      {saved.isConflict && (
        <button type="button" onClick={reload}>
          Reload
        </button>
      )}
      <button type="button" class="quiet icon-button notice-close" aria-label="Dismiss" onClick={dismiss}>
        ×
      </button>
    </div>
  )
}

function Sections(editing: ConfigEditing) {
  const { file, saved } = editing
  if (file === undefined) return <Loading failure={saved?.words} retry={editing.reload} />
  if (file.state.file === null)
    return (
      <>
        <CurrentModel config={{}} editing={editing} />
        <p class="notice">The service was started without a configuration file, so models can’t be changed here.</p>
      </>
    )
  if (file.config === null)
    return (
      <div class="error-box">
        <p>
          The configuration file is invalid. <a href="#/config">Fix it</a> first.
        </p>
      </div>
    )
  return (
    <>
      <CurrentModel config={file.config} editing={editing} />
      <ModelsSection config={file.config} editing={editing} />
      <ProvidersSection config={file.config} editing={editing} />
    </>
  )
}

interface SectionProps {
  config: Config
  editing: ConfigEditing
}

function ModelsSection({ config, editing }: SectionProps) {
  const models = Object.entries(config.models ?? {})
  return (
    <Section
      title="Models"
      about="Clients select a model by its name, or the current one as toolloop."
      verb="Add model"
      onAdd={() => openModelDialog(undefined, undefined, config, editing.save)}
      none="No models are configured besides the current one."
    >
      {models.map(([name, entry]) => (
        <ModelCard key={name} name={name} entry={entry} config={config} editing={editing} />
      ))}
    </Section>
  )
}

/** Shows the providers of the configuration, followed by the built-in providers that its models use. */
function ProvidersSection({ config, editing }: SectionProps) {
  const states = useLive().state?.providers ?? []
  const configured = Object.keys(config.providers ?? {})
  const builtIn = states.map(({ name }) => name).filter((name) => !configured.includes(name) && name !== 'demo')
  return (
    <Section
      title="Providers"
      about="Where models are served. Keys stay in the environment; only the names of their variables are shown."
      verb="Add provider"
      onAdd={() => openProviderDialog(undefined, config, editing.save)}
      none="No providers are configured. The built-in ones are used unchanged."
    >
      {[...configured, ...builtIn].map((name) => (
        <ProviderCard key={name} name={name} state={states.find((state) => state.name === name)} config={config} editing={editing} />
      ))}
    </Section>
  )
}

interface ListProps {
  title: string
  about: string
  verb: string
  onAdd(): void
  /** The text that is shown if there are no cards. */
  none: string
  children: ComponentChildren[]
}

function Section({ title, about, verb, onAdd, none, children }: ListProps) {
  return (
    <section>
      <div class="section-head">
        <div>
          <h2>{title}</h2>
          <p class="muted">{about}</p>
        </div>
        <button type="button" onClick={onAdd}>
          {verb}
        </button>
      </div>
      {children.length === 0 ? <p class="empty">{none}</p> : <ul class="cards">{children}</ul>}
    </section>
  )
}
