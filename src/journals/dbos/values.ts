/** Values as PostgreSQL takes and gives them. */
import type { RunStatus, RunSummary } from '../../agent/durable/journal.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { Row } from './database.ts'

/** The server's time, which is the same for all processes. */
export const now = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** Throws `invalid_option` for an id that PostgreSQL would refuse or change. */
export function checkRunId(runId: string): void {
  if (!runId.isWellFormed() || runId.includes('\0')) throw new InvalidOptionError('runId', 'well-formed Unicode without NUL', runId)
}

/** A text that PostgreSQL takes. */
export function plain(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

export function summaryOf({ id, status, stop_reason, created_at, updated_at, problem }: Row): RunSummary {
  return {
    runId: String(id),
    status: status as RunStatus,
    ...(typeof stop_reason === 'string' && status !== 'running' ? { stopReason: stop_reason as never } : {}),
    createdAt: Number(created_at),
    updatedAt: Number(updated_at),
    ...(typeof problem === 'string' ? { problem } : {}),
  }
}

export function timeOf(milliseconds: unknown): string {
  return new Date(Number(milliseconds)).toISOString()
}
