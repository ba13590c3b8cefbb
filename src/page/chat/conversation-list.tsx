import { moment, shortClock } from '../data/format.ts'
import { sessionHref } from '../sessions/addresses.ts'
import { useSessions } from '../sessions/use-sessions.ts'
import { Menu } from '../ui/controls/menu.tsx'

/** Maximum number of conversations in the menu. */
const most = 20

/** A menu of the latest conversations of all users. Each entry opens a session, which can be continued in the chat. */
export function ConversationMenu({ current }: { current: string }) {
  return (
    <Menu words="Conversations">
      <Conversations current={current} />
    </Menu>
  )
}

function Conversations({ current }: { current: string }) {
  const { value, failure } = useSessions({ limit: String(most) })
  if (failure !== '') return <p class="error-text">{failure}</p>
  if (value === undefined) return <p class="muted">Loading…</p>
  return (
    <>
      {value.data.length === 0 && <p class="muted">No conversations yet.</p>}
      <ul class="menu-list">
        {value.data.map(({ session, owner, input, latestAt }) => (
          <li key={`${session} ${owner}`} class="menu-row">
            <a class="menu-link" href={sessionHref(session, owner)} aria-current={session === current ? 'true' : undefined}>
              {input === '' ? session : input}
            </a>
            <time class="muted" dateTime={latestAt} title={moment(latestAt)}>
              {shortClock(latestAt)}
            </time>
          </li>
        ))}
      </ul>
      <a class="menu-link" href="#/sessions">
        All sessions
      </a>
    </>
  )
}
