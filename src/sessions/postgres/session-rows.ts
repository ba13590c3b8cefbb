import { type Hold, type SessionSummary, statusOf } from '../../agent/sessions/session-store.ts'
import { now } from './migrate.ts'

/** A row of the table `sessions`, with `alive` beside its columns. */
export type Row = Record<string, unknown>

/** Whether the process that has a session still says that it is there. */
export const alive: string = `(owner IS NOT NULL AND lease > ${now})`
/** A session that no run has. */
export const free: string = `(run IS NULL OR (NOT ${alive} AND NOT durable AND draft IS NULL))`
/** No run has it any more. */
export const noHold = 'run = NULL, durable = false, token = NULL, owner = NULL, lease = NULL, waits_for = NULL, draft = NULL'

/** The run that a session is kept for. */
export function holdOf({ run, durable, alive, waits_for }: Row): Hold | undefined {
  if (typeof run !== 'string') return undefined
  const waitsFor = typeof waits_for === 'string' ? waits_for : undefined
  return { runId: run, durable: durable === true, alive: alive === true, waitsFor }
}

export function summaryOf(row: Row): SessionSummary {
  const status = statusOf(holdOf(row))
  return {
    id: String(row.id),
    status,
    ...(status === 'idle' ? {} : { runId: String(row.run) }),
    messageCount: Number(row.length),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}

/** What an integer of PostgreSQL can be. */
export function clamped(position: number): number {
  return Math.min(position, 2 ** 31 - 1)
}
