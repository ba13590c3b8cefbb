import { type Config, putEntry, type Save } from '../data/config-file.ts'
import { fromValues, type ModelEntry, settingsOf, toValues } from '../data/model-settings.ts'
import { testModel } from '../data/test-model.ts'
import { type Field, openFormDialog } from './form-dialog.tsx'

/**
 * Asks for the settings of a model, and saves them. `name` is undefined for a new model, and `''` if the setting `model` describes the
 * current model itself instead of naming it.
 */
export function openModelDialog(name: string | undefined, entry: ModelEntry | undefined, config: Config, save: Save): void {
  const isCurrent = name === ''
  const nameField: Field = { name: 'name', label: 'Name', value: name ?? '', required: true, hint: 'Letters, digits, dots and dashes' }
  void openFormDialog({
    title: name === undefined ? 'Add a model' : isCurrent ? 'Current model' : `Model ${name}`,
    fields: isCurrent ? fieldsOf(entry, config) : [nameField, ...fieldsOf(entry, config)],
    fieldOfPath: (path) => {
      const [root, second, third] = path.split('/').slice(1)
      if (root === 'models') return third ?? (second === undefined ? undefined : 'name')
      return root === 'model' ? second : undefined
    },
    onSave: (given) =>
      save(
        (changed) => {
          if (isCurrent) changed.model = fromValues(given)
          else {
            putEntry(changed, 'models', { from: name, to: given.name ?? '', value: fromValues(given) })
            if (name !== undefined && changed.model === name) changed.model = given.name
          }
        },
        `${isCurrent ? 'The current model' : given.name} was saved.`,
      ),
    test: (given) => testModel(fromValues(given)),
  })
}

function fieldsOf(entry: ModelEntry | undefined, config: Config): Field[] {
  const values = toValues(entry)
  const ofModels = Object.values(config.models ?? {}).map((one) => settingsOf(one).provider ?? '')
  const known = new Set(['demo', ...Object.keys(config.providers ?? {}), ...ofModels])
  return [
    {
      name: 'provider',
      label: 'Provider',
      value: values.provider ?? '',
      required: true,
      suggestions: [...known],
      hint: 'For example openai, anthropic, google or ollama; custom for a server of your own',
    },
    { name: 'model', label: 'Model', value: values.model ?? '', hint: 'The provider’s name for it' },
    { name: 'baseURL', label: 'Base URL', value: values.baseURL ?? '', hint: 'Only if it differs from the provider’s' },
    {
      name: 'apiKey',
      label: 'API key variable',
      value: values.apiKey ?? '',
      hint: 'The environment variable’s name, not the key; empty: the provider’s default',
    },
    {
      name: 'functionCalling',
      label: 'Tool calls',
      kind: 'select',
      value: values.functionCalling ?? '',
      options: [
        ['', 'Provider default'],
        ['true', 'Native'],
        ['false', 'As text'],
      ],
    },
    { name: 'contextWindow', label: 'Context window', kind: 'number', value: values.contextWindow ?? '', hint: 'In tokens' },
    { name: 'others', label: 'More settings, as JSON', kind: 'json', value: values.others ?? '' },
  ]
}
