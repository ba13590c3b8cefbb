import {
  type Claimed,
  cursorText,
  type Hold,
  type SessionPage,
  type SessionSummary,
  type StoredSession,
  statusOf,
} from '../agent/sessions/session-store.ts'

/** A row of the table `sessions`. `durable` is a number or a boolean, depending on the database. */
export type SessionRow = Readonly<Record<string, unknown>>

/** Returns the run that holds a session. `alive`: whether the process of the run is alive. */
export function holdFrom({ run, durable, epoch, waits_for, resumed_at }: SessionRow, alive: boolean): Hold | undefined {
  if (typeof run !== 'string') return undefined
  const waitsFor = typeof waits_for === 'string' ? waits_for : undefined
  const numberIn = (value: unknown) => (value === null ? undefined : Number(value))
  return { runId: run, durable: Boolean(durable), epoch: numberIn(epoch), alive, waitsFor, resumedAt: numberIn(resumed_at) }
}

export function claimedFrom({ n, length, compaction }: SessionRow, token: string): Claimed {
  const compacted = typeof compaction === 'string' ? { compaction } : {}
  return { kind: 'claimed', token, session: Number(n), length: Number(length), ...compacted }
}

export function summaryFrom(row: SessionRow, hold: Hold | undefined): SessionSummary {
  const status = statusOf(hold)
  return {
    id: String(row.id),
    status,
    ...(status === 'idle' ? {} : { runId: String(row.run) }),
    messageCount: Number(row.length),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}

export function storedFrom(row: SessionRow, hold: Hold | undefined): StoredSession {
  const { n, compaction, draft, resumed_at } = row
  return {
    ...summaryFrom(row, hold),
    session: Number(n),
    ...(typeof compaction === 'string' ? { compaction } : {}),
    ...(typeof draft === 'string' ? { draft } : {}),
    ...(resumed_at === null ? {} : { resumedAt: Number(resumed_at) }),
  }
}

/** Returns a page of up to `limit` sessions. `rows` has one row more if there is a next page. */
export function pageFrom<Row extends SessionRow>(
  rows: readonly Row[],
  limit: number,
  summaryOf: (row: Row) => SessionSummary,
): SessionPage {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next = last && cursorText({ updatedAt: Number(last.updated_at), session: Number(last.n) })
  return { sessions: shown.map(summaryOf), ...(rows.length > limit && next !== undefined ? { next } : {}) }
}
