import { announce } from '../announce.js'
import { ApiError, messageOf, post } from '../api.js'
import { readConfig, writeConfig } from '../config-file.js'
import { h, replace } from '../dom.js'
import { openFormDialog } from '../form-dialog.js'
import { duration } from '../format.js'
import { describeModel, fromValues, keyVariable, settingsOf, toValues } from '../model-settings.js'
import { notice } from '../notice.js'
import { openProviderDialog, providerCard } from './providers.js'

/** @typedef {import('../model-settings.js').ModelEntry} ModelEntry */
/** @typedef {import('../config-file.js').ConfigFile} ConfigFile */

/**
 * Which model answers, which others there are, and what providers they come from.
 * @param {{ live: import('../live.js').Live }} context
 */
export function modelsView({ live }) {
  const heading = h('h1', { tabindex: '-1' }, 'Models and providers')
  const notices = h('div', { className: 'notices' })
  const body = h('div', { className: 'stack' }, h('p', { className: 'muted' }, 'Loading…'))
  const element = h('div', { className: 'column' }, h('div', { className: 'view-head' }, heading), notices, body)
  /** @type {ConfigFile | undefined} */
  let file
  let closed = false

  const load = async () => {
    try {
      file = await readConfig()
      if (!closed) render()
    } catch (thrown) {
      if (!closed) replace(notices, notice('error', messageOf(thrown)))
    }
  }
  /**
   * Saves the configuration as `change` makes it. Rejects with an `ApiError`.
   * @param {(config: any) => unknown} change
   * @param {string} said
   */
  const save = async (change, said) => {
    if (file === undefined) return
    const config = structuredClone(file.config ?? {})
    change(config)
    file = await writeConfig({ config }, file.etag)
    replace(notices, notice('good', said))
    announce(said)
    render()
    live.refresh()
  }
  /** The same for a button: what goes wrong is said above. @type {(change: (config: any) => unknown, said: string) => Promise<void>} */
  const saveNow = (change, said) =>
    save(change, said).catch((thrown) => {
      const reload = h('button', { type: 'button', onclick: () => void load().then(() => notices.replaceChildren()) }, 'Reload')
      const isConflict = thrown instanceof ApiError && thrown.status === 412
      replace(
        notices,
        notice(
          'error',
          isConflict ? 'Somebody else has changed the configuration since. Nothing was saved.' : messageOf(thrown),
          ...(isConflict ? [reload] : []),
        ),
      )
    })

  const render = () => {
    if (file === undefined) return
    const focused = document.activeElement?.getAttribute('data-focus') ?? undefined
    replace(body, ...sections(file))
    if (focused !== undefined) {
      const again = [...body.querySelectorAll('[data-focus]')].find((one) => one.getAttribute('data-focus') === focused)
      if (again instanceof HTMLElement && !again.hasAttribute('disabled')) again.focus()
      else heading.focus()
    }
  }

  /** @param {ConfigFile} now */
  const sections = ({ config, state }) => {
    if (state.file === null)
      return [
        currentSection({}, []),
        h('p', { className: 'notice' }, 'The service was started without a configuration file: models can’t be changed here.'),
      ]
    if (config === null)
      return [
        h(
          'div',
          { className: 'error-box' },
          h('p', {}, 'The configuration file is not usable as it is. ', h('a', { href: '#/config' }, 'Put it right'), ' first.'),
        ),
      ]
    const models = Object.entries(config.models ?? {})
    const providers = Object.entries(config.providers ?? {})
    return [
      currentSection(config, models),
      section(
        'Models',
        'Clients ask for one of them by its name, and for the current one as toolloop.',
        h('button', { type: 'button', 'data-focus': 'add-model', onclick: () => editModel(undefined) }, 'Add model'),
        models.length === 0
          ? h('p', { className: 'empty' }, 'None are configured beside the current one.')
          : h('ul', { className: 'cards' }, ...models.map(([name, entry]) => modelCard(name, /** @type {ModelEntry} */ (entry), config))),
      ),
      section(
        'Providers',
        'Those of your own, and changes to those that are built in. Keys stay in the environment; here are the names of their variables.',
        h(
          'button',
          { type: 'button', 'data-focus': 'add-provider', onclick: () => openProviderDialog(undefined, {}, save) },
          'Add provider',
        ),
        providers.length === 0
          ? h('p', { className: 'empty' }, 'None are configured: the built-in ones are used as they are.')
          : h(
              'ul',
              { className: 'cards' },
              ...providers.map(([name, settings]) => providerCard(name, /** @type {any} */ (settings), { save, saveNow })),
            ),
      ),
    ]
  }

  /**
   * @param {any} config
   * @param {[string, any][]} models
   */
  const currentSection = (config, models) => {
    const now = live.state?.models.find(({ name }) => name === 'toolloop')
    const isNamed = typeof config.model === 'string' && Object.hasOwn(config.models ?? {}, config.model)
    const result = h('p', { className: 'test-result', role: 'status' })
    return h(
      'section',
      { className: 'current', 'aria-labelledby': 'current-model' },
      h(
        'div',
        { className: 'current-text' },
        h('h2', { id: 'current-model' }, 'Current model'),
        h(
          'p',
          { className: 'current-name', 'data-current': true },
          now === undefined ? describeModel(config.model) : `${now.provider} / ${now.model}`,
        ),
        h(
          'p',
          { className: 'muted' },
          isNamed
            ? `Named ${config.model} below.`
            : config.model === undefined
              ? 'Chosen at the start: the configuration names none.'
              : 'Written in the configuration itself.',
        ),
        result,
      ),
      h(
        'div',
        { className: 'buttons' },
        h(
          'button',
          {
            type: 'button',
            'data-focus': 'test current',
            onclick: () => test(isNamed ? config.model : (config.model ?? describeEntry(now)), result),
          },
          'Test',
        ),
        models.length >= 0 &&
          config.model !== undefined &&
          !isNamed &&
          h('button', { type: 'button', 'data-focus': 'edit current', onclick: () => editModel('', config.model) }, 'Edit'),
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
    const { baseURL } = settingsOf(entry)
    const variable = keyVariable(entry)
    const result = h('p', { className: 'test-result', role: 'status' })
    return h(
      'li',
      { className: isCurrent ? 'card is-current' : 'card', 'data-model': name },
      h(
        'div',
        { className: 'card-text' },
        h('h3', {}, name, isCurrent && h('span', { className: 'badge good' }, 'current')),
        h('p', { className: 'card-line' }, describeModel(entry)),
        baseURL !== undefined && h('p', { className: 'muted card-line' }, String(baseURL)),
        variable !== '' && h('p', { className: 'muted card-line' }, 'Key in ', h('code', {}, variable)),
        result,
      ),
      h(
        'div',
        { className: 'buttons' },
        h(
          'button',
          {
            type: 'button',
            'data-focus': `use ${name}`,
            disabled: isCurrent,
            'aria-label': `Use ${name}`,
            onclick: () =>
              saveNow((changed) => Object.assign(changed, { model: name }), `${name} is the current model from the next request on.`),
          },
          'Use',
        ),
        h(
          'button',
          { type: 'button', 'data-focus': `test ${name}`, 'aria-label': `Test ${name}`, onclick: () => test(name, result) },
          'Test',
        ),
        h(
          'button',
          { type: 'button', 'data-focus': `edit ${name}`, 'aria-label': `Edit ${name}`, onclick: () => editModel(name, entry) },
          'Edit',
        ),
        h(
          'button',
          {
            type: 'button',
            className: 'quiet danger-text',
            'data-focus': `remove ${name}`,
            disabled: isCurrent,
            'aria-label': `Remove ${name}`,
            onclick: () => saveNow((changed) => void delete changed.models[name], `${name} was removed.`),
          },
          'Remove',
        ),
      ),
    )
  }

  /**
   * `name` undefined: a new one; `''`: the current one, where the configuration has it in place.
   * @param {string | undefined} name
   * @param {ModelEntry} [entry]
   */
  const editModel = (name, entry) => {
    const values = toValues(entry)
    const known = new Set([
      'demo',
      ...Object.keys(file?.config?.providers ?? {}),
      ...Object.values(file?.config?.models ?? {}).map((one) => settingsOf(/** @type {ModelEntry} */ (one)).provider),
    ])
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
          hint: 'Such as openai, anthropic, google, ollama; custom with an address of your own',
        },
        { name: 'model', label: 'Model', value: values.model ?? '', hint: 'As the provider calls it' },
        { name: 'baseURL', label: 'Address', value: values.baseURL ?? '', hint: 'Only where it is another than the provider’s' },
        {
          name: 'apiKey',
          label: 'Variable with the key',
          value: values.apiKey ?? '',
          hint: 'Its name, never the key; empty: the provider’s usual one',
        },
        {
          name: 'functionCalling',
          label: 'Tool calls',
          kind: 'select',
          value: values.functionCalling ?? '',
          options: [
            ['', 'As the provider does it'],
            ['true', 'Natively'],
            ['false', 'As text'],
          ],
        },
        { name: 'contextWindow', label: 'Context window', kind: 'number', value: values.contextWindow ?? '', hint: 'In tokens' },
        { name: 'others', label: 'Further settings, as JSON', kind: 'json', value: values.others ?? '' },
      ],
      fieldOfPath: (path) => {
        const [root, second, third] = path.split('/').slice(1)
        const field = root === 'models' ? (third ?? (second === undefined ? undefined : 'name')) : root === 'model' ? second : undefined
        return field
      },
      onSave: (given) =>
        save(
          (config) => {
            if (name === '') {
              config.model = fromValues(given)
              return
            }
            const fresh = given.name ?? ''
            if (fresh !== name && Object.hasOwn(config.models ?? {}, fresh)) throw new Error(`There is a model ${fresh} already`)
            const renamed = Object.entries(config.models ?? {}).map(([key, value]) =>
              key === name ? [fresh, fromValues(given)] : [key, value],
            )
            config.models = Object.fromEntries(name === undefined ? [...renamed, [fresh, fromValues(given)]] : renamed)
            if (name !== undefined && config.model === name) config.model = fresh
          },
          `${name === '' ? 'The current model' : given.name} was saved.`,
        ),
      extra: {
        label: 'Test',
        async act(given, say) {
          say('Asking…', '')
          const told = await tell(fromValues(given))
          say(told.text, told.kind)
        },
      },
    })
  }

  const unsubscribe = live.onChange(() => {
    const now = live.state?.models.find(({ name }) => name === 'toolloop')
    const shown = body.querySelector('[data-current]')
    if (shown !== null && now !== undefined && shown.textContent !== `${now.provider} / ${now.model}`)
      shown.textContent = `${now.provider} / ${now.model}`
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
 * @param {HTMLElement} action
 * @param {HTMLElement} content
 */
function section(title, about, action, content) {
  return h(
    'section',
    {},
    h('div', { className: 'section-head' }, h('div', {}, h('h2', {}, title), h('p', { className: 'muted' }, about)), action),
    content,
  )
}

/** @param {{ provider: string, model: string } | undefined} model */
function describeEntry(model) {
  return model === undefined ? 'demo' : `${model.provider}/${model.model}`
}

/**
 * Asks a model one small question, and says beside it what came of it.
 * @param {ModelEntry} model
 * @param {HTMLElement} place
 */
async function test(model, place) {
  place.className = 'test-result'
  place.textContent = 'Asking…'
  const { text, kind } = await tell(model).catch((thrown) => ({ text: messageOf(thrown), kind: 'bad' }))
  place.className = `test-result ${kind}`
  place.textContent = text
}

/** @param {ModelEntry} model */
async function tell(model) {
  const { ok, durationMs, text, error } = await post('admin/api/providers/test', { model })
  if (ok) return { text: `It answers, after ${duration(durationMs)}: ${text}`, kind: 'good' }
  return { text: `${error.path === undefined ? '' : `${error.path} `}${error.message}`, kind: 'bad' }
}
