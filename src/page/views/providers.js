import { putEntry } from '../data/config-file.js'
import { settingsOf } from '../data/model-settings.js'
import { testModel } from '../data/test-model.js'
import { h } from '../ui/dom.js'
import { openFormDialog } from '../ui/form-dialog.js'
import { action } from '../ui/refocus.js'

/** @typedef {Record<string, any>} ProviderSettings */
/** @typedef {import('../data/config-file.js').Save} Save */
/** @typedef {import('../types.js').Provider} Provider */

const ownFields = ['driver', 'baseURL', 'apiKeyEnv', 'apiKeyOptional']
const drivers = [
  ['', 'Same as the built-in provider of this name'],
  ['openai', 'OpenAI Chat Completions'],
  ['openai-responses', 'OpenAI Responses'],
  ['anthropic', 'Anthropic Messages'],
  ['google', 'Google Gemini'],
]

/**
 * The providers of a configuration, and behind them the built-in ones its models come from.
 * @param {any} config
 * @param {readonly Provider[]} states
 * @param {{ save: Save, saveNow: Save }} saving
 */
export function providerCards(config, states, saving) {
  const configured = Object.keys(config.providers ?? {})
  const builtIn = states.map(({ name }) => name).filter((name) => !configured.includes(name) && name !== 'demo')
  return [...configured, ...builtIn].map((name) =>
    providerCard(
      name,
      config,
      states.find((state) => state.name === name),
      saving,
    ),
  )
}

/**
 * @param {string} name
 * @param {any} config
 * @param {Provider | undefined} state
 * @param {{ save: Save, saveNow: Save }} saving
 */
function providerCard(name, config, state, { save, saveNow }) {
  /** @type {ProviderSettings | undefined} */
  const settings = config.providers?.[name]
  const { driver, baseURL } = settings ?? {}
  const further = Object.keys(settings ?? {}).filter((key) => !ownFields.includes(key))
  const kind = drivers.find(([value]) => value === driver)?.[1]
  return h(
    'li',
    { className: 'card' },
    h(
      'div',
      { className: 'card-text' },
      h('h3', {}, name),
      h(
        'p',
        { className: 'card-line' },
        settings === undefined ? 'Built in' : driver === undefined ? 'Built in, with changes' : (kind ?? driver),
      ),
      baseURL !== undefined && h('p', { className: 'muted card-line' }, String(baseURL)),
      keyOf(state, [settings?.apiKeyEnv ?? []].flat()),
      further.length > 0 && h('p', { className: 'muted card-line' }, `More settings: ${further.join(', ')}`),
    ),
    h(
      'div',
      { className: 'buttons' },
      action('Edit', `edit provider ${name}`, () => openProviderDialog(name, config, save), { 'aria-label': `Edit provider ${name}` }),
      settings !== undefined &&
        action(
          'Remove',
          `remove provider ${name}`,
          () => saveNow((changed) => void delete changed.providers[name], `${name} was removed.`),
          {
            'aria-label': `Remove provider ${name}`,
            className: 'quiet danger-text',
          },
        ),
    ),
  )
}

/**
 * @param {Provider | undefined} state Undefined: no model uses it yet.
 * @param {readonly string[]} variables
 */
function keyOf(state, variables) {
  if (state === undefined) return variables.length > 0 && keyLine(variables, undefined)
  const { hasKey, keyEnv } = state
  if (hasKey === null) return h('p', { className: 'muted card-line' }, 'No key needed')
  if (hasKey && keyEnv === null) return h('p', { className: 'muted card-line' }, 'Each of its models names its own key variable')
  return keyLine(hasKey || variables.length === 0 ? [keyEnv ?? []].flat() : variables, hasKey)
}

/**
 * Where a key is, and whether it is there.
 * @param {readonly string[]} variables
 * @param {boolean | undefined} isSet Undefined: not known.
 */
export function keyLine(variables, isSet) {
  return h(
    'p',
    { className: 'muted card-line key-line' },
    variables.length === 0 ? 'Key: no variable set' : 'Key in ',
    ...variables.flatMap((one, at) => [at > 0 && ' or ', h('code', {}, one)]),
    isSet !== undefined && h('span', { className: `badge ${isSet ? 'good' : 'bad'}` }, isSet ? 'has key' : 'no key'),
  )
}

/**
 * @param {string | undefined} name Undefined: a new one.
 * @param {any} config
 * @param {Save} save
 */
export function openProviderDialog(name, config, save) {
  /** @type {ProviderSettings} */
  const settings = (name === undefined ? undefined : config.providers?.[name]) ?? {}
  const others = Object.entries(settings).filter(([key]) => !ownFields.includes(key))
  /** @type {import('../data/model-settings.js').ModelEntry[]} */
  const entries = Object.values(config.models ?? {})
  const models = entries.map(settingsOf).flatMap((one) => (one.provider === name && one.model ? [String(one.model)] : []))
  openFormDialog({
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
        value: others.length === 0 ? '' : JSON.stringify(Object.fromEntries(others), null, 2),
      },
    ],
    fieldOfPath: (path) => {
      const [root, , field] = path.split('/').slice(1)
      return root === 'providers' ? (field ?? 'name') : undefined
    },
    onSave: (values) =>
      save((changed) => {
        putEntry(changed, 'providers', { from: name, to: values.name ?? '', value: fromValues(values) })
      }, `${values.name} was saved.`),
    test: async (values) => {
      if (!values.testedModel) return { text: 'Enter a model to test with', kind: 'bad' }
      return testModel(`${values.name}/${values.testedModel}`, { [values.name ?? '']: fromValues(values) })
    },
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
