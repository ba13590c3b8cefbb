import type { Signal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { duration, moment, money, short, shortClock } from '../data/format.ts'
import { RunBadge } from '../run/run-badge.tsx'
import type { Run } from '../types.ts'
import { storedSignal } from '../ui/controls/stored.ts'
import { Since } from '../ui/since.tsx'

export interface Column {
  name: string
  words: string
  /** The name that the service uses for sorting by this column. */
  sort?: string
  /**
   * Whether the column contains numbers or times. Its cells are then aligned to the right. If the user sorts by such a column, the largest
   * values come first.
   */
  isNumber?: boolean
  /** Whether long content may be cut off. */
  isText?: boolean
  /** When the column is shown. 1: always, even on a phone; 2: also if a run is shown beside the table; 3: only if there is enough room. */
  priority: 1 | 2 | 3
  isDefault: boolean
  /** Returns the content of the cell. `current` is the current model, as `provider/model`. */
  cell(run: Run, current: string): ComponentChild
}

/** The columns after the column with the input. */
export const columns: readonly Column[] = [
  { name: 'state', words: 'State', sort: 'state', priority: 1, isDefault: true, cell: (run) => <RunBadge run={run} /> },
  {
    name: 'model',
    words: 'Model',
    isText: true,
    sort: 'model',
    priority: 3,
    isDefault: true,
    cell: (run, current) => {
      const model = modelOf(run, current)
      return <span title={model}>{model.replace(/^[^/]*\//, '')}</span>
    },
  },
  { name: 'owner', words: 'User', sort: 'owner', isText: true, priority: 3, isDefault: true, cell: ({ owner }) => owner },
  { name: 'worked', words: 'Worked', sort: 'worked', isNumber: true, priority: 2, isDefault: true, cell: worked },
  { name: 'waited', words: 'Waited', sort: 'waited', isNumber: true, priority: 3, isDefault: true, cell: waited },
  { name: 'turns', words: 'Turns', sort: 'turns', isNumber: true, priority: 3, isDefault: true, cell: ({ iterations }) => iterations },
  {
    name: 'calls',
    words: 'Calls',
    sort: 'calls',
    isNumber: true,
    priority: 3,
    isDefault: true,
    cell: ({ toolCalls }) => toolCalls?.toLocaleString(),
  },
  {
    name: 'tokens',
    words: 'Tokens',
    sort: 'tokens',
    isNumber: true,
    priority: 3,
    isDefault: true,
    cell: ({ usage }) => usage && <span title={`${usage.inputTokens} in, ${usage.outputTokens} out`}>{short(usage.totalTokens)}</span>,
  },
  {
    name: 'cost',
    words: 'Cost',
    sort: 'cost',
    isNumber: true,
    priority: 3,
    isDefault: true,
    cell: ({ usage }) => usage?.costUsd !== undefined && money(usage.costUsd),
  },
  { name: 'tools', words: 'Tools', isText: true, priority: 3, isDefault: false, cell: ({ tools }) => tools?.join(', ') },
  {
    name: 'error',
    words: 'Error',
    isText: true,
    priority: 3,
    isDefault: false,
    cell: ({ error }) => error && <span title={error.message}>{error.code}</span>,
  },
  { name: 'kind', words: 'API', priority: 3, isDefault: false, cell: ({ kind }) => (kind === 'chat' ? 'chat' : 'runs') },
  { name: 'session', words: 'Session', isText: true, priority: 3, isDefault: false, cell: ({ session }) => session },
  { name: 'id', words: 'ID', isText: true, priority: 3, isDefault: false, cell: ({ id }) => id },
  {
    name: 'started',
    words: 'Started',
    sort: 'started',
    isNumber: true,
    priority: 2,
    isDefault: true,
    cell: ({ createdAt }) => (
      <time dateTime={createdAt} title={moment(createdAt)}>
        {shortClock(createdAt)}
      </time>
    ),
  },
]

function defaultColumns(): string[] {
  return columns.filter(({ isDefault }) => isDefault).map(({ name }) => name)
}

export const shownColumns: Signal<readonly string[]> = storedSignal('columns', (value) =>
  Array.isArray(value) ? columns.map(({ name }) => name).filter((name) => value.includes(name)) : defaultColumns(),
)

export function showColumn(name: string, isShown: boolean): void {
  const chosen = new Set(shownColumns.value)
  if (isShown) chosen.add(name)
  else chosen.delete(name)
  shownColumns.value = columns.map((column) => column.name).filter((one) => chosen.has(one))
}

export function resetColumns(): void {
  shownColumns.value = defaultColumns()
}

/** Returns the model that answered, as `provider/model`. For a run that has no answer yet, returns the requested model. */
function modelOf({ answeredBy, model }: Run, current: string): string {
  return answeredBy ?? (model === 'toolloop' ? current : model)
}

function worked({ status, createdAt, workedMs, waitedMs = 0 }: Run): ComponentChild {
  if (status === 'running') return <Since iso={new Date(Date.parse(createdAt) + waitedMs).toISOString()} />
  return workedMs !== undefined && duration(workedMs)
}

function waited({ status, finishedAt, waitedMs = 0 }: Run): ComponentChild {
  if (status === 'waiting' && finishedAt !== undefined) return <Since iso={new Date(Date.parse(finishedAt) - waitedMs).toISOString()} />
  return waitedMs > 0 && duration(waitedMs)
}
