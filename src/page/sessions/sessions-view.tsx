import { duration, moment, money, short, shortClock } from '../data/format.ts'
import { address, changeQuery, searchOf, useTitle } from '../shell/address.ts'
import type { SessionSums } from '../types.ts'
import { TypedField } from '../ui/controls/typed-field.tsx'
import { Loading } from '../ui/loaded.tsx'
import { sessionHref } from './addresses.ts'
import { SessionPane } from './session-pane.tsx'
import { type SessionPage, useSessions } from './use-sessions.ts'

const pageOfSessions = 50

/**
 * Lists runs by session. A session is a chat, a thread, or any id that a client has chosen. `param` is the session that is shown beside the
 * list.
 */
export function SessionsView({ param }: { param: string | undefined }) {
  useTitle('Sessions')
  const { q = '', page = '1', owner = '' } = address.value.query
  const offset = (Math.max(1, Number(page) || 1) - 1) * pageOfSessions
  const { value, failure, load } = useSessions({
    limit: String(pageOfSessions),
    offset: String(offset),
    ...(q.trim() === '' ? {} : { q: q.trim() }),
  })
  return (
    <div class={param === undefined ? 'split' : 'split has-selection'}>
      <section class="split-list">
        <div class="view-head">
          <h1 tabIndex={-1}>Sessions</h1>
          <p class="muted run-totals">Chats, threads, and runs with the same session</p>
        </div>
        <search class="filter-line">
          <label class="visually-hidden" for="session-search">
            Search sessions
          </label>
          <TypedField
            id="session-search"
            type="search"
            placeholder="Text of a run, user:name"
            value={q}
            onType={(text) => changeQuery({ q: text, page: '' })}
          />
        </search>
        {value === undefined || failure !== '' ? (
          <Loading failure={failure} retry={load} />
        ) : (
          <SessionList page={value} offset={offset} selected={param} owner={owner} isFiltered={q.trim() !== ''} />
        )}
      </section>
      {param !== undefined && (
        <div key={`${param} ${owner}`} class="split-side">
          <SessionPane session={param} owner={owner} />
        </div>
      )}
    </div>
  )
}

interface SessionListProps {
  page: SessionPage
  offset: number
  selected: string | undefined
  owner: string
  isFiltered: boolean
}

function SessionList({ page: { data, nextOffset }, offset, selected, owner, isFiltered }: SessionListProps) {
  if (data.length === 0)
    return (
      <div class="empty">
        {isFiltered ? (
          <p>No session fits.</p>
        ) : (
          <p>
            No sessions yet. Chats, threads of AG-UI and <code>useChat</code>, and runs that are started with a <code>session</code> appear
            here.
          </p>
        )}
      </div>
    )
  return (
    <>
      <table class="runs-table" aria-label="Sessions">
        <thead>
          <tr>
            {heads.map(({ name, words, isNumber, priority }) => (
              <th key={name} scope="col" class={`col-${name}${isNumber ? ' is-number' : ''}`} data-priority={priority}>
                {words}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.map((one) => (
            <Row key={`${one.session} ${one.owner}`} of={one} isSelected={one.session === selected && one.owner === owner} />
          ))}
        </tbody>
      </table>
      <nav class="list-end pages" aria-label="Pages">
        <span class="muted">{`${(offset + 1).toLocaleString()}–${(offset + data.length).toLocaleString()}`}</span>
        {offset > 0 && <PageLink page={offset / pageOfSessions} words="Previous" />}
        {nextOffset !== undefined && <PageLink page={offset / pageOfSessions + 2} words="Next" />}
      </nav>
    </>
  )
}

const heads = [
  { name: 'input', words: 'Began with', priority: 1 },
  { name: 'state', words: 'State', priority: 2 },
  { name: 'session', words: 'Session', priority: 3 },
  { name: 'owner', words: 'User', priority: 2 },
  { name: 'runs', words: 'Runs', isNumber: true, priority: 1 },
  { name: 'worked', words: 'Worked', isNumber: true, priority: 3 },
  { name: 'tokens', words: 'Tokens', isNumber: true, priority: 3 },
  { name: 'cost', words: 'Cost', isNumber: true, priority: 3 },
  { name: 'latest', words: 'Latest run', isNumber: true, priority: 3 },
]

function Row({ of, isSelected }: { of: SessionSums; isSelected: boolean }) {
  const { session, owner, input, runs, running, waiting, workedMs, tokens, costUsd, latestAt } = of
  return (
    <tr class="run-item" data-selected={isSelected || undefined}>
      <th scope="row" class="col-input" data-priority="1">
        <a class="run-link" href={`${sessionHref(session, owner)}${keptSearch()}`} aria-current={isSelected ? 'true' : undefined}>
          {input === '' ? session : input}
        </a>
      </th>
      <td data-priority="2">
        {running > 0 ? <span class="badge running">running</span> : waiting > 0 && <span class="badge wait">waiting</span>}
      </td>
      <td class="is-text" data-priority="3">
        {session}
      </td>
      <td class="is-text" data-priority="2">
        {owner}
      </td>
      <td class="is-number" data-priority="1">
        {runs.toLocaleString()}
      </td>
      <td class="is-number" data-priority="3">
        {duration(workedMs)}
      </td>
      <td class="is-number" data-priority="3">
        {short(tokens)}
      </td>
      <td class="is-number" data-priority="3">
        {costUsd > 0 && money(costUsd)}
      </td>
      <td class="is-number" data-priority="3">
        <time dateTime={latestAt} title={moment(latestAt)}>
          {shortClock(latestAt)}
        </time>
      </td>
    </tr>
  )
}

/** Returns the parameters of the address that are kept when the user selects a session. */
function keptSearch(): string {
  const { owner: _, ...kept } = address.value.query
  return searchOf(kept).replace('?', '&')
}

function PageLink({ page, words }: { page: number; words: string }) {
  const { owner: _, ...query } = address.value.query
  return (
    <a class="button" href={`#/sessions${searchOf({ ...query, page: page === 1 ? '' : String(page) })}`}>
      {words}
    </a>
  )
}
