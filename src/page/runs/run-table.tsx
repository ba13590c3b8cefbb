import { searchOf } from '../shell/address.ts'
import type { Run } from '../types.ts'
import { useLive } from '../ui/live-context.ts'
import { memo } from '../ui/memo.ts'
import { listQuery, runsHref } from './addresses.ts'
import { type Column, columns, shownColumns } from './columns.tsx'
import { sortOf } from './filters.ts'

interface RunTableProps {
  runs: readonly Run[]
  selected: string | undefined
  isLoading: boolean
  hrefOf(id: string): string
}

/** Shows a page of runs, with one run in each row. */
export function RunTable({ runs, selected, isLoading, hrefOf }: RunTableProps) {
  const { provider, model } = useLive().state?.models.find(({ name }) => name === 'toolloop') ?? {}
  const current = provider === undefined ? '' : `${provider}/${model}`
  const shown = shownColumns.value.flatMap((name) => columns.find((column) => column.name === name) ?? [])
  const search = searchOf(listQuery.value)
  // A row is rendered again only if one of its props changes, so these are plain values.
  const names = shownColumns.value.join()
  return (
    <table class="runs-table" aria-label="Runs" aria-busy={isLoading || undefined}>
      <thead>
        <tr>
          <Head column={inputColumn} />
          {shown.map((column) => (
            <Head key={column.name} column={column} />
          ))}
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <Row
            key={run.id}
            run={run}
            current={current}
            href={`${hrefOf(run.id)}${search}`}
            isSelected={run.id === selected}
            names={names}
          />
        ))}
      </tbody>
    </table>
  )
}

const inputColumn = { name: 'input', words: 'Input', sort: 'input', priority: 1 } as const

/** Shows the head of a column, as a link that sorts the list by this column. */
function Head({ column }: { column: Omit<Column, 'cell' | 'isDefault'> }) {
  const { words, sort, isNumber, priority } = column
  const now = sortOf(listQuery.value)
  const isSorted = sort !== undefined && now.replace('-', '') === sort
  const isDescending = now.startsWith('-')
  const next = isSorted ? `${isDescending ? '' : '-'}${sort}` : `${isNumber ? '-' : ''}${sort}`
  return (
    <th
      scope="col"
      class={classOf(column)}
      data-priority={priority}
      aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
    >
      {sort === undefined ? words : <a href={runsHref({ ...listQuery.value, sort: next === '-started' ? '' : next, page: '' })}>{words}</a>}
    </th>
  )
}

function classOf({ name, isNumber, isText }: Pick<Column, 'name' | 'isNumber' | 'isText'>): string {
  return `col-${name}${isNumber ? ' is-number' : ''}${isText ? ' is-text' : ''}`
}

interface RowProps {
  run: Run
  current: string
  href: string
  isSelected: boolean
  /** The names of the shown columns, as one text. */
  names: string
}

const Row = memo(({ run, current, href, isSelected, names }: RowProps) => {
  const { input } = run
  return (
    <tr class="run-item" data-selected={isSelected || undefined}>
      <th scope="row" class="col-input" data-priority="1">
        <a class="run-link" href={href} aria-current={isSelected ? 'true' : undefined} title={input}>
          {input === '' ? 'No text' : input}
        </a>
      </th>
      {names.split(',').map((name) => {
        const column = columns.find((one) => one.name === name)
        if (column === undefined) return null
        return (
          <td key={name} class={classOf(column)} data-priority={column.priority}>
            {column.cell(run, current)}
          </td>
        )
      })}
    </tr>
  )
})
