import { h, newId, renderList, setText } from '../dom.js'
import { count } from '../format.js'

/** @typedef {import('../types.js').Tool} Tool */

/** @type {Record<Tool['effect'], string>} */
const effects = { read: 'only reads', idempotent: 'may be repeated', unsafe: 'changes things' }
/** @type {Record<Tool['approval'], string>} */
const approvals = { never: '', always: 'needs approval', depends: 'may need approval' }

/**
 * The tools and skills of the agent, with what they take.
 * @param {{ live: import('../live.js').Live }} context
 */
export function toolsView({ live }) {
  const list = h('div', { className: 'tool-list' })
  const summary = h('p', { className: 'muted', role: 'status' })
  const filterId = newId()
  const filter = h('input', { id: filterId, type: 'search', placeholder: 'Name or description', autocomplete: 'off' })
  const element = h(
    'div',
    { className: 'column' },
    h('div', { className: 'view-head' }, h('h1', { tabindex: '-1' }, 'Tools and skills'), summary),
    h('div', { className: 'field' }, h('label', { for: filterId }, 'Filter'), filter),
    list,
  )
  const render = () => {
    const all = live.state?.tools ?? []
    const wanted = filter.value.trim().toLowerCase()
    const tools = all.filter(({ function: { name, description } }) => `${name} ${description}`.toLowerCase().includes(wanted))
    setText(summary, wanted === '' ? count(all.length, 'tool') : `${tools.length} of ${count(all.length, 'tool')}`)
    renderList(list, tools, { key: (tool) => JSON.stringify(tool), create: toolCard })
  }
  filter.addEventListener('input', render)
  const close = live.onChange(render)
  return { element, title: 'Tools and skills', close }
}

/** @param {Tool} tool */
function toolCard({ function: { name, description, parameters }, effect, approval }) {
  const properties = Object.entries(parameters?.properties ?? {})
  const required = new Set(parameters?.required)
  return h(
    'details',
    { className: 'tool' },
    h(
      'summary',
      { className: 'tool-summary' },
      h('code', { className: 'tool-name' }, name),
      h(
        'span',
        { className: 'tool-marks' },
        h('span', { className: `badge ${effect === 'unsafe' ? 'paused' : 'off'}` }, effects[effect] ?? effect),
        approvals[approval] !== '' && h('span', { className: 'badge running' }, approvals[approval]),
      ),
      h('span', { className: 'tool-about' }, description),
    ),
    h(
      'div',
      { className: 'tool-body' },
      properties.length === 0
        ? h('p', { className: 'muted' }, 'It takes no arguments.')
        : h('dl', { className: 'parameters' }, ...properties.flatMap(([key, schema]) => parameter(key, schema, required.has(key)))),
      h(
        'details',
        { className: 'raw' },
        h('summary', { className: 'raw-summary' }, 'JSON Schema'),
        h('pre', { className: 'code', tabindex: '0' }, JSON.stringify(parameters, null, 2)),
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
