import { count, json } from '../data/format.js'
import { finderOf, valueView } from '../reading/by-hand.tsx'
import { isWithin, walk } from '../reading/json-nodes.js'
import { TextBlocks } from '../reading/text-blocks.js'
import { copyButton } from '../ui/copy.js'
import { h } from '../ui/dom.js'
import { inSlices } from '../ui/slices.js'
import { hiddenPart, visible } from '../ui/visible.js'

/** What is laid out, or edited, at once. */
const mostAtOnce = { values: 1_500, characters: 60_000 }
/** What is written as JSON in one step. */
const mostInStep = { values: 100, characters: 4_000 }
/** Of more arguments none is looked at by itself. */
const mostFields = 50

/** Whether it is too large to be seen, or edited, at once. @param {unknown} value */
export function isLarge(value) {
  return !isWithin(value, mostAtOnce)
}

/**
 * The fields of an object that are shown and edited together, and those that are too large for it.
 * @param {Record<string, unknown>} value
 */
export function splitLarge(value) {
  if (!isLarge(value)) return { small: value, large: {} }
  if (Object.keys(value).length > mostFields) return { small: {}, large: value }
  /** @type {[string, unknown][]} */
  const small = []
  /** @type {[string, unknown][]} */
  const large = []
  for (const field of Object.entries(value)) (isLarge([...small, field]) ? large : small).push(field)
  return { small: Object.fromEntries(small), large: Object.fromEntries(large) }
}

/**
 * What stands in for a part of a value that the service hides; undefined: nothing is hidden.
 * @param {unknown} value Of any size.
 */
export async function hiddenIn(value) {
  /** @type {string | undefined} */
  let hidden
  const look = function* () {
    for (const { path, value: part } of walk(value)) {
      hidden ??= hiddenPart(String(path.at(-1) ?? '')) ?? (typeof part === 'string' ? hiddenPart(part) : undefined)
      yield
    }
  }
  await inSlices(look(), () => hidden !== undefined)
  return hidden
}

/**
 * What is decided on: all of it, nothing folded and nothing left out. What is large scrolls, and comes on the page a part at a time.
 * @param {import('../data/pending-items.js').Item} item
 */
export function subjectOf({ kind, args, about }) {
  /** @type {Promise<unknown>[]} */
  const loads = []
  const argsLabel = kind === 'question' ? 'Arguments of the call' : 'Arguments'
  const elements = [
    ...(about === undefined || about === null ? [] : aboutOf(about, loads)),
    ...(kind === 'question' && Object.keys(args).length === 0 ? [] : fieldsOf(args, argsLabel, loads)),
  ]
  return {
    elements,
    /** Tells, once all of it is on the page, what in it the service hides: at once unless it is large. @param {(hidden: string | undefined) => void} tell */
    async whenShown(tell) {
      if (loads.length === 0) return tell(hiddenPart(JSON.stringify([args, about])))
      await Promise.all(loads)
      tell(await hiddenIn([args, about]))
    },
  }
}

/**
 * What a tool says of the matter: words, or data it has put together.
 * @param {unknown} about
 * @param {Promise<unknown>[]} loads
 */
function aboutOf(about, loads) {
  if (isLarge(about)) return [largeValue(about, 'Details', loads)]
  return [typeof about === 'string' ? h('p', { className: 'decision-about' }, visible(about)) : block('Details', json(about))]
}

/**
 * @param {Record<string, unknown>} args
 * @param {string} label
 * @param {Promise<unknown>[]} loads
 */
function fieldsOf(args, label, loads) {
  const { small, large } = splitLarge(args)
  if (large === args) return [largeValue(args, label, loads)]
  const isText = (/** @type {unknown} */ value) => typeof value === 'string' && value.includes('\n')
  const [texts, others] = [true, false].map((wanted) => Object.entries(small).filter(([, value]) => isText(value) === wanted))
  const rest = others?.length || Object.keys(args).length === 0 ? [block(label, json(Object.fromEntries(others ?? [])))] : []
  return [
    ...rest,
    // A text of several lines, such as code, is read as such.
    ...(texts ?? []).flatMap(([name, text]) => [
      nameOf(name, text),
      h('pre', { className: 'code', tabindex: '0', role: 'group', 'aria-label': visible(name) }, visible(String(text))),
    ]),
    ...Object.entries(large).flatMap(([name, value]) => [nameOf(name, value), largeValue(value, visible(name), loads)]),
  ]
}

/** @param {string} name @param {unknown} value */
function nameOf(name, value) {
  const size = typeof value === 'string' ? `, text of ${count(value.length, 'character')}` : ''
  return h('p', { className: 'muted' }, h('code', {}, h('bdi', {}, visible(name))), size)
}

/**
 * @param {unknown} value
 * @param {string} label
 * @param {Promise<unknown>[]} loads
 */
function largeValue(value, label, loads) {
  const place = h('pre', { className: 'code', tabindex: '0', role: 'group', 'aria-label': label })
  const said = h('span', { className: 'muted', role: 'status' }, 'Loading…')
  const tools = h('div', { className: 'value-tools' }, said)
  const element = h('div', { className: 'value long-text' }, place, tools)
  const load = async () => {
    /** @type {string[]} */
    const pieces = []
    if (typeof value === 'string') pieces.push(value)
    else await inSlices(writing(value, '', pieces))
    const text = pieces.join('')
    const blocks = new TextBlocks(text, place)
    await inSlices(blocks.all())
    said.remove()
    tools.append(
      finderOf(text, label, blocks),
      h('span', { className: 'muted' }, count(text.length, 'character')),
      copyButton(`Copy ${label.toLowerCase()}`, () => text),
    )
    if (typeof value !== 'string') element.append(treeOf(value, label))
  }
  loads.push(load())
  return element
}

/** The same to be folded, for those who want that. @param {unknown} value @param {string} label */
function treeOf(value, label) {
  const tree = h('details', {}, h('summary', {}, 'As a tree'))
  tree.addEventListener('toggle', () => tree.append(valueView(value, label)), { once: true })
  return tree
}

/**
 * Writes JSON a step at a time.
 * @param {any} value
 * @param {string} indent
 * @param {string[]} pieces
 * @returns {Generator<void>}
 */
function* writing(value, indent, pieces) {
  if (typeof value !== 'object' || value === null || isWithin(value, mostInStep)) {
    pieces.push(json(value).replaceAll('\n', `\n${indent}`))
    return yield
  }
  const isList = Array.isArray(value)
  const inner = `${indent}  `
  let before = isList ? '[' : '{'
  for (const key of isList ? value.keys() : Object.keys(value)) {
    pieces.push(`${before}\n${inner}${isList ? '' : `${JSON.stringify(key)}: `}`)
    yield* writing(value[key], inner, pieces)
    before = ','
  }
  pieces.push(`\n${indent}${isList ? ']' : '}'}`)
}

/**
 * @param {string} label
 * @param {string} text
 */
function block(label, text) {
  // Each text on its own: letters written from right to left would change the order of what is beside them.
  const parts = visible(text)
    .split(/("[^"\\]*(?:\\.[^"\\]*)*")/)
    .map((part, at) => (at % 2 === 1 ? h('bdi', {}, part) : part))
  return h('pre', { className: 'code', tabindex: '0', role: 'group', 'aria-label': label }, parts)
}
