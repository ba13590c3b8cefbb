import type { Config } from '../data/config-file.ts'
import { describeModel, keyVariable, type ModelEntry, settingsOf } from '../data/model-settings.ts'
import { useLive } from '../ui/live-context.ts'
import { useCurrent } from './current-model.tsx'
import { KeyLine } from './key-line.tsx'
import { openModelDialog } from './model-dialog.ts'
import { TestResult, useModelTest } from './test-result.tsx'
import type { ConfigEditing } from './use-config-file.ts'

/** Shows a model of the configuration. */
export function ModelCard({ name, entry, config, editing }: { name: string; entry: ModelEntry; config: Config; editing: ConfigEditing }) {
  const { told, test } = useModelTest()
  const isCurrent = config.model === name
  const { isFixed } = useCurrent(config)
  const { baseURL, provider } = settingsOf(entry)
  const variable = keyVariable(entry)
  const ofProvider = useLive().state?.providers.find((one) => one.name === provider)
  const use = () =>
    editing.saveNow(
      (changed) => {
        changed.model = name
      },
      isFixed
        ? `The configuration now names ${name}; the model chosen at startup stays in use.`
        : `${name} becomes the current model with the next request.`,
    )
  const remove = () => editing.saveNow((changed) => void delete changed.models?.[name], `${name} was removed.`)
  return (
    <li class="card">
      <div class="card-text">
        <h3>
          {name}
          {isCurrent && <span class={`badge ${isFixed ? 'off' : 'good'}`}>{isFixed ? 'configured' : 'current'}</span>}
        </h3>
        <p class="card-line">{describeModel(entry)}</p>
        {baseURL !== undefined && <p class="muted card-line">{String(baseURL)}</p>}
        {/* The entry's environment variable is always set: otherwise, the configuration would be invalid. */}
        {variable !== '' ? (
          <KeyLine variables={[variable]} isSet={true} />
        ) : (
          ofProvider?.hasKey === false && <KeyLine variables={[ofProvider.keyEnv ?? []].flat()} isSet={false} />
        )}
        <TestResult {...told} />
      </div>
      <div class="buttons">
        <button type="button" aria-label={`Use ${name}`} disabled={isCurrent} onClick={use}>
          Use
        </button>
        <button type="button" aria-label={`Test ${name}`} onClick={() => test(name)}>
          Test
        </button>
        <button type="button" aria-label={`Edit ${name}`} onClick={() => openModelDialog(name, entry, config, editing.save)}>
          Edit
        </button>
        <button type="button" class="quiet danger-text" aria-label={`Remove ${name}`} disabled={isCurrent} onClick={remove}>
          Remove
        </button>
      </div>
    </li>
  )
}
