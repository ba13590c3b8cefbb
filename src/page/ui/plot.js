import { h } from './dom.js'

/**
 * @typedef {object} PlotOptions
 * @property {string} label What it shows, for who can't see it.
 * @property {(number | null)[][]} series Values by step, the earliest first; null: there is none. Two series are lines, one is bars.
 * @property {string[]} words What is said of each step, where it is pointed at.
 * @property {(value: number) => string} format
 * @property {string} [tone] Of the bars.
 */

const space = 'http://www.w3.org/2000/svg'
const [width, height, top] = [300, 72, 4]
/** Between two bars; of the room that one has. */
const gap = 0.22
/** Looks of lines, which differ also without colours. */
const looks = ['plot-line', 'plot-line dashed']

/**
 * A small plot over time. Its numbers have to stand in a table as well.
 * @param {PlotOptions} options
 */
export function plot({ label, series, words, format, tone = '' }) {
  const most = Math.max(0, ...series.flat().map((value) => value ?? 0))
  const steps = words.length
  const x = (/** @type {number} */ at) => (at / steps) * width
  const y = (/** @type {number} */ value) => (most === 0 ? height : height - (value / most) * (height - top))
  const picture = svg('svg', {
    class: 'plot',
    viewBox: `0 0 ${width} ${height + 1}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': label,
  })
  for (const share of [0, 0.5, 1]) {
    const at = height - share * (height - top)
    picture.append(svg('path', { class: 'plot-grid', d: `M0 ${at}H${width}` }))
  }
  const [first = []] = series
  if (series.length === 1) {
    for (const [at, value] of first.entries()) {
      if (!value) continue
      const bar = { x: x(at + gap / 2), y: y(value), width: (width / steps) * (1 - gap), height: height - y(value) }
      picture.append(svg('rect', { class: `plot-bar ${tone}`, ...bar }))
    }
  } else for (const [at, values] of series.entries()) picture.append(line(values, looks[at] ?? '', (step) => x(step + 0.5), y))
  // What is pointed at is the whole step, however little stands there.
  for (const [at, word] of words.entries()) {
    const step = svg('rect', { class: 'plot-step', x: x(at), y: 0, width: width / steps, height })
    step.append(svg('title', {}, word))
    picture.append(step)
  }
  return h(
    'div',
    { className: 'plot-box' },
    h('span', { className: 'plot-most', 'aria-hidden': 'true' }, most === 0 ? '' : format(most)),
    picture,
  )
}

/**
 * A line through what there is; what stands alone is a dot.
 * @param {(number | null)[]} values
 * @param {string} look
 * @param {(step: number) => number} x
 * @param {(value: number) => number} y
 */
function line(values, look, x, y) {
  let path = ''
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    const before = values[at - 1]
    path += before === null || before === undefined ? `M${x(at)} ${y(value)}h0` : `L${x(at)} ${y(value)}`
  }
  return svg('path', { class: look, d: path })
}

/**
 * How often each of some things was there, the most frequent first.
 * @param {{ name: string, value: number }[]} bars
 * @param {string} [tone]
 */
export function barList(bars, tone = '') {
  const most = Math.max(1, ...bars.map(({ value }) => value))
  return h(
    'ul',
    { className: 'bar-list' },
    ...bars.map(({ name, value }) => {
      const bar = h('span', { className: `bar-share ${tone}`, 'aria-hidden': 'true' })
      bar.style.setProperty('--share', String(value / most))
      return h('li', {}, h('span', { className: 'bar-name' }, name), h('span', { className: 'bar-value' }, value.toLocaleString()), bar)
    }),
  )
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
function svg(name, attributes, text = '') {
  const element = document.createElementNS(space, name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value))
  element.textContent = text
  return element
}
