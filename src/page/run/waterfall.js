import { count, duration } from '../data/format.js'
import { h, newId, renderList, replace, setText } from '../ui/dom.js'
import { grouped, insideOf, isProblem, nameOf, numbersOf, setAll, stateOf, textOf } from './bar-rows.js'
import { drawBars, latest } from './draw-bars.js'
import { spanDetails } from './span-details.js'
import { Spans, timeScale } from './spans.js'

/** @typedef {import('./spans.js').Span} Span */
/** @typedef {import('./bar-rows.js').Row} Row */

/** With more rows than these, what is inside of others is folded at first. */
const mostUnfolded = 60
/** Rows that are drawn at first, and each time the last of them comes into view. */
const rowsAtOnce = 80
const drawMs = 60
const liveMs = 500

/** The time line of a run: a bar for each model turn and each call, those of agents inside calls below them. */
export class Waterfall {
  element
  #spans = new Spans()
  #rows = h('ol', { className: 'bars' })
  #axis = h('div', { className: 'bars-axis', 'aria-hidden': 'true' })
  #about = h('p', { className: 'muted' })
  #filter = h('input', { id: newId(), type: 'search', placeholder: 'Filter by tool, text or error', autocomplete: 'off' })
  #problems = h('input', { id: newId(), type: 'checkbox' })
  #tools
  #fold = h('button', { type: 'button', className: 'quiet' }, 'Fold all')
  /** What somebody has folded or unfolded. @type {Map<string, boolean>} */
  #folded = new Map()
  /** @type {Set<string>} */
  #open = new Set()
  /** @type {WeakMap<HTMLElement, { update(row: Row, scale: ReturnType<typeof timeScale>, now: number): void }>} */
  #drawn = new WeakMap()
  /** @type {number | undefined} */
  #drawing
  /** @type {number | undefined} */
  #ticking
  /** The run with its result, once it is there. @type {any} */
  #run
  #isLive = false
  #most = rowsAtOnce
  #end = h('p', { className: 'list-end muted' })
  #nearEnd = new IntersectionObserver(
    (seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return
      this.#most += rowsAtOnce
      this.#soon()
    },
    { rootMargin: '300px' },
  )

  #status

  /** @param {() => string | undefined} status Of the run: the events of one that is over tell of another time than now. */
  constructor(status) {
    this.#status = status
    this.#tools = h(
      'div',
      { className: 'bars-tools', hidden: true },
      h('label', { className: 'visually-hidden', for: this.#filter.id }, 'Filter steps'),
      this.#filter,
      h('span', { className: 'check-row' }, this.#problems, h('label', { for: this.#problems.id }, 'Problems only')),
      this.#fold,
    )
    this.element = h(
      'section',
      { className: 'waterfall', 'aria-label': 'Time line', hidden: true },
      h('div', { className: 'panel-head' }, h('h3', {}, 'Time line'), this.#about),
      this.#tools,
      this.#axis,
      this.#rows,
      this.#end,
    )
    this.#filter.addEventListener('input', () => this.#soon())
    this.#problems.addEventListener('change', () => this.#soon())
    this.#fold.addEventListener('click', () => {
      const fold = this.#fold.textContent === 'Fold all'
      for (const row of this.#tree()) setAll(row, (one) => one.parts.length > 0 && this.#folded.set(one.key, fold))
      this.#draw()
    })
  }

  /** @param {any} event */
  take(event) {
    this.#spans.take(event)
    this.#isLive = event.type !== 'RUN_END' || event.meta.parentRunId !== undefined
    this.#soon()
  }

  /** The run may stand otherwise than it did. */
  look() {
    if (this.#isLive) this.#soon()
  }

  /** The run waits, or is over. @param {any} run */
  end(run) {
    this.#run = run
    this.#isLive = false
    this.#spans.fill(run)
    this.#draw()
  }

  close() {
    this.#nearEnd.disconnect()
    clearTimeout(this.#drawing)
    clearInterval(this.#ticking)
  }

  #soon() {
    this.#drawing ??= setTimeout(() => this.#draw(), drawMs)
  }

  #draw() {
    clearTimeout(this.#drawing)
    this.#drawing = undefined
    const { all, start, pauses } = this.#spans
    this.element.hidden = all.length === 0
    if (start === undefined) return
    const isLive = this.#isLive && this.#status() === 'running'
    const isWaiting = this.#status() === 'paused'
    const now = isLive || isWaiting ? Date.now() : (this.#spans.end ?? latest(all, pauses))
    const end = Math.max(now, latest(all, []))
    const scale = timeScale({ start, end, pauses })
    const tree = this.#tree()
    const rows = this.#shown(tree)
    renderList(this.#rows, rows.slice(0, this.#most), {
      key: ({ key }) => key,
      create: (row) => this.#row(row),
      update: (item, row) => this.#drawn.get(item)?.update(row, scale, now),
    })
    this.#showHead(all, rows, scale, { start, now, isLive, isWaiting })
    const left = rows.length - this.#most
    setText(this.#end, left > 0 ? `${left.toLocaleString()} more below` : '')
    this.#nearEnd.unobserve(this.#end)
    if (left > 0) this.#nearEnd.observe(this.#end)
    if (isLive || isWaiting) this.#ticking ??= setInterval(() => this.#draw(), liveMs)
    else {
      clearInterval(this.#ticking)
      this.#ticking = undefined
    }
  }

  /**
   * @param {Span[]} all
   * @param {Row[]} rows
   * @param {ReturnType<typeof timeScale>} scale
   * @param {{ start: number, now: number, isLive: boolean, isWaiting: boolean }} times
   */
  #showHead(all, rows, { workMs, gaps }, { start, now, isLive, isWaiting }) {
    const calls = all.filter(({ kind }) => kind === 'call').length
    const waited = gaps.reduce((sum, { ms }) => sum + ms, 0)
    const words = [
      isLive ? `running for ${duration(now - start)}` : `worked for ${duration(workMs)}`,
      waited > 0 && `${isWaiting ? 'waiting' : 'waited'} for ${duration(waited)}`,
      count(all.length - calls, 'turn'),
      count(calls, 'call'),
      this.#spans.left > 0 && `${this.#spans.left.toLocaleString()} more are not shown`,
    ]
    setText(this.#about, words.filter(Boolean).join(' · '))
    this.#tools.hidden = all.length < 12
    const isAnyOpen = rows.some(({ parts, isFolded }) => parts.length > 0 && !isFolded)
    setText(this.#fold, isAnyOpen ? 'Fold all' : 'Unfold all')
    const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
      const mark = h('span', {}, share === 0 ? '0' : duration(workMs * share))
      mark.style.left = `${share * 100}%`
      return mark
    })
    // Of a line with pauses in it, only the ends are what they seem.
    replace(this.#axis, ...(gaps.length > 0 ? [] : [h('span', {}), h('div', { className: 'axis-line' }, ...marks)]))
  }

  /** @returns {Row[]} */
  #tree() {
    const { all } = this.#spans
    /** @type {Map<string, Span[]>} */
    const inside = new Map()
    const keys = new Set(all.map(({ key }) => key))
    for (const span of all) {
      const parent = keys.has(span.parent) ? span.parent : ''
      const others = inside.get(parent)
      if (others === undefined) inside.set(parent, [span])
      else others.push(span)
    }
    const isLong = all.length > mostUnfolded
    /** @type {(span: Span, depth: number) => Row} */
    const rowOf = (span, depth) => {
      const parts = grouped(
        (inside.get(span.key) ?? []).map((part) => rowOf(part, depth + 1)),
        depth + 1,
      )
      for (const part of parts) if (part.span === undefined) part.isFolded = this.#folded.get(part.key) ?? true
      const total = parts.reduce((sum, part) => sum + part.total, 1)
      return { key: span.key, span, parts, depth, total, isFolded: this.#folded.get(span.key) ?? (isLong && parts.length > 0) }
    }
    // Of what is known from the result alone, the first turns may have been added last.
    const top = (inside.get('') ?? []).sort((a, b) => (a.start ?? Infinity) - (b.start ?? Infinity))
    return top.map((span) => rowOf(span, 0))
  }

  /** Rows in their order, without what is folded or filtered away. @param {Row[]} tree @returns {Row[]} */
  #shown(tree) {
    const wanted = this.#filter.value.trim().toLowerCase()
    const isFiltered = wanted !== '' || this.#problems.checked
    /** @type {(row: Row) => boolean} */
    const fits = ({ span }) =>
      span !== undefined && (!this.#problems.checked || isProblem(span)) && (wanted === '' || textOf(span).includes(wanted))
    /** @type {(rows: Row[]) => Row[]} */
    const visit = (rows) =>
      rows.flatMap((row) => {
        if (!isFiltered) return row.isFolded ? [row] : [row, ...visit(row.parts)]
        const parts = visit(row.parts)
        return parts.length > 0 ? [{ ...row, isFolded: false }, ...parts] : fits(row) ? [{ ...row, isFolded: row.parts.length > 0 }] : []
      })
    return visit(tree)
  }

  /** @param {Row} first */
  #row({ key, span, tool, depth }) {
    const name = h('span', { className: 'bar-name' })
    const toggle = h('button', { type: 'button', className: 'bar-toggle quiet' })
    const numbers = h('span', { className: 'bar-numbers' })
    const lane = h('span', { className: 'bar-lane', 'aria-hidden': 'true' })
    const details = h('div', { className: 'bar-details', hidden: true, id: newId() })
    const button = h(
      'button',
      { type: 'button', className: 'bar-button quiet', 'aria-expanded': 'false', 'aria-controls': details.id },
      name,
      lane,
      numbers,
    )
    const item = h('li', { className: 'bar-row', 'data-depth': Math.min(depth, 6) }, toggle, button, details)
    let isFolded = false
    const fold = () => {
      this.#folded.set(key, !isFolded)
      this.#draw()
    }
    toggle.addEventListener('click', fold)
    button.addEventListener('click', () => {
      if (span === undefined) return fold()
      const isOpen = !this.#open.has(key)
      if (isOpen) this.#open.add(key)
      else this.#open.delete(key)
      details.hidden = !isOpen
      button.setAttribute('aria-expanded', String(isOpen))
      shown = ''
      this.#draw()
    })
    let shown = ''
    this.#drawn.set(item, {
      update: (row, scale, now) => {
        isFolded = row.isFolded
        toggle.hidden = row.parts.length === 0
        toggle.setAttribute('aria-expanded', String(!isFolded))
        toggle.setAttribute('aria-label', `${isFolded ? 'Unfold' : 'Fold'} ${nameOf(row)}`)
        item.dataset.state = stateOf(row)
        setText(name, nameOf(row) + insideOf(row))
        setText(numbers, numbersOf(row, now).join(' · '))
        if (span === undefined) button.removeAttribute('aria-expanded')
        drawBars(lane, row, scale, now)
        const version = span === undefined ? '' : `${span.state} ${span.end} ${span.text.length} ${this.#run?.status}`
        if (span === undefined || details.hidden || version === shown) return
        shown = version
        replace(details, spanDetails(span, this.#run, this.#spans.start ?? 0))
      },
    })
    if (tool !== undefined) button.removeAttribute('aria-controls')
    return item
  }
}
