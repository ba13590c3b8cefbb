import type { Config } from '../data/config-file.ts'
import type { Provider } from '../types.ts'
import { KeyLine } from './key-line.tsx'
import { drivers, furtherSettings, openProviderDialog, type ProviderSettings } from './provider-dialog.ts'
import type { ConfigEditing } from './use-config-file.ts'

interface ProviderCardProps {
  name: string
  /** The state of the provider. Undefined if no model uses the provider yet. */
  state: Provider | undefined
  config: Config
  editing: ConfigEditing
}

/** Shows a provider of the configuration, or a built-in provider. */
export function ProviderCard({ name, state, config, editing }: ProviderCardProps) {
  const settings: ProviderSettings | undefined = config.providers?.[name]
  const { driver, baseURL } = settings ?? {}
  const further = Object.keys(furtherSettings(settings))
  const remove = () => editing.saveNow((changed) => void delete changed.providers?.[name], `${name} was removed.`)
  return (
    <li class="card">
      <div class="card-text">
        <h3>{name}</h3>
        <p class="card-line">
          {settings === undefined
            ? 'Built in'
            : driver === undefined
              ? 'Built in, with changes'
              : (drivers.find(([value]) => value === driver)?.[1] ?? driver)}
        </p>
        {baseURL !== undefined && <p class="muted card-line">{String(baseURL)}</p>}
        <Key state={state} variables={[settings?.apiKeyEnv ?? []].flat()} />
        {further.length > 0 && <p class="muted card-line">{`More settings: ${further.join(', ')}`}</p>}
      </div>
      <div class="buttons">
        <button type="button" aria-label={`Edit provider ${name}`} onClick={() => openProviderDialog(name, config, editing.save)}>
          Edit
        </button>
        {settings !== undefined && (
          <button type="button" class="quiet danger-text" aria-label={`Remove provider ${name}`} onClick={remove}>
            Remove
          </button>
        )}
      </div>
    </li>
  )
}

function Key({ state, variables }: { state: Provider | undefined; variables: readonly string[] }) {
  if (state === undefined) return variables.length === 0 ? null : <KeyLine variables={variables} isSet={undefined} />
  const { hasKey, keyEnv } = state
  if (hasKey === null) return <p class="muted card-line">No key needed</p>
  if (hasKey && keyEnv === null) return <p class="muted card-line">Each of its models names its own key variable</p>
  return <KeyLine variables={hasKey || variables.length === 0 ? [keyEnv ?? []].flat() : variables} isSet={hasKey} />
}
