import { count, duration, money, short } from '../data/format.js'

/** @typedef {import('./spans.js').Span} Span */
/** @typedef {{ key: string, span?: Span, tool?: string, parts: Row[], depth: number, isFolded: boolean, total: number }} Row */

/** So many calls of the same tool, one after the other, are one row. */
const fewestInGroup = 8

/**
 * Calls of the same tool one after the other, where they are many, as one row.
 * @param {Row[]} rows
 * @param {number} depth
 * @returns {Row[]}
 */
export function grouped(rows, depth) {
  /** @type {Row[]} */
  const found = []
  for (let at = 0; at < rows.length; ) {
    const tool = rows[at]?.span?.kind === 'call' ? rows[at]?.span?.name : undefined
    let end = at + 1
    while (tool !== undefined && end < rows.length && rows[end]?.span?.name === tool) end++
    const parts = rows.slice(at, end)
    if (tool === undefined || parts.length < fewestInGroup) found.push(...parts)
    else {
      const deeper = parts.map((part) => ({ ...part, depth: part.depth + 1 }))
      const total = parts.reduce((sum, part) => sum + part.total, 0)
      found.push({ key: `group ${parts[0]?.key}`, tool, parts: deeper, depth, isFolded: true, total })
    }
    at = end
  }
  return found
}

/** @param {Row} row @param {(row: Row) => unknown} act */
export function setAll(row, act) {
  act(row)
  for (const part of row.parts) setAll(part, act)
}

/** @param {Row} row */
export function nameOf({ span, tool, total }) {
  if (span === undefined) return `${tool} × ${total.toLocaleString()}`
  return span.kind === 'call' ? span.name : `Turn ${span.iteration}`
}

/** What of a row is folded away. @param {Row} row */
export function insideOf({ span, parts, isFolded, total }) {
  if (!isFolded || total < 2) return ''
  const problems = problemsIn(parts)
  return `${span === undefined ? '' : ` · ${(total - 1).toLocaleString()} inside`}${problems > 0 ? ` · ${count(problems, 'problem')}` : ''}`
}

/** @param {Row[]} rows @returns {number} */
function problemsIn(rows) {
  return rows.reduce((sum, { span, parts }) => sum + Number(span !== undefined && isProblem(span)) + problemsIn(parts), 0)
}

/** @param {Row} row @returns {string} */
export function stateOf({ span, parts }) {
  if (span !== undefined) return span.kind === 'turn' && span.state === 'ok' ? 'turn' : span.state
  const states = parts.map(stateOf)
  return ['running', 'waiting', 'failed', 'rejected'].find((state) => states.includes(state)) ?? 'ok'
}

/** @param {Span} span */
export function isProblem({ state, retries }) {
  return state === 'failed' || state === 'rejected' || retries.length > 0
}

/** @param {Span} span */
export function textOf({ name, finish, text, args }) {
  const asked = typeof args === 'string' ? args : (JSON.stringify(args) ?? '')
  return `${name}\n${finish}\n${asked.slice(0, 10_000)}\n${text.slice(0, 10_000)}`.toLowerCase()
}

/**
 * @param {Row} row
 * @param {number} now
 */
export function numbersOf({ span, parts }, now) {
  if (span === undefined) {
    const times = parts.flatMap(({ span: one }) => (one?.start === undefined ? [] : [(one.end ?? now) - one.start]))
    return times.length === 0 ? [] : [`${duration(times.reduce((a, b) => a + b, 0) / times.length)} each`]
  }
  const { start, end, usage, retries, waits, state } = span
  const waited = waits.reduce((sum, { from, to = now }) => sum + to - from, 0)
  const isWaiting = state === 'waiting' && waits.at(-1)?.to === undefined
  const worked = start === undefined ? undefined : Math.max(0, (end ?? now) - start - waited)
  return [
    worked !== undefined && state !== 'waiting' && `${span.isGuess ? '~' : ''}${duration(worked)}`,
    waited > 0 && `${isWaiting ? 'waiting for' : 'waited'} ${duration(waited)}`,
    retries.length > 0 && count(retries.length, 'retry').replace(/ys$/, 'ies'),
    usage !== undefined && usage.totalTokens > 0 && `${short(usage.totalTokens)} tok`,
    usage?.costUsd !== undefined && money(usage.costUsd),
    (state === 'failed' || state === 'rejected') && (span.finish || state),
  ].filter((part) => typeof part === 'string')
}
