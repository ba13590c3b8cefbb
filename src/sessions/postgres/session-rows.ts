import { type Hold, type SessionSummary, statusOf } from '../../agent/sessions/session-store.ts'
import { now } from './migrate.ts'

/** A row of the table `sessions`, with `alive` beside its columns. */
export type Row = Record<string, unknown>

/** Whether the process that has a session still says that it is there. */
export const alive: string = `(owner IS NOT NULL AND lease > ${now})`
/** A session that no run has. */
export const free: string = `(run IS NULL OR (NOT ${alive} AND NOT durable AND draft IS NULL))`
/** No process has it any more, but perhaps a run. */
export const noOwner = 'token = NULL, owner = NULL, lease = NULL'
/** No run has it any more. */
export const noHold: string = `run = NULL, durable = false, ${noOwner}, waits_for = NULL, draft = NULL, resumed_at = NULL`

/** The run that a session is kept for. */
export function holdOf({ run, durable, alive, waits_for, resumed_at }: Row): Hold | undefined {
  if (typeof run !== 'string') return undefined
  const waitsFor = typeof waits_for === 'string' ? waits_for : undefined
  const resumedAt = resumed_at === null ? undefined : Number(resumed_at)
  return { runId: run, durable: durable === true, alive: alive === true, waitsFor, resumedAt }
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
