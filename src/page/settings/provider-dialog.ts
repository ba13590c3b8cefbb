import { type Config, putEntry, type Save } from '../data/config-file.ts'
import { settingsOf } from '../data/model-settings.ts'
import { testModel } from '../data/test-model.ts'
import { openFormDialog } from './form-dialog.tsx'

export interface ProviderSettings {
  driver?: string
  baseURL?: string
  apiKeyEnv?: string | string[]
  apiKeyOptional?: boolean
  [name: string]: unknown
}

const ownFields = ['driver', 'baseURL', 'apiKeyEnv', 'apiKeyOptional']
export const drivers: readonly (readonly [value: string, words: string])[] = [
  ['', 'Same as the built-in provider of this name'],
  ['openai', 'OpenAI Chat Completions'],
  ['openai-responses', 'OpenAI Responses'],
  ['anthropic', 'Anthropic Messages'],
  ['google', 'Google Gemini'],
]

/** Asks for the settings of a provider, and saves them. `name` is undefined for a new provider. */
export function openProviderDialog(name: string | undefined, config: Config, save: Save): void {
  const settings: ProviderSettings = (name === undefined ? undefined : config.providers?.[name]) ?? {}
  const further = furtherSettings(settings)
  const entries = Object.values(config.models ?? {}).map(settingsOf)
  const models = entries.flatMap(({ provider, model }) => (provider === name && model ? [String(model)] : []))
  void openFormDialog({
    title: name === undefined ? 'Add a provider' : `Provider ${name}`,
    fields: [
      { name: 'name', label: 'Name', value: name ?? '', required: true, hint: 'Used in model names: NAME/model' },
      { name: 'driver', label: 'Driver', kind: 'select', value: settings.driver ?? '', options: drivers },
      { name: 'baseURL', label: 'Base URL', value: settings.baseURL ?? '', hint: 'For example https://llm.example.com/v1' },
      {
        name: 'apiKeyEnv',
        label: 'API key variable',
        value: [settings.apiKeyEnv ?? []].flat().join(', '),
        hint: 'The environment variable’s name, not the key; of several, separated by commas, the first one set is used',
      },
      {
        name: 'testedModel',
        label: 'Model to test with',
        value: models[0] ?? '',
        suggestions: models,
        hint: 'The provider’s name for it; not saved',
      },
      { name: 'apiKeyOptional', label: 'Works without a key', kind: 'checkbox', value: String(settings.apiKeyOptional === true) },
      {
        name: 'others',
        label: 'More settings, as JSON',
        kind: 'json',
        value: Object.keys(further).length === 0 ? '' : JSON.stringify(further, null, 2),
      },
    ],
    fieldOfPath: (path) => {
      const [root, , field] = path.split('/').slice(1)
      return root === 'providers' ? (field ?? 'name') : undefined
    },
    onSave: (values) =>
      save(
        (changed) => putEntry(changed, 'providers', { from: name, to: values.name ?? '', value: fromValues(values) }),
        `${values.name} was saved.`,
      ),
    test: async (values) => {
      if (!values.testedModel) return { text: 'Enter a model to test with', kind: 'bad' }
      return testModel(`${values.name}/${values.testedModel}`, { [values.name ?? '']: fromValues(values) })
    },
  })
}

/** Returns the settings for which the form has no field. */
export function furtherSettings(settings: ProviderSettings | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings ?? {}).filter(([name]) => !ownFields.includes(name)))
}

function fromValues({ driver, baseURL, apiKeyEnv = '', apiKeyOptional, others }: Record<string, string>): ProviderSettings {
  const variables = apiKeyEnv.split(/[\s,]+/).filter((one) => one !== '')
  return {
    ...(driver ? { driver } : {}),
    ...(baseURL ? { baseURL } : {}),
    ...(variables.length === 0 ? {} : { apiKeyEnv: variables.length === 1 ? variables[0] : variables }),
    ...(apiKeyOptional === 'true' ? { apiKeyOptional: true } : {}),
    ...(others ? JSON.parse(others) : {}),
  }
}
