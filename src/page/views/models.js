import { ApiError, messageOf } from '../data/api.js'
import { readConfig, writeConfig } from '../data/config-file.js'
import { describeModel, keyVariable, settingsOf } from '../data/model-settings.js'
import { testInto } from '../data/test-model.js'
import { announce } from '../ui/announce.js'
import { h, replace } from '../ui/dom.js'
import { notice } from '../ui/notice.js'
import { action, replaceKeepingFocus } from '../ui/refocus.js'
import { openModelDialog } from './model-dialog.js'
import { keyLine, openProviderDialog, providerCards } from './providers.js'

/** @typedef {import('../data/model-settings.js').ModelEntry} ModelEntry */
/** @typedef {import('../data/config-file.js').ConfigFile} ConfigFile */
/** @typedef {import('../data/config-file.js').Save} Save */

/**
 * Which model answers, which others there are, and what providers they come from.
 * @param {{ live: import('../data/live.js').Live }} context
 */
export function modelsView({ live }) {
  const heading = h('h1', { tabindex: '-1' }, 'Models and providers')
  const notices = h('div', { className: 'notices' })
  const body = h('div', { className: 'stack' }, h('p', { className: 'muted' }, 'Loading…'))
  const element = h('div', { className: 'column' }, h('div', { className: 'view-head' }, heading), notices, body)
  /** @type {ConfigFile | undefined} */
  let file
  let closed = false
  /** What of the state was shown. */
  let shown = ''

  const load = async () => {
    try {
      file = await readConfig()
      if (!closed) render()
    } catch (thrown) {
      if (!closed) replace(notices, notice('error', messageOf(thrown)))
    }
  }
  /** Rejects with an `ApiError`. @type {Save} */
  const save = async (change, said) => {
    if (file === undefined) return
    const config = structuredClone(file.config ?? {})
    change(config)
    file = await writeConfig({ config }, file.etag)
    replace(notices, notice('good', said))
    announce(said)
    // What can't be asked for now will come with the next change.
    await live.update().catch(() => {})
    render()
  }
  /** The same for a button: what goes wrong is said above. @type {Save} */
  const saveNow = (change, said) =>
    save(change, said).catch((thrown) => {
      const reload = h('button', { type: 'button', onclick: () => void load().then(() => notices.replaceChildren()) }, 'Reload')
      const isConflict = thrown instanceof ApiError && thrown.status === 412
      const words = isConflict ? 'Someone else changed the configuration. Nothing was saved.' : messageOf(thrown)
      replace(notices, notice('error', words, ...(isConflict ? [reload] : [])))
    })

  const render = () => {
    if (file === undefined) return
    const { state } = live
    shown = JSON.stringify([state?.models, state?.providers])
    replaceKeepingFocus(body, sections(file), heading)
  }

  /** @param {ConfigFile} now */
  const sections = ({ config, state }) => {
    if (state.file === null)
      return [
        currentSection({}),
        h('p', { className: 'notice' }, 'The service was started without a configuration file, so models can’t be changed here.'),
      ]
    if (config === null)
      return [
        h(
          'div',
          { className: 'error-box' },
          h('p', {}, 'The configuration file is invalid. ', h('a', { href: '#/config' }, 'Fix it'), ' first.'),
        ),
      ]
    const models = Object.entries(config.models ?? {})
    const providers = providerCards(config, live.state?.providers ?? [], { save, saveNow })
    return [
      currentSection(config),
      section(
        'Models',
        'Clients select a model by its name, or the current one as toolloop.',
        action('Add model', 'add-model', () => editModel(undefined)),
        models.length === 0
          ? h('p', { className: 'empty' }, 'No models are configured besides the current one.')
          : h('ul', { className: 'cards' }, ...models.map(([name, entry]) => modelCard(name, /** @type {ModelEntry} */ (entry), config))),
      ),
      section(
        'Providers',
        'Where models are served. Keys stay in the environment; only the names of their variables are shown.',
        action('Add provider', 'add-provider', () => openProviderDialog(undefined, config, save)),
        providers.length === 0
          ? h('p', { className: 'empty' }, 'No providers are configured. The built-in ones are used unchanged.')
          : h('ul', { className: 'cards' }, ...providers),
      ),
    ]
  }

  /** Which model answers, and what the configuration has to do with it. @param {any} config */
  const currentOf = (config) => {
    const now = live.state?.models.find(({ name }) => name === 'toolloop')
    const isNamed = typeof config.model === 'string' && Object.hasOwn(config.models ?? {}, config.model)
    const wanted = isNamed ? config.models[config.model] : config.model
    /** A model given at the start may hold whatever the configuration says. */
    const isFixed = config.model !== undefined && now !== undefined && !isMadeOf(now, wanted)
    return { now, isNamed, isFixed }
  }

  /** @param {any} config */
  const currentSection = (config) => {
    const { now, isNamed, isFixed } = currentOf(config)
    const result = h('p', { className: 'test-result', role: 'status' })
    const asked = isFixed || config.model === undefined ? `${now?.provider}/${now?.model}` : config.model
    return h(
      'section',
      { className: 'current', 'aria-labelledby': 'current-model' },
      h(
        'div',
        { className: 'current-text' },
        h('h2', { id: 'current-model' }, 'Current model'),
        h('p', { className: 'current-name' }, describeModel(now === undefined ? config.model : { ...now })),
        h(
          'p',
          { className: 'muted' },
          config.model === undefined
            ? 'Chosen at startup: the configuration names no model.'
            : isFixed
              ? 'Chosen at startup. It overrides the configuration.'
              : isNamed
                ? `Listed below as ${config.model}.`
                : 'Defined by “model” in the configuration.',
        ),
        result,
      ),
      h(
        'div',
        { className: 'buttons' },
        action('Test', 'test current', () => testInto(result, asked), { 'aria-label': 'Test the current model' }),
        config.model !== undefined &&
          !isNamed &&
          action('Edit', 'edit current', () => editModel('', config.model), { 'aria-label': 'Edit the current model' }),
      ),
    )
  }

  /**
   * @param {string} name
   * @param {ModelEntry} entry
   * @param {any} config
   */
  const modelCard = (name, entry, config) => {
    const isCurrent = config.model === name
    const { isFixed } = currentOf(config)
    const { baseURL, provider } = settingsOf(entry)
    const variable = keyVariable(entry)
    const result = h('p', { className: 'test-result', role: 'status' })
    const ofProvider = live.state?.providers.find((one) => one.name === provider)
    return h(
      'li',
      { className: 'card' },
      h(
        'div',
        { className: 'card-text' },
        h('h3', {}, name, isCurrent && h('span', { className: `badge ${isFixed ? 'off' : 'good'}` }, isFixed ? 'configured' : 'current')),
        h('p', { className: 'card-line' }, describeModel(entry)),
        baseURL !== undefined && h('p', { className: 'muted card-line' }, String(baseURL)),
        // A variable of its own that is not set would have made the configuration unusable.
        variable !== '' ? keyLine([variable], true) : ofProvider?.hasKey === false && keyLine([ofProvider.keyEnv ?? []].flat(), false),
        result,
      ),
      h(
        'div',
        { className: 'buttons' },
        action(
          'Use',
          `use ${name}`,
          () =>
            saveNow(
              (changed) => Object.assign(changed, { model: name }),
              isFixed
                ? `The configuration now names ${name}; the model chosen at startup stays in use.`
                : `${name} becomes the current model with the next request.`,
            ),
          { 'aria-label': `Use ${name}`, disabled: isCurrent },
        ),
        action('Test', `test ${name}`, () => testInto(result, name), { 'aria-label': `Test ${name}` }),
        action('Edit', `edit ${name}`, () => editModel(name, entry), { 'aria-label': `Edit ${name}` }),
        action('Remove', `remove ${name}`, () => saveNow((changed) => void delete changed.models[name], `${name} was removed.`), {
          'aria-label': `Remove ${name}`,
          className: 'quiet danger-text',
          disabled: isCurrent,
        }),
      ),
    )
  }

  /**
   * @param {string | undefined} name
   * @param {ModelEntry} [entry]
   */
  const editModel = (name, entry) => openModelDialog(name, entry, { config: file?.config, save })

  const unsubscribe = live.onChange(() => {
    const { state } = live
    if (file === undefined || state === undefined) return
    if (state.config.reloads > file.state.reloads) void load()
    else if (shown !== JSON.stringify([state.models, state.providers])) render()
  })
  void load()
  return {
    element,
    title: 'Models',
    close() {
      closed = true
      unsubscribe()
    },
  }
}

/**
 * @param {string} title
 * @param {string} about
 * @param {HTMLElement} button
 * @param {HTMLElement} content
 */
function section(title, about, button, content) {
  return h(
    'section',
    {},
    h('div', { className: 'section-head' }, h('div', {}, h('h2', {}, title), h('p', { className: 'muted' }, about)), button),
    content,
  )
}

/**
 * Whether a model is the one of an entry.
 * @param {{ provider: string, model: string }} model
 * @param {ModelEntry} entry
 */
function isMadeOf({ provider, model }, entry) {
  const settings = settingsOf(entry)
  return settings.provider === provider && (!settings.model || settings.model === model)
}
