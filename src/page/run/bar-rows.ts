import { visibleLines } from '../../core/text/visible.ts'
import { count, duration, money, short } from '../data/format.ts'
import type { Span } from './spans.ts'

/** A row of the timeline, with the rows inside it. A row shows a span, or several consecutive calls of the same `tool`. */
export interface Row {
  key: string
  span?: Span
  tool?: string
  parts: Row[]
  depth: number
  isFolded: boolean
  /** The number of rows, including those inside this row. */
  total: number
}

/** Maximum number of spans that are shown unfolded. If a run has more, nested spans are folded at first. */
const mostUnfolded = 60
/** Minimum number of consecutive calls of the same tool that are combined into one row. */
const fewestInGroup = 8

/** Combines consecutive calls of the same tool into one row if there are many. */
function grouped(rows: readonly Row[], depth: number): Row[] {
  const found: Row[] = []
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

/** Returns the top-level rows. `folded` says which rows the user has folded or unfolded, by key. */
export function treeOf(all: readonly Span[], folded: ReadonlyMap<string, boolean>): Row[] {
  const keys = new Set(all.map(({ key }) => key))
  const inside = Map.groupBy(all, ({ parent }) => (keys.has(parent) ? parent : ''))
  const isLong = all.length > mostUnfolded
  const rowOf = (span: Span, depth: number): Row => {
    const within = (inside.get(span.key) ?? []).map((part) => rowOf(part, depth + 1))
    const parts = grouped(within, depth + 1)
    for (const part of parts) if (part.span === undefined) part.isFolded = folded.get(part.key) ?? true
    const total = parts.reduce((sum, part) => sum + part.total, 1)
    return { key: span.key, span, parts, depth, total, isFolded: folded.get(span.key) ?? (isLong && parts.length > 0) }
  }
  // Turns are sorted by time, because turns added from the result come last.
  const top = (inside.get('') ?? []).sort((a, b) => (a.start ?? Infinity) - (b.start ?? Infinity))
  return top.map((span) => rowOf(span, 0))
}

/** Returns the rows to show, in order. Rows that are folded or don't match the filter are left out. */
export function shownOf(tree: readonly Row[], { text, isProblems }: { text: string; isProblems: boolean }): Row[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '' && !isProblems) return unfolded(tree)
  const fits = ({ span }: Row) => span !== undefined && (!isProblems || isProblem(span)) && (wanted === '' || textOf(span).includes(wanted))
  const visit = (rows: readonly Row[]): Row[] =>
    rows.flatMap((row) => {
      const parts = visit(row.parts)
      if (parts.length > 0) return [{ ...row, isFolded: false }, ...parts]
      return fits(row) ? [{ ...row, isFolded: row.parts.length > 0 }] : []
    })
  return visit(tree)
}

function unfolded(rows: readonly Row[]): Row[] {
  return rows.flatMap((row) => (row.isFolded ? [row] : [row, ...unfolded(row.parts)]))
}

/** Returns a row and all rows inside it. */
export function withParts(row: Row): Row[] {
  return [row, ...row.parts.flatMap(withParts)]
}

export function nameOf({ span, tool, total }: Row): string {
  if (span === undefined) return `${visibleLines(tool ?? '')} × ${total.toLocaleString()}`
  return span.kind === 'turn' ? `Turn ${span.iteration}` : visibleLines(span.name)
}

/** Describes the content of a folded row. */
export function insideOf({ span, parts, isFolded, total }: Row): string {
  if (!isFolded || total < 2) return ''
  const problems = problemsIn(parts)
  return `${span === undefined ? '' : ` · ${(total - 1).toLocaleString()} inside`}${problems > 0 ? ` · ${count(problems, 'problem')}` : ''}`
}

function problemsIn(rows: readonly Row[]): number {
  return rows.reduce((sum, { span, parts }) => sum + Number(span !== undefined && isProblem(span)) + problemsIn(parts), 0)
}

export function stateOf({ span, parts }: Row): string {
  if (span !== undefined) return span.kind === 'turn' && span.state === 'ok' ? 'turn' : span.state
  const states = parts.map(stateOf)
  return ['running', 'waiting', 'failed', 'rejected'].find((state) => states.includes(state)) ?? 'ok'
}

function isProblem({ state, retries }: Span): boolean {
  return state === 'failed' || state === 'rejected' || retries.length > 0
}

/** Returns the searchable text of a span. */
function textOf({ name, finish, text, args }: Span): string {
  const asked = typeof args === 'string' ? args : (JSON.stringify(args) ?? '')
  return `${name}\n${finish}\n${asked.slice(0, 10_000)}\n${text().slice(0, 10_000)}`.toLowerCase()
}

export function numbersOf({ span, parts }: Row, now: number): string[] {
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
