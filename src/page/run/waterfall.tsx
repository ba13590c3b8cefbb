import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { RunWithResult } from '../data/follow-run.ts'
import { count, duration } from '../data/format.ts'
import type { Run } from '../types.ts'
import { loaded } from '../ui/loaded.tsx'
import { memo } from '../ui/memo.ts'
import { useNewId } from '../ui/new-id.ts'
import { BarLane, latest } from './bar-lane.tsx'
import { insideOf, nameOf, numbersOf, type Row, shownOf, stateOf, treeOf, withParts } from './bar-rows.ts'
import type { Span, Spans } from './spans.ts'
import { type TimeScale, tickWords, timeScale } from './time-scale.ts'

const SpanDetails = loaded(() => import('./span-details.tsx').then(({ SpanDetails }) => SpanDetails))

/** Number of rows that are drawn at first. */
const rowsAtFirst = 60
/**
 * Number of rows that are added when the last row comes into view. The number is small, so that the page responds while the user scrolls.
 */
const rowsAtOnce = 20
/** Minimum number of spans for which a search field is shown. */
const leastSearched = 12
const liveMs = 500

interface WaterfallProps {
  spans: Spans
  /** The status according to the service. The events may describe an earlier state. */
  status: Run['status'] | undefined
  /** Undefined until the result of the run is available. */
  run: RunWithResult | undefined
}

/** Shows the timeline of a run: a bar for each model turn and call, followed by the bars of nested agents. */
export function Waterfall({ spans, status, run }: WaterfallProps) {
  const { all, start, pauses } = spans
  const [folded, setFolded] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [filter, setFilter] = useState({ text: '', isProblems: false })
  const isLive = spans.isLive && status === 'running'
  const isWaiting = status === 'waiting'
  useTicks(isLive || isWaiting)
  if (start === undefined || all.length === 0) return null
  const now = isLive || isWaiting ? Date.now() : (spans.end ?? latest(all, pauses))
  const scale = timeScale({ start, end: Math.max(now, latest(all, [])), pauses })
  const tree = treeOf(all, folded)
  const rows = shownOf(tree, filter)
  const isAnyOpen = rows.some(({ parts, isFolded }) => parts.length > 0 && !isFolded)
  const foldAll = () => {
    const keys = tree.flatMap(withParts).flatMap(({ key, parts }) => (parts.length > 0 ? [key] : []))
    setFolded(new Map([...folded, ...keys.map((key) => [key, isAnyOpen] as const)]))
  }
  const fold = ({ key, isFolded }: Row) => setFolded(new Map([...folded, [key, !isFolded]]))
  return (
    <section class="waterfall" aria-label="Time line">
      <div class="panel-head">
        <h3>Time line</h3>
        <p class="muted">
          {[
            isLive ? `running for ${duration(now - start)}` : `worked for ${duration(scale.workMs)}`,
            ...wordsOf(all, scale, isWaiting),
            spans.left > 0 && `${spans.left.toLocaleString()} more are not shown`,
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </div>
      <Tools isHidden={all.length < leastSearched} filter={filter} onFilter={setFilter}>
        <button type="button" class="quiet" onClick={foldAll}>
          {isAnyOpen ? 'Fold all' : 'Unfold all'}
        </button>
      </Tools>
      <div class="bars-box">
        <Axis ticks={scale.ticks} />
        <Bars rows={rows} scale={scale} now={now} run={run} runStart={start} onFold={fold} />
      </div>
    </section>
  )
}

/** Re-renders the component as time passes. */
function useTicks(isTicking: boolean): void {
  const [, tick] = useReducer((ticks: number) => ticks + 1, 0)
  useEffect(() => {
    if (!isTicking) return
    const timer = setInterval(tick, liveMs, undefined)
    return () => clearInterval(timer)
  }, [isTicking])
}

function wordsOf(all: readonly Span[], { gaps }: TimeScale, isWaiting: boolean): (string | false)[] {
  const [turns, calls] = (['turn', 'call'] as const).map((wanted) => all.filter(({ kind }) => kind === wanted).length)
  const waited = gaps.reduce((sum, { ms }) => sum + ms, 0)
  return [waited > 0 && `${isWaiting ? 'waiting' : 'waited'} for ${duration(waited)}`, count(turns ?? 0, 'turn'), count(calls ?? 0, 'call')]
}

type Filter = Parameters<typeof shownOf>[1]

interface ToolsProps {
  isHidden: boolean
  filter: Filter
  onFilter(filter: Filter): void
  children: ComponentChildren
}

function Tools({ isHidden, filter, onFilter, children }: ToolsProps) {
  const [filterId, boxId] = [useNewId(), useNewId()]
  return (
    <div class="bars-tools" hidden={isHidden}>
      <label class="visually-hidden" for={filterId}>
        Filter steps
      </label>
      <input
        id={filterId}
        type="search"
        placeholder="Filter by tool, text or error"
        autocomplete="off"
        value={filter.text}
        onInput={({ currentTarget }) => onFilter({ ...filter, text: currentTarget.value })}
      />
      <span class="check-row">
        <input
          id={boxId}
          type="checkbox"
          checked={filter.isProblems}
          onChange={({ currentTarget }) => onFilter({ ...filter, isProblems: currentTarget.checked })}
        />
        <label for={boxId}>Problems only</label>
      </span>
      {children}
    </div>
  )
}

/** Shows an axis with the ticks of the time scale. The grid lines continue behind the bars. */
function Axis({ ticks }: { ticks: TimeScale['ticks'] }) {
  return (
    <div class="bars-axis" aria-hidden="true">
      <span />
      <div class="axis-line">
        {ticks.map(({ ms, at }) => (
          <span key={ms} style={{ left: `${at * 100}%` }}>
            {tickWords(ms)}
          </span>
        ))}
      </div>
    </div>
  )
}

interface BarsProps {
  rows: readonly Row[]
  scale: TimeScale
  now: number
  run: RunWithResult | undefined
  runStart: number
  onFold(row: Row): void
}

/** Shows the first rows. Adds rows whenever the last row comes into view, without rendering earlier rows again. */
function Bars({ rows, ...shared }: BarsProps) {
  const [most, setMost] = useState(rowsAtFirst)
  const showMore = useCallback(() => setMost((now) => now + rowsAtOnce), [])
  return (
    <>
      <ol class="bars">
        {rows.slice(0, most).map((row) => (
          <BarRow key={row.key} row={row} {...shared} />
        ))}
      </ol>
      <ListEnd left={rows.length - most} onNear={showMore} />
    </>
  )
}

const BarRow = memo(function BarRow({ row, scale, now, run, runStart, onFold }: Omit<BarsProps, 'rows'> & { row: Row }) {
  const { span, parts, depth, isFolded } = row
  const [isOpen, setIsOpen] = useState(false)
  const detailsId = useNewId()
  return (
    <li class="bar-row" data-depth={Math.min(depth, 6)} data-state={stateOf(row)}>
      <button
        type="button"
        class="bar-toggle quiet"
        hidden={parts.length === 0}
        aria-expanded={!isFolded}
        aria-label={`${isFolded ? 'Unfold' : 'Fold'} ${nameOf(row)}`}
        onClick={() => onFold(row)}
      />
      <button
        type="button"
        class="bar-button quiet"
        aria-expanded={span === undefined ? undefined : isOpen}
        aria-controls={span === undefined ? undefined : detailsId}
        onClick={span === undefined ? () => onFold(row) : () => setIsOpen(!isOpen)}
      >
        <span class="bar-name">{nameOf(row) + insideOf(row)}</span>
        <BarLane row={row} scale={scale} now={now} />
        <span class="bar-numbers">{numbersOf(row, now).join(' · ')}</span>
      </button>
      <div class="bar-details" hidden={!isOpen} id={detailsId}>
        {span !== undefined && isOpen && <SpanDetails span={span} version={versionOf(span)} run={run} runStart={runStart} />}
      </div>
    </li>
  )
})

function versionOf({ state, end, text }: Span): string {
  return `${state} ${end} ${text().length}`
}

/** A sentinel at the end of the list. `onNear` must be a stable function. */
function ListEnd({ left, onNear }: { left: number; onNear: () => void }) {
  const end = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    const observer = new IntersectionObserver((seen) => seen.some(({ isIntersecting }) => isIntersecting) && onNear(), {
      rootMargin: '300px',
    })
    if (end.current !== null && left > 0) observer.observe(end.current)
    return () => observer.disconnect()
  }, [left, onNear])
  return (
    <p ref={end} class="list-end muted">
      {left > 0 && `${left.toLocaleString()} more below`}
    </p>
  )
}
