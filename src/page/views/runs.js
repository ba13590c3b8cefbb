import { clock, count, duration, moment, money, short } from '../data/format.js'
import { RunList } from '../data/run-list.js'
import { callCard, runDetail, showBadge } from '../run/by-hand.tsx'
import { h, newId, renderList, replace, setText } from '../ui/dom.js'
import { since } from '../ui/since.js'
import { comparedIn, compareHref, compareView } from './compare.js'
import { firstRun } from './overview.js'

/** @typedef {import('../data/live.js').Live} Live */
/** @typedef {import('../types.js').Run} Run */

/** How long nothing has to be typed before it is searched, in milliseconds. */
const typingMs = 200
const hourMs = 3_600_000

/** By what is asked of the service: `status=…` or `stopReason=…`. */
const states = {
  '': 'Any state',
  'status=running': 'Running',
  'status=paused': 'Waiting',
  'stopReason=answered': 'Answered',
  'stopReason=model_error': 'Model error',
  'stopReason=max_iterations': 'Iteration limit',
  'stopReason=budget': 'Budget used up',
  'stopReason=deadline': 'Out of time',
  'stopReason=repeated_calls': 'Repeated itself',
  'stopReason=refused': 'Refused',
  'stopReason=aborted': 'Cancelled',
}
/** Hours. */
const times = { '': 'Any time', 1: 'Last hour', 24: 'Last day', 168: 'Last week' }
/** US dollars. */
const costs = { '': 'Any cost', 0.01: '$0.01 or more', 0.1: '$0.10 or more', 1: '$1 or more' }

/** What is filtered by stays while other views are looked at. */
const chosen = { q: '', state: '', model: '', hours: '', cost: '' }

/**
 * All runs beside what they do now, or beside one of them.
 * @param {{ live: Live }} context
 * @param {string | undefined} selected
 */
export function runsView({ live }, selected) {
  const list = h('ul', { className: 'run-list' })
  const empty = h('div', { hidden: true })
  const end = h('p', { className: 'list-end muted', role: 'status' })
  const summary = h('p', { className: 'muted' })
  const side = h('div', { className: 'split-side' })
  const runs = new RunList(live, () => render())
  const filters = filterForm(live, (query) => void runs.show(query))
  const listBox = h(
    'section',
    { className: 'split-list' },
    h(
      'div',
      { className: 'view-head' },
      h('h1', { tabindex: '-1' }, 'Runs'),
      summary,
      h('a', { className: 'button', href: compareHref('') }, 'Compare'),
    ),
    filters.element,
    empty,
    list,
    end,
  )
  const element = h('div', { className: 'split' }, listBox, side)
  /** @type {{ element: HTMLElement, close(): void } | undefined} */
  let shown
  /** @param {string | undefined} id */
  const show = (id) => {
    shown?.close()
    const compared = comparedIn(id)
    shown = id === undefined ? activity(live) : compared === undefined ? runDetail(live, id) : compareView(...compared)
    side.replaceChildren(shown.element)
    // While a run is to be chosen, the list leads there.
    const isChoosing = compared?.[1] === ''
    element.classList.toggle('has-selection', id !== undefined && !isChoosing)
    element.classList.toggle('is-choosing', isChoosing)
    selected = compared === undefined ? id : compared[0]
    hrefOf = !isChoosing ? runHref : (other) => (compared[0] === '' ? compareHref(other) : compareHref(compared[0], other))
    side.scrollTop = 0
    render()
  }
  /** Where a run of the list leads. */
  let hrefOf = runHref
  /** @type {WeakMap<HTMLElement, { run: Run, isSelected: boolean }>} */
  const drawn = new WeakMap()
  let isBegun = false
  const render = () => {
    const found = runs.runs
    renderList(list, found, {
      key: (run) => run.id,
      create: runItem,
      update: (item, run) => {
        const [before, isSelected] = [drawn.get(item), run.id === selected]
        item.firstElementChild?.setAttribute('href', hrefOf(run.id))
        if (before?.run === run && before.isSelected === isSelected) return
        drawn.set(item, { run, isSelected })
        updateItem(item, run, isSelected)
      },
    })
    isBegun ||= !runs.isLoading
    if (found.length > 0 && performance.getEntriesByName('first-list').length === 0) performance.mark('first-list')
    const isEmpty = isBegun && found.length === 0 && runs.error === ''
    if (isEmpty && empty.hidden) replace(empty, runs.isFiltered ? noneFits(filters.clear) : firstRun(live, 'No runs yet.'))
    empty.hidden = !isEmpty
    const counted = (/** @type {string} */ status) => found.filter((run) => run.status === status).length
    const [running, paused] = [counted('running'), counted('paused')]
    const total = `${found.length.toLocaleString()}${runs.hasMore ? '+' : ''} run${found.length === 1 && !runs.hasMore ? '' : 's'}`
    setText(summary, [total, running > 0 && `${running} running`, paused > 0 && `${paused} waiting`].filter(Boolean).join(' · '))
    setText(end, runs.error !== '' ? runs.error : runs.hasMore ? 'Loading more…' : '')
    end.classList.toggle('error-text', runs.error !== '')
    // What is in view already is not told of again.
    if (runs.hasMore && !runs.isLoading) {
      nearEnd.unobserve(end)
      nearEnd.observe(end)
    }
  }
  const nearEnd = new IntersectionObserver(
    (seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) void runs.more()
    },
    { rootMargin: '600px' },
  )
  show(selected)
  void runs.show(filters.query())
  return {
    element,
    title: 'Runs',
    /** @param {string | undefined} id */
    navigate(id) {
      show(id)
      const target = id === undefined ? element : side
      target.querySelector('h1, h2')?.scrollIntoView({ block: 'nearest' })
    },
    close() {
      nearEnd.disconnect()
      filters.close()
      runs.close()
      shown?.close()
    },
  }
}

/**
 * @param {Live} live
 * @param {(query: Record<string, string>) => void} onChange
 */
function filterForm(live, onChange) {
  const search = h('input', {
    id: newId(),
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'Text, id, tool:name, user:name',
  })
  const state = select('State', Object.entries(states))
  const model = select('Model', [['', 'Any model']])
  const hours = select('Started', Object.entries(times))
  const cost = select('Cost', Object.entries(costs))
  const fields = { q: search, state, model, hours, cost }
  const names = /** @type {(keyof typeof fields)[]} */ (Object.keys(fields))
  for (const name of names) fields[name].value = chosen[name]
  const more = h('details', { className: 'filters', open: names.some((name) => name !== 'q' && chosen[name] !== '') })
  const active = h('span', { className: 'badge accent', hidden: true })
  const query = () => {
    const [kind = '', value = ''] = state.value.split('=')
    const after = hours.value === '' ? '' : new Date(Date.now() - Number(hours.value) * hourMs).toISOString()
    const given = { q: search.value.trim(), [kind]: value, model: model.value, after, minCostUsd: cost.value }
    return Object.fromEntries(Object.entries(given).filter(([name, text]) => name !== '' && text !== ''))
  }
  const changed = () => {
    clearTimeout(typing)
    for (const name of names) chosen[name] = fields[name].value
    const set = names.filter((name) => name !== 'q' && chosen[name] !== '').length
    active.hidden = set === 0
    setText(active, String(set))
    onChange(query())
  }
  /** @type {number | undefined} */
  let typing
  search.addEventListener('input', () => {
    clearTimeout(typing)
    typing = setTimeout(changed, typingMs)
  })
  for (const name of names) if (name !== 'q') fields[name].addEventListener('change', changed)
  const unsubscribe = live.onChange(() => {
    const models = (live.state?.models ?? []).map(({ name }) => name)
    if (model.options.length === models.length + 1) return
    const before = chosen.model
    replace(model, h('option', { value: '' }, 'Any model'), ...models.map((name) => h('option', { value: name }, modelWords(name))))
    model.value = models.includes(before) ? before : ''
  })
  more.append(
    h('summary', { className: 'raw-summary' }, 'Filters ', active),
    h('div', { className: 'filter-fields' }, ...[state, model, hours, cost]),
  )
  const set = names.filter((name) => name !== 'q' && chosen[name] !== '').length
  active.hidden = set === 0
  setText(active, String(set))
  return {
    element: h(
      'search',
      { className: 'run-filters' },
      h('label', { className: 'visually-hidden', for: search.id }, 'Search runs'),
      search,
      more,
    ),
    query,
    clear() {
      for (const name of names) fields[name].value = ''
      changed()
      search.focus()
    },
    close() {
      clearTimeout(typing)
      unsubscribe()
    },
  }
}

/**
 * @param {string} label
 * @param {[string, string][]} options
 */
function select(label, options) {
  // Numbers come first among an object's keys.
  const inOrder = options.sort(([a], [b]) => Number(a !== '') - Number(b !== ''))
  return h('select', { 'aria-label': label }, ...inOrder.map(([value, words]) => h('option', { value }, words)))
}

/** @param {() => void} clear */
function noneFits(clear) {
  return h(
    'div',
    { className: 'empty' },
    h('p', {}, 'No stored run fits.'),
    h('p', {}, h('button', { type: 'button', onclick: clear }, 'Clear search and filters')),
  )
}

/** @param {string} name */
function modelWords(name) {
  return name === 'toolloop' ? 'current model' : name
}

/** @param {string} id */
function runHref(id) {
  return `#/runs/${encodeURIComponent(id)}`
}

/** @param {Run} run */
function runItem({ input, createdAt }) {
  return h(
    'li',
    {},
    h(
      'a',
      { className: 'run-item' },
      h('span', { className: 'run-input' }, input === '' ? 'No text' : input),
      h(
        'span',
        { className: 'run-line' },
        h('span', { className: 'badge' }),
        h('span', { className: 'run-model' }),
        h('time', { datetime: createdAt, title: moment(createdAt) }, clock(createdAt)),
      ),
      h('span', { className: 'run-line run-numbers' }),
    ),
  )
}

/**
 * @param {HTMLElement} item
 * @param {Run} run
 * @param {boolean} isSelected
 */
function updateItem(item, run, isSelected) {
  const link = item.firstElementChild
  if (isSelected) link?.setAttribute('aria-current', 'true')
  else link?.removeAttribute('aria-current')
  const badge = item.querySelector('.badge')
  if (badge !== null) showBadge(badge, run)
  const model = item.querySelector('.run-model')
  if (model !== null) setText(model, [modelWords(run.model), run.owner, run.kind === 'chat' && 'chat API'].filter(Boolean).join(' · '))
  const numbers = item.querySelector('.run-numbers')
  const parts = numbersOf(run).flatMap((part, at) => (at > 0 ? [' · ', part].flat() : part))
  if (numbers !== null) replace(numbers, parts.length > 0 && h('span', {}, ...parts))
}

/** @param {Run} run */
function numbersOf({ createdAt, finishedAt, status, toolCalls = 0, usage }) {
  const took = finishedAt === undefined ? undefined : duration(Date.parse(finishedAt) - Date.parse(createdAt))
  return [
    status === 'paused' && finishedAt !== undefined ? ['waiting for ', since(finishedAt)] : took,
    toolCalls > 0 && count(toolCalls, 'call'),
    usage !== undefined && usage.totalTokens > 0 && `${short(usage.totalTokens)} tokens`,
    usage?.costUsd !== undefined && money(usage.costUsd),
  ].filter((part) => part !== false && part !== undefined)
}

/**
 * The latest calls of all runs, as they happen.
 * @param {Live} live
 */
function activity(live) {
  const list = h('div', { className: 'feed', role: 'feed', 'aria-label': 'Tool calls' })
  const empty = h('p', { className: 'empty' }, 'No tool calls yet. Calls appear here live, with their arguments, result and duration.')
  const element = h(
    'section',
    { className: 'panel' },
    h('div', { className: 'panel-head' }, h('h2', {}, 'Tool calls'), h('p', { className: 'muted' }, 'of all runs, latest first')),
    empty,
    list,
  )
  /** @type {WeakMap<HTMLElement, (call: import('../data/calls.js').Call) => void>} */
  const updates = new WeakMap()
  /** @param {import('../data/calls.js').Call} call */
  const linkTo = ({ topRunId }) => ({ href: runHref(topRunId), words: live.run(topRunId)?.input || 'Run' })
  const unsubscribe = live.onChange(() => {
    const calls = live.calls.latest
    empty.hidden = calls.length > 0
    renderList(list, calls, {
      key: (call) => call.key,
      create: (call) => {
        const card = callCard(call, { linkTo })
        updates.set(card.element, card.update)
        return card.element
      },
      update: (card, call) => updates.get(card)?.(call),
    })
  })
  return { element, close: unsubscribe }
}
