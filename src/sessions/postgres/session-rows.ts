import type { Hold } from '../../agent/sessions/session-store.ts'
import { holdFrom, type SessionRow } from '../session-row.ts'
import { now } from './migrate.ts'

/** A row of the table `sessions`, with `alive` beside its columns. */
export type Row = SessionRow

/** Whether the process that has a session still says that it is there. */
export const alive: string = `(owner IS NOT NULL AND lease > ${now})`
/** A session that no run has. */
export const free: string = `(run IS NULL OR (NOT ${alive} AND NOT durable AND draft IS NULL))`
/** No process has it any more, but perhaps a run. */
export const noOwner = 'token = NULL, owner = NULL, lease = NULL'
/** No run has it any more. */
export const noHold: string = `run = NULL, durable = false, epoch = NULL, ${noOwner}, waits_for = NULL, draft = NULL, resumed_at = NULL`

export function holdOf(row: Row): Hold | undefined {
  return holdFrom(row, row.alive === true)
}

/** What an integer of PostgreSQL can be. */
export function clamped(position: number): number {
  return Math.min(position, 2 ** 31 - 1)
}
