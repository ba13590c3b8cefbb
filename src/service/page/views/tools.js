import { ask, messageOf } from '../data/api.js'
import { count } from '../data/format.js'
import { longText } from '../reading/long-text.js'
import { h, newId, renderList, replace, setText } from '../ui/dom.js'

/** @typedef {import('../types.js').Tool} Tool */
/** @typedef {import('../types.js').Skill} Skill */
/** @typedef {{ path: string, severity: 'error' | 'warning', message: string }} SkillProblem */

/** @type {Record<Tool['effect'], string>} */
const effects = { read: 'read-only', idempotent: 'safe to repeat', unsafe: 'may have side effects' }
/** @type {Record<Tool['approval'], string>} */
const approvals = { never: '', always: 'needs approval', depends: 'may need approval' }
/** @type {Record<Skill['source'], string>} */
const sources = { configured: 'from the configuration', project: 'from the project', user: 'from the home folder' }

/**
 * The tools and skills of the agent, with what they take and what they say.
 * @param {{ live: import('../data/live.js').Live }} context
 */
export function toolsView({ live }) {
  const filterId = newId()
  const filter = h('input', { id: filterId, type: 'search', placeholder: 'Name or description', autocomplete: 'off' })
  const total = h('p', { className: 'muted' })
  const tools = section('Tools', 'tool')
  const skills = section('Skills', 'skill')
  const problems = h('div', {})
  const element = h(
    'div',
    { className: 'column' },
    h('div', { className: 'view-head' }, h('h1', { tabindex: '-1' }, 'Tools and skills'), total),
    h('div', { className: 'field' }, h('label', { for: filterId }, 'Filter'), filter),
    h('div', { className: 'stack' }, tools.element, skills.element),
  )
  skills.element.append(problems)
  /** @type {Skill[]} */
  let found = []
  let closed = false
  /** @type {number | undefined} */
  let reloads
  const render = () => {
    const wanted = filter.value.trim().toLowerCase()
    const fits = (/** @type {{ name: string, description: string }} */ one) =>
      `${one.name} ${one.description}`.toLowerCase().includes(wanted)
    const all = live.state?.tools ?? []
    tools.show(
      all,
      all.filter((tool) => fits(tool.function)),
      toolCard,
    )
    skills.show(found, found.filter(fits), skillCard)
    setText(total, `${count(all.length, 'tool')} · ${count(found.length, 'skill')}`)
    skills.element.hidden = found.length === 0 && problems.childElementCount === 0
  }
  const loadSkills = async () => {
    try {
      const answer = await ask('admin/api/skills')
      found = answer.data
      replace(problems, answer.problems.length > 0 && problemBox(answer.problems))
    } catch (thrown) {
      replace(problems, h('p', { className: 'error-text', role: 'alert' }, messageOf(thrown)))
    }
    if (!closed) render()
  }
  filter.addEventListener('input', render)
  const unsubscribe = live.onChange(() => {
    render()
    if (live.state?.config.reloads === reloads) return
    reloads = live.state?.config.reloads
    void loadSkills()
  })
  return {
    element,
    title: 'Tools and skills',
    close() {
      closed = true
      unsubscribe()
    },
  }
}

/**
 * @param {string} title
 * @param {string} one
 */
function section(title, one) {
  const summary = h('p', { className: 'muted', role: 'status' })
  const list = h('div', { className: 'tool-list' })
  const element = h('section', {}, h('div', { className: 'section-head' }, h('h2', {}, title), summary), list)
  /**
   * @template {object} Entry
   * @param {readonly Entry[]} all
   * @param {readonly Entry[]} shown
   * @param {(entry: Entry) => HTMLElement} create
   */
  const show = (all, shown, create) => {
    setText(summary, shown.length === all.length ? '' : `${shown.length} of ${count(all.length, one)}`)
    renderList(list, shown, { key: (entry) => JSON.stringify(entry), create })
  }
  return { element, show }
}

/**
 * A line that opens.
 * @param {string} name
 * @param {string} description
 * @param {(HTMLElement | false)[]} marks
 * @param {(HTMLElement | false)[]} body
 */
function openable(name, description, marks, body) {
  return h(
    'details',
    { className: 'tool' },
    h(
      'summary',
      { className: 'tool-summary' },
      h('code', { className: 'tool-name' }, name),
      h('span', { className: 'tool-marks' }, ...marks),
      h('span', { className: 'tool-about' }, description),
    ),
    h('div', { className: 'tool-body' }, ...body),
  )
}

/** @param {Tool} tool */
function toolCard({ function: { name, description, parameters }, effect, approval }) {
  const properties = Object.entries(parameters?.properties ?? {})
  const required = new Set(parameters?.required)
  return openable(
    name,
    description,
    [
      h('span', { className: `badge ${effect === 'unsafe' ? 'wait' : 'off'}` }, effects[effect] ?? effect),
      approvals[approval] !== '' && h('span', { className: 'badge accent' }, approvals[approval]),
    ],
    [
      properties.length === 0
        ? h('p', { className: 'muted' }, 'No arguments.')
        : h('dl', { className: 'parameters' }, ...properties.flatMap(([key, schema]) => parameter(key, schema, required.has(key)))),
      h(
        'details',
        { className: 'raw' },
        h('summary', { className: 'raw-summary' }, 'JSON Schema'),
        h(
          'pre',
          { className: 'code', tabindex: '0', role: 'group', 'aria-label': `JSON Schema of ${name}` },
          JSON.stringify(parameters, null, 2),
        ),
      ),
    ],
  )
}

/** @param {Skill} skill */
function skillCard({ name, description, source, folder, allowedTools, tools, scripts, instructions }) {
  /** @type {[string, string[]][]} */
  const lists = [
    ['Folder', [folder]],
    ['Allowed tools', allowedTools],
    ['Its own tools', tools],
    ['Scripts', scripts],
  ]
  return openable(
    name,
    description,
    [h('span', { className: 'badge off' }, sources[source] ?? source)],
    [
      h(
        'dl',
        { className: 'facts' },
        ...lists.flatMap(([label, names]) =>
          names.length === 0
            ? []
            : [h('div', {}, h('dt', {}, label), h('dd', {}, ...names.flatMap((one, at) => [at > 0 && ', ', h('code', {}, one)])))],
        ),
      ),
      h(
        'div',
        { className: 'raw' },
        h('p', { className: 'muted' }, 'What the model reads when it activates the skill:'),
        longText(instructions, `Instructions of ${name}`),
      ),
    ],
  )
}

/** @param {SkillProblem[]} problems */
function problemBox(problems) {
  return h(
    'ul',
    { className: 'problems skill-problems' },
    ...problems.map(({ path, severity, message }) =>
      h(
        'li',
        {},
        h('span', { className: severity === 'error' ? 'error-text' : 'muted' }, severity === 'error' ? 'Skipped: ' : 'Note: '),
        h('code', {}, path),
        ` ${message}`,
      ),
    ),
  )
}

/**
 * @param {string} name
 * @param {any} schema
 * @param {boolean} isRequired
 */
function parameter(name, schema, isRequired) {
  return [
    h('dt', {}, h('code', {}, name), isRequired && h('span', { className: 'required' }, 'required')),
    h(
      'dd',
      {},
      h('span', { className: 'type' }, typeOf(schema)),
      schema?.description !== undefined && h('span', {}, String(schema.description)),
    ),
  ]
}

/**
 * A schema in a few words.
 * @param {any} schema
 * @returns {string}
 */
function typeOf(schema) {
  if (typeof schema !== 'object' || schema === null) return 'anything'
  if (Array.isArray(schema.enum)) return schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return choices.map(typeOf).join(' | ')
  const bounds = [
    schema.minimum !== undefined && `≥ ${schema.minimum}`,
    schema.maximum !== undefined && `≤ ${schema.maximum}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ].filter(Boolean)
  const type = schema.type === 'array' ? `${typeOf(schema.items)}[]` : [schema.type ?? 'anything'].flat().join(' | ')
  return [type, ...bounds].join(', ')
}
