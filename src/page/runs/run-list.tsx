import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import { RunList } from '../data/run-list.ts'
import type { Run } from '../types.ts'
import { useLive, useWhenConnected } from '../ui/live-context.ts'
import { loaded } from '../ui/loaded.tsx'
import { compareHref } from './addresses.ts'
import { FilterForm } from './filter-form.tsx'
import { clearFilters, type Filters, listed, queryOf } from './filters.ts'
import { RunRow } from './run-row.tsx'

const FirstRun = loaded(() => import('../overview/first-run.tsx').then(({ FirstRun }) => FirstRun))

/** How far before its end more of the list is loaded. */
const aheadOfEnd = '600px'

/** All runs that match the filters, newest first. Loads more as the end comes into view. */
export function RunListPane({ selected, hrefOf }: { selected: string | undefined; hrefOf(id: string): string }) {
  const { list, isBegun } = useRunList(listed.value)
  const { runs, hasMore, error } = list
  const search = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    if (runs.length > 0 && performance.getEntriesByName('first-list').length === 0) performance.mark('first-list')
  })
  return (
    <section class="split-list">
      <div class="view-head">
        <h1 tabIndex={-1}>Runs</h1>
        <p class="muted">{summaryOf(runs, hasMore)}</p>
        <a class="button" href={compareHref('')}>
          Compare
        </a>
      </div>
      <FilterForm searchRef={search} />
      {isBegun && runs.length === 0 && error === '' && (
        <div>
          {list.isFiltered ? (
            <NoneFits
              onClear={() => {
                clearFilters()
                search.current?.focus()
              }}
            />
          ) : (
            <FirstRun why="No runs yet." />
          )}
        </div>
      )}
      <ul class="run-list">
        {runs.map((run) => (
          <RunRow key={run.id} run={run} href={hrefOf(run.id)} isSelected={run.id === selected} />
        ))}
      </ul>
      <ListEnd list={list} />
    </section>
  )
}

/** The matching runs. `isBegun`: the list shows a response of the service. */
function useRunList(filters: Filters): { list: RunList; isBegun: boolean } {
  const live = useLive()
  const [changes, draw] = useReducer((count: number) => count + 1, 0)
  const [list] = useState(() => new RunList(live, () => draw(undefined)))
  useLayoutEffect(() => void list.show(queryOf(filters)), [list, filters])
  useEffect(() => () => list.close(), [list])
  useWhenConnected(() => list.error !== '' && list.retry())
  return { list, isBegun: changes > 0 }
}

function ListEnd({ list }: { list: RunList }) {
  const end = useRef<HTMLParagraphElement>(null)
  const { hasMore, isLoading, error } = list
  useEffect(() => {
    if (end.current === null || !hasMore || isLoading || error !== '') return
    const nearEnd = new IntersectionObserver((seen) => seen.some(({ isIntersecting }) => isIntersecting) && void list.more(), {
      rootMargin: aheadOfEnd,
    })
    nearEnd.observe(end.current)
    return () => nearEnd.disconnect()
  })
  if (error !== '')
    return (
      <p class="list-end error-text" role="status">
        {`${error} `}
        <button type="button" class="link-button" onClick={() => list.retry()}>
          Try again
        </button>
      </p>
    )
  return (
    <p ref={end} class="list-end muted" role="status">
      {hasMore && 'Loading more…'}
    </p>
  )
}

function NoneFits({ onClear }: { onClear(): void }) {
  return (
    <div class="empty">
      <p>No stored run fits.</p>
      <p>
        <button type="button" onClick={onClear}>
          Clear search and filters
        </button>
      </p>
    </div>
  )
}

function summaryOf(runs: readonly Run[], hasMore: boolean): string {
  const counted = (status: Run['status']) => runs.filter((run) => run.status === status).length
  const [running, paused] = [counted('running'), counted('waiting')]
  const total = `${runs.length.toLocaleString()}${hasMore ? '+' : ''} run${runs.length === 1 && !hasMore ? '' : 's'}`
  return [total, running > 0 && `${running} running`, paused > 0 && `${paused} waiting`].filter(Boolean).join(' · ')
}
