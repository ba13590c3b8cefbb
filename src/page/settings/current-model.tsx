import type { Config } from '../data/config-file.ts'
import { describeModel, type ModelEntry, settingsOf } from '../data/model-settings.ts'
import type { ServiceState } from '../types.ts'
import { useLive } from '../ui/live-context.ts'
import { openModelDialog } from './model-dialog.ts'
import { TestResult, useModelTest } from './test-result.tsx'
import type { ConfigEditing } from './use-config-file.ts'

/** Shows the current model, and how it relates to the configuration. */
export function CurrentModel({ config, editing }: { config: Config; editing: ConfigEditing }) {
  const { told, test } = useModelTest()
  const { now, isNamed, isFixed } = useCurrent(config)
  const { model } = config
  return (
    <section class="current" aria-labelledby="current-model">
      <div class="current-text">
        <h2 id="current-model">Current model</h2>
        <p class="current-name">{describeModel(now === undefined ? model : { provider: now.provider, model: now.model })}</p>
        <p class="muted">
          {model === undefined
            ? 'Chosen at startup: the configuration names no model.'
            : isFixed
              ? 'Chosen at startup. It overrides the configuration.'
              : isNamed
                ? `Listed below as ${model}.`
                : 'Defined by “model” in the configuration.'}
        </p>
        <TestResult {...told} />
      </div>
      <div class="buttons">
        <button
          type="button"
          aria-label="Test the current model"
          onClick={() => test(isFixed || model === undefined ? `${now?.provider}/${now?.model}` : model)}
        >
          Test
        </button>
        {model !== undefined && !isNamed && (
          <button type="button" aria-label="Edit the current model" onClick={() => openModelDialog('', model, config, editing.save)}>
            Edit
          </button>
        )}
      </div>
    </section>
  )
}

interface Current {
  now: ServiceState['models'][number] | undefined
  /** Whether the configuration names an entry of `models`, instead of defining the model in place. */
  isNamed: boolean
  /** Whether the model was chosen at startup. The configuration then has no effect on it. */
  isFixed: boolean
}

export function useCurrent({ model, models = {} }: Config): Current {
  const now = useLive().state?.models.find(({ name }) => name === 'toolloop')
  const isNamed = typeof model === 'string' && Object.hasOwn(models, model)
  const wanted = isNamed ? models[model] : model
  return { now, isNamed, isFixed: model !== undefined && now !== undefined && !isMadeOf(now, wanted) }
}

/** Whether a model was created from an entry. */
function isMadeOf({ provider, model }: { provider: string; model: string }, entry: ModelEntry | undefined): boolean {
  const settings = settingsOf(entry)
  return settings.provider === provider && (!settings.model || settings.model === model)
}
