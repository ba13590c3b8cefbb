import { h } from '../ui/dom.js'

/** @typedef {import('./spans.js').Span} Span */
/** @typedef {import('./bar-rows.js').Row} Row */
/** @typedef {typeof import('./spans.js').timeScale} TimeScale */

/**
 * @param {HTMLElement} lane
 * @param {Row} row
 * @param {ReturnType<TimeScale>} scale
 * @param {number} now
 */
export function drawBars(lane, row, { at, gaps }, now) {
  /** @type {[kind: string, from: number, to: number][]} */
  const bars = gaps.map(({ at: from, width }) => ['gap', from, from + width])
  if (row.isFolded) {
    const within = extentOf(row.parts, now)
    if (within !== undefined) bars.push(['inside', at(within[0]), at(within[1])])
  }
  const { span } = row
  if (span?.start !== undefined) {
    const end = span.end ?? now
    bars.push(['bar', at(span.start), at(end)])
    if (span.firstToken !== undefined) bars.push(['first', at(span.start), at(Math.min(span.firstToken, end))])
    for (const { from, to = now } of span.waits) bars.push(['wait', at(from), at(to)])
    for (const { at: when } of span.retries) bars.push(['retry', at(when), at(when)])
  }
  while (lane.childElementCount > bars.length) lane.lastElementChild?.remove()
  while (lane.childElementCount < bars.length) lane.append(h('i', {}))
  for (const [index, [kind, from, to]] of bars.entries()) {
    const bar = lane.children[index]
    if (!(bar instanceof HTMLElement)) continue
    bar.className = kind
    // Not as attributes, which the policy of the page forbids.
    bar.style.left = `${(from * 100).toFixed(2)}%`
    bar.style.width = `${((to - from) * 100).toFixed(2)}%`
  }
}

/** @param {Row[]} rows @param {number} now @returns {[number, number] | undefined} */
function extentOf(rows, now) {
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const row of rows) {
    const inner = extentOf(row.parts, now)
    const start = row.span?.start
    if (start !== undefined) [from, to] = [Math.min(from, start), Math.max(to, row.span?.end ?? now)]
    if (inner !== undefined) [from, to] = [Math.min(from, inner[0]), Math.max(to, inner[1])]
  }
  return to === 0 ? undefined : [from, to]
}

/** @param {Span[]} spans @param {readonly { from: number, to: number | undefined }[]} pauses */
export function latest(spans, pauses) {
  const times = [...spans.flatMap(({ start = 0, end = 0 }) => [start, end]), ...pauses.map(({ from, to = 0 }) => Math.max(from, to))]
  return times.reduce((a, b) => Math.max(a, b), 0)
}
