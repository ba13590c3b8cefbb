import type { Sessions } from '../../agent/sessions/sessions.ts'
import { textOf } from '../../core/messages.ts'
import type { Lines } from '../terminal/lines.ts'
import { plural } from '../terminal/render.ts'

interface StoredChat {
  id: string
  /** The first line of the first prompt. */
  firstLine: string
  /** When the conversation last changed, how long it is, and whether a run is using it, as text to display. */
  about: string
}

const mostChats = 200
/** Number of messages, from the start of a conversation, in which the first prompt is searched for. */
const searched = 4

/** Returns the stored conversations, the latest first. */
async function listChats(sessions: Sessions): Promise<StoredChat[]> {
  const { sessions: found } = await sessions.list({ limit: mostChats })
  return Promise.all(
    found.map(async ({ id, updatedAt, messageCount, status }) => {
      const messages = await sessions.read(id, { to: searched })
      const first = messages.find(({ role }) => role === 'user')
      const firstLine = first === undefined ? '' : (textOf(first.content).trim().split('\n')[0] ?? '')
      const state = status === 'idle' ? [] : [status]
      return { id, firstLine, about: [describeAge(Date.now() - updatedAt), plural(messageCount, 'message'), ...state].join(' · ') }
    }),
  )
}

/** Lets the person at the terminal choose a stored conversation. Resolves with its id, or with undefined if the person chose none. */
export async function pickSession(sessions: Sessions, lines: Lines, signal: AbortSignal): Promise<string | undefined> {
  const chats = await listChats(sessions)
  const items = chats.map(({ id, firstLine, about }) => ({ text: firstLine || id, detail: isNamed(id) ? `${id} · ${about}` : about }))
  const at = await lines.pick('Continue which conversation?', items, signal)
  return at === undefined ? undefined : chats[at]?.id
}

/** Whether the id was chosen with `--session` rather than generated. */
export function isNamed(id: string): boolean {
  return !/^chat-\d{8}-\d{6}-/.test(id)
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const

function describeAge(milliseconds: number): string {
  const [unit, length] = units.find(([, one]) => milliseconds >= one) ?? []
  return unit === undefined || length === undefined ? 'just now' : `${Math.floor(milliseconds / length)} ${unit} ago`
}
