import { putEntry } from '../data/config-file.js'
import { fromValues, settingsOf, toValues } from '../data/model-settings.js'
import { testModel } from '../data/test-model.js'
import { openFormDialog } from '../ui/form-dialog.js'

/** @typedef {import('../data/model-settings.js').ModelEntry} ModelEntry */

/**
 * Asks for the settings of a model, and saves them.
 * @param {string | undefined} name Undefined: a new one; `''`: the current one, where the configuration has it in place.
 * @param {ModelEntry | undefined} entry
 * @param {{ config: any, save: import('../data/config-file.js').Save }} configuration
 */
export function openModelDialog(name, entry, { config, save }) {
  const values = toValues(entry)
  /** @type {ModelEntry[]} */
  const others = Object.values(config?.models ?? {})
  const known = new Set(['demo', ...Object.keys(config?.providers ?? {}), ...others.map((one) => settingsOf(one).provider)])
  openFormDialog({
    title: name === undefined ? 'Add a model' : name === '' ? 'Current model' : `Model ${name}`,
    fields: [
      ...(name === ''
        ? []
        : [{ name: 'name', label: 'Name', value: name ?? '', required: true, hint: 'Letters, digits, dots and dashes' }]),
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
    ],
    fieldOfPath: (path) => {
      const [root, second, third] = path.split('/').slice(1)
      if (root === 'models') return third ?? (second === undefined ? undefined : 'name')
      return root === 'model' ? second : undefined
    },
    onSave: (given) =>
      save(
        (changed) => {
          if (name === '') changed.model = fromValues(given)
          else {
            putEntry(changed, 'models', { from: name, to: given.name ?? '', value: fromValues(given) })
            if (name !== undefined && changed.model === name) changed.model = given.name
          }
        },
        `${name === '' ? 'The current model' : given.name} was saved.`,
      ),
    test: (given) => testModel(fromValues(given)),
  })
}
