import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import { count, duration, money, short } from '../data/format.ts'
import { pageOfRuns } from '../data/live.ts'
import { RunList } from '../data/run-list.ts'
import type { Query } from '../shell/address.ts'
import type { Totals } from '../types.ts'
import { useLive, useWhenConnected } from '../ui/live-context.ts'
import { Loading, loaded } from '../ui/loaded.tsx'
import { compareHref, listQuery, runsHref } from './addresses.ts'
import { ColumnMenu } from './column-menu.tsx'
import { FilterForm } from './filter-form.tsx'
import { clearFilters, pageOf, queryOf } from './filters.ts'
import { RunTable } from './run-table.tsx'
import { ViewMenu } from './view-menu.tsx'

const FirstRun = loaded(() => import('../overview/first-run.tsx').then(({ FirstRun }) => FirstRun))

/** Shows a page of the runs that match the filters, as a table. */
export function RunListPane({ selected, hrefOf }: { selected: string | undefined; hrefOf(id: string): string }) {
  const list = useRunList(listQuery.value)
  const { runs, totals, isLoading, error } = list
  const search = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    if (runs.length > 0 && performance.getEntriesByName('first-list').length === 0) performance.mark('first-list')
  })
  return (
    <section class="split-list">
      <div class="view-head">
        <h1 tabIndex={-1}>Runs</h1>
        <p class="muted run-totals" role="status">
          {totals !== undefined && totalsOf(totals)}
        </p>
        <div class="buttons">
          <ViewMenu />
          <ColumnMenu />
          <a class="button" href={compareHref('')}>
            Compare
          </a>
        </div>
      </div>
      <FilterForm searchRef={search} />
      {isLoading && runs.length === 0 ? (
        <Loading />
      ) : runs.length === 0 && error === '' ? (
        <NoRuns
          isFiltered={list.isFiltered}
          onClear={() => {
            clearFilters()
            search.current?.focus()
          }}
        />
      ) : (
        <RunTable runs={runs} selected={selected} isLoading={isLoading} hrefOf={hrefOf} />
      )}
      <ListEnd length={runs.length} total={totals?.runs} error={error} onRetry={() => list.retry()} />
    </section>
  )
}

function useRunList(query: Query): RunList {
  const live = useLive()
  const [, draw] = useReducer((changes: number) => changes + 1, 0)
  const [list] = useState(() => new RunList(live, () => draw(undefined)))
  useLayoutEffect(() => void list.show(queryOf(query)), [list, query])
  useEffect(() => () => list.close(), [list])
  useWhenConnected(() => list.error !== '' && list.retry())
  return list
}

function totalsOf({ runs, running, waiting, workedMs, tokens, costUsd }: Totals): string {
  return [
    count(runs, 'run'),
    running > 0 && `${running.toLocaleString()} running`,
    waiting > 0 && `${waiting.toLocaleString()} waiting`,
    workedMs > 0 && `${duration(workedMs)} worked`,
    tokens > 0 && `${short(tokens)} tokens`,
    costUsd > 0 && money(costUsd),
  ]
    .filter(Boolean)
    .join(' · ')
}

function NoRuns({ isFiltered, onClear }: { isFiltered: boolean; onClear(): void }) {
  if (pageOf(listQuery.value) > 1)
    return (
      <div class="empty">
        <p>This page is beyond the last run.</p>
        <p>
          <a href={runsHref({ ...listQuery.value, page: '' })}>First page</a>
        </p>
      </div>
    )
  if (!isFiltered) return <FirstRun why="No runs yet." />
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

interface ListEndProps {
  /** The number of runs on the page. */
  length: number
  total: number | undefined
  error: string
  onRetry(): void
}

/** Shows links to other pages of the list, or the reason why the list can't be shown. */
function ListEnd({ length, total, error, onRetry }: ListEndProps) {
  const page = pageOf(listQuery.value)
  const before = (page - 1) * pageOfRuns
  if (error !== '')
    return (
      <p class="list-end error-text" role="status">
        {`${error} `}
        <button type="button" class="link-button" onClick={onRetry}>
          Try again
        </button>
      </p>
    )
  if (total === undefined || length === 0) return null
  const last = before + length
  return (
    <nav class="list-end pages" aria-label="Pages">
      <span class="muted">{`${(before + 1).toLocaleString()}–${last.toLocaleString()} of ${Math.max(last, total).toLocaleString()}`}</span>
      {page > 1 && <PageLink page={page - 1} words="Previous" />}
      {last < total && <PageLink page={page + 1} words="Next" />}
    </nav>
  )
}

function PageLink({ page, words }: { page: number; words: string }) {
  return (
    <a class="button" href={runsHref({ ...listQuery.value, page: page === 1 ? '' : String(page) })}>
      {words}
    </a>
  )
}
