import { h } from '../dom.js'
import { openFormDialog } from '../form-dialog.js'

/** @typedef {Record<string, any>} ProviderSettings */
/** @typedef {(change: (config: any) => void, said: string) => Promise<void>} Save */

const ownFields = ['driver', 'baseURL', 'apiKeyEnv', 'apiKeyOptional']

/**
 * @param {string} name
 * @param {ProviderSettings} settings
 * @param {{ save: Save, saveNow: Save }} saving
 */
export function providerCard(name, settings, { save, saveNow }) {
  const variables = [settings.apiKeyEnv ?? []].flat()
  const further = Object.keys(settings).filter((key) => !ownFields.includes(key))
  return h(
    'li',
    { className: 'card', 'data-provider': name },
    h(
      'div',
      { className: 'card-text' },
      h('h3', {}, name),
      h('p', { className: 'card-line' }, settings.driver === undefined ? 'Changes to a built-in provider' : `Speaks ${settings.driver}`),
      settings.baseURL !== undefined && h('p', { className: 'muted card-line' }, String(settings.baseURL)),
      variables.length > 0 &&
        h(
          'p',
          { className: 'muted card-line' },
          'Key in ',
          ...variables.flatMap((one, at) => [at > 0 && ' or ', h('code', {}, String(one))]),
        ),
      settings.apiKeyOptional === true && variables.length === 0 && h('p', { className: 'muted card-line' }, 'No key needed'),
      further.length > 0 && h('p', { className: 'muted card-line' }, `Further settings: ${further.join(', ')}`),
    ),
    h(
      'div',
      { className: 'buttons' },
      h(
        'button',
        {
          type: 'button',
          'data-focus': `edit provider ${name}`,
          'aria-label': `Edit ${name}`,
          onclick: () => openProviderDialog(name, settings, save),
        },
        'Edit',
      ),
      h(
        'button',
        {
          type: 'button',
          className: 'quiet danger-text',
          'data-focus': `remove provider ${name}`,
          'aria-label': `Remove ${name}`,
          onclick: () => saveNow((config) => void delete config.providers[name], `${name} was removed.`),
        },
        'Remove',
      ),
    ),
  )
}

/**
 * @param {string | undefined} name Undefined: a new one.
 * @param {ProviderSettings} settings
 * @param {Save} save
 */
export function openProviderDialog(name, settings, save) {
  const others = Object.entries(settings).filter(([key]) => !ownFields.includes(key))
  openFormDialog({
    title: name === undefined ? 'Add a provider' : `Provider ${name}`,
    fields: [
      { name: 'name', label: 'Name', value: name ?? '', required: true, hint: 'What models are named by: NAME/model' },
      {
        name: 'driver',
        label: 'Speaks',
        kind: 'select',
        value: settings.driver ?? '',
        options: [
          ['', 'As the built-in one of this name'],
          ['openai', 'OpenAI Chat Completions'],
          ['openai-responses', 'OpenAI Responses'],
          ['anthropic', 'Anthropic Messages'],
          ['google', 'Google Gemini'],
        ],
      },
      { name: 'baseURL', label: 'Address', value: settings.baseURL ?? '', hint: 'Such as https://llm.example.com/v1' },
      {
        name: 'apiKeyEnv',
        label: 'Variable with the key',
        value: [settings.apiKeyEnv ?? []].flat().join(', '),
        hint: 'Its name, never the key; several with commas: the first that is set',
      },
      { name: 'apiKeyOptional', label: 'Works without a key', kind: 'checkbox', value: String(settings.apiKeyOptional === true) },
      {
        name: 'others',
        label: 'Further settings, as JSON',
        kind: 'json',
        value: others.length === 0 ? '' : JSON.stringify(Object.fromEntries(others), null, 2),
      },
    ],
    fieldOfPath: (path) => {
      const [root, , field] = path.split('/').slice(1)
      return root === 'providers' ? (field ?? 'name') : undefined
    },
    onSave: (values) =>
      save((config) => {
        const fresh = values.name ?? ''
        if (fresh !== name && Object.hasOwn(config.providers ?? {}, fresh)) throw new Error(`There is a provider ${fresh} already`)
        const kept = Object.entries(config.providers ?? {}).filter(([key]) => key !== name)
        config.providers = Object.fromEntries([...kept, [fresh, fromValues(values)]])
      }, `${values.name} was saved.`),
  })
}

/**
 * @param {Record<string, string>} values
 * @returns {ProviderSettings}
 */
function fromValues({ driver, baseURL, apiKeyEnv = '', apiKeyOptional, others }) {
  const variables = apiKeyEnv.split(/[\s,]+/).filter((one) => one !== '')
  return {
    ...(driver ? { driver } : {}),
    ...(baseURL ? { baseURL } : {}),
    ...(variables.length === 0 ? {} : { apiKeyEnv: variables.length === 1 ? variables[0] : variables }),
    ...(apiKeyOptional === 'true' ? { apiKeyOptional: true } : {}),
    ...(others ? JSON.parse(others) : {}),
  }
}
