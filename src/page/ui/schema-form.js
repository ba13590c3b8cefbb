import { h, newId, replace } from './dom.js'

/**
 * @typedef {object} Part A field of the form, or several of one value.
 * @property {HTMLElement} element
 * @property {() => unknown} read Undefined: nothing is given. Throws a `NotJson`.
 * @property {(path: string[], message: string) => boolean} fail Shows what is wrong at a place of the value; false: there is no such field.
 * @property {() => void} clear Takes away what was wrong.
 */
/**
 * @typedef {object} Place
 * @property {string} label
 * @property {boolean} required
 * @property {unknown} value What the field begins with.
 * @property {any} root The whole schema, for what is referred to.
 * @property {number} depth
 * @property {{ left: number }} room How many fields there may still be; the rest is said as JSON.
 */

const deepest = 4
/** Schemas that refer to themselves, or to each other, come to very many. */
const mostFields = 200
const mostChoices = 50

/** A text that is to be JSON and is not. */
class NotJson extends Error {}

/**
 * A form for a value of a JSON Schema: fields for texts, numbers, booleans, choices, lists and objects, JSON for the rest.
 * @param {any} schema
 * @param {unknown} [value]
 * @returns {Part}
 */
export function schemaForm(schema, value) {
  return part(schema, { label: '', required: true, value, root: schema, depth: 0, room: { left: mostFields } })
}

/**
 * What a form says. Undefined: it can't be read, which is shown at its field.
 * @param {Part} form
 */
export function readForm(form) {
  form.clear()
  try {
    return form.read()
  } catch (thrown) {
    if (thrown instanceof NotJson) return undefined
    throw thrown
  }
}

/**
 * @param {any} given
 * @param {Place} place
 * @returns {Part}
 */
function part(given, place) {
  const schema = resolved(given, place.root)
  const value = place.value ?? schema.default
  const here = { ...place, value }
  const choices = Array.isArray(schema.enum) ? schema.enum : schema.const !== undefined ? [schema.const] : undefined
  if (choices !== undefined && choices.length <= mostChoices) return choice(schema, here, choices)
  if (place.depth < deepest || place.depth === 0) {
    if (schema.type === 'object' && isPlainObject(schema) && takeRoom(schema, place.room)) return fields(schema, here)
    if (schema.type === 'array' && schema.items !== undefined && !Array.isArray(schema.items)) return list(schema, here)
  }
  if (schema.type === 'boolean') return choice(schema, here, [true, false])
  if (schema.type === 'string') return text(schema, here)
  if (schema.type === 'number' || schema.type === 'integer') return number(schema, here)
  return json(schema, here)
}

/** What a schema refers to within itself, and the one type beside null. @param {any} schema @param {any} root */
function resolved(schema, root) {
  let found = schema
  for (let step = 0; typeof found?.$ref === 'string' && found.$ref.startsWith('#/') && step < 10; step++) {
    const keys = found.$ref
      .slice(2)
      .split('/')
      .map((/** @type {string} */ key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    found = keys.reduce((/** @type {any} */ inner, /** @type {string} */ key) => inner?.[key], root)
  }
  if (typeof found !== 'object' || found === null) return {}
  const types = Array.isArray(found.type) ? found.type.filter((/** @type {string} */ type) => type !== 'null') : []
  return types.length === 1 ? { ...found, type: types[0] } : found
}

/** Whether fields can say everything of it. @param {any} schema */
function isPlainObject(schema) {
  const names = Object.keys(schema.properties ?? {})
  const isOpen = typeof schema.additionalProperties === 'object' || (names.length === 0 && schema.additionalProperties !== false)
  return !isOpen && ['anyOf', 'oneOf', 'allOf', 'if', 'patternProperties'].every((key) => schema[key] === undefined)
}

/** Whether there is room for a field for each property. @param {any} schema @param {Place['room']} room */
function takeRoom(schema, room) {
  const wanted = Object.keys(schema.properties ?? {}).length
  if (wanted > room.left) return false
  room.left -= wanted
  return true
}

/**
 * @param {any} schema
 * @param {Place} place
 * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} input
 * @param {() => unknown} read
 * @returns {Part}
 */
function single(schema, { label, required }, input, read) {
  const error = h('p', { className: 'error-text', role: 'alert', id: newId() })
  const hint = h('p', { className: 'hint', id: newId() }, schema.description)
  input.id = newId()
  input.setAttribute('aria-describedby', `${hint.id} ${error.id}`)
  if (required) input.setAttribute('aria-required', 'true')
  const fail = (/** @type {string[]} */ _path, /** @type {string} */ message) => {
    error.textContent = message
    input.setAttribute('aria-invalid', 'true')
    return true
  }
  return {
    element: h(
      'div',
      { className: 'field' },
      h('label', { for: input.id }, label, required && h('span', { className: 'required-mark' }, ' required')),
      input,
      hint,
      error,
    ),
    read: () => {
      try {
        return read()
      } catch (thrown) {
        fail([], thrown instanceof Error ? thrown.message : String(thrown))
        throw new NotJson()
      }
    },
    fail,
    clear() {
      error.textContent = ''
      input.removeAttribute('aria-invalid')
    },
  }
}

/** @param {any} schema @param {Place} place */
function text(schema, place) {
  const isLong = schema.maxLength === undefined ? false : schema.maxLength > 200
  const input = isLong ? h('textarea', { rows: 3 }) : h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' })
  input.value = typeof place.value === 'string' ? place.value : ''
  // An empty text is a value only where there has to be one.
  return single(schema, place, input, () => (input.value === '' && !place.required ? undefined : input.value))
}

/** @param {any} schema @param {Place} place */
function number(schema, place) {
  const input = h('input', { type: 'text', inputmode: 'decimal', autocomplete: 'off' })
  input.value = place.value === undefined ? '' : String(place.value)
  return single(schema, place, input, () => {
    const given = input.value.trim()
    // What is no number goes as it is: what is wrong with it is said by who knows the schema.
    return given === '' ? undefined : Number.isFinite(Number(given)) ? Number(given) : given
  })
}

/** @param {any} schema @param {Place} place @param {unknown[]} choices */
function choice(schema, place, choices) {
  const words = choices.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
  const input = h(
    'select',
    {},
    h('option', { value: '' }, '–'),
    ...words.map((word, at) => h('option', { value: String(at), selected: place.value === choices[at] }, word)),
  )
  return single(schema, place, input, () => (input.value === '' ? undefined : choices[Number(input.value)]))
}

/** @param {any} schema @param {Place} place */
function json(schema, place) {
  const input = h('textarea', { rows: 3, className: 'code', spellcheck: 'false' })
  input.value = place.value === undefined ? '' : JSON.stringify(place.value, null, 2)
  const described = { ...schema, description: [schema.description, 'As JSON.'].filter(Boolean).join(' ') }
  const whole = { ...place, label: place.label || 'Arguments' }
  return single(described, whole, input, () => (input.value.trim() === '' ? (place.depth === 0 ? {} : undefined) : JSON.parse(input.value)))
}

/** @param {any} schema @param {Place} place @returns {Part} */
function fields(schema, place) {
  const required = new Set(schema.required)
  /** @type {Map<string, Part>} */
  const parts = new Map()
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const value = /** @type {any} */ (place.value)?.[name]
    parts.set(name, part(inner, { ...place, label: name, required: required.has(name), value, depth: place.depth + 1 }))
  }
  const elements = [...parts.values()].map(({ element }) => element)
  return {
    element:
      place.depth === 0
        ? h('div', { className: 'form-fields' }, ...elements)
        : h('fieldset', { className: 'form-group' }, h('legend', {}, place.label), ...elements),
    read() {
      const given = [...parts].map(([name, one]) => [name, one.read()]).filter(([, value]) => value !== undefined)
      return given.length === 0 && !place.required ? undefined : Object.fromEntries(given)
    },
    fail: ([name = '', ...rest], message) => parts.get(name)?.fail(rest, message) ?? false,
    clear() {
      for (const one of parts.values()) one.clear()
    },
  }
}

/** @param {any} schema @param {Place} place @returns {Part} */
function list(schema, place) {
  /** @type {{ part: Part, row: HTMLElement }[]} */
  let items = []
  const rows = h('div', { className: 'form-rows' })
  const error = h('p', { className: 'error-text', role: 'alert' })
  const add = (/** @type {unknown} */ value, room = place.room) => {
    const label = `${place.label} ${items.length + 1}`
    const one = part(schema.items, { ...place, label, required: true, value, depth: place.depth + 1, room })
    const remove = h('button', { type: 'button', className: 'quiet icon-button', 'aria-label': `Remove from ${place.label}` }, '×')
    const row = h('div', { className: 'form-row' }, one.element, remove)
    const item = { part: one, row }
    remove.addEventListener('click', () => {
      items = items.filter((other) => other !== item)
      replace(rows, ...items.map((other) => other.row))
      more.focus()
    })
    items.push(item)
    rows.append(row)
    return one
  }
  const more = h('button', { type: 'button' }, `Add to ${place.label}`)
  more.addEventListener('click', () => {
    const field = add(undefined, { left: mostFields }).element.querySelector('input, select, textarea')
    if (field instanceof HTMLElement) field.focus()
  })
  for (const value of Array.isArray(place.value) ? place.value : []) add(value)
  return {
    element: h(
      'fieldset',
      { className: 'form-group' },
      h('legend', {}, place.label, place.required && h('span', { className: 'required-mark' }, ' required')),
      schema.description !== undefined && h('p', { className: 'hint' }, schema.description),
      rows,
      error,
      h('div', {}, more),
    ),
    read: () => (items.length === 0 && !place.required ? undefined : items.map((item) => item.part.read())),
    fail([at, ...rest], message) {
      if (at === undefined) {
        error.textContent = message
        return true
      }
      return items[Number(at)]?.part.fail(rest, message) ?? false
    },
    clear() {
      error.textContent = ''
      for (const item of items) item.part.clear()
    },
  }
}
