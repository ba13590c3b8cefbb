/** Converts rows of runs from both databases. */
import type { RunSummary } from '../../agent/journal/journal.ts'
import type { ListedRun } from '../../agent/journal/shown-runs.ts'
import { parseStored } from '../../agent/journal/store.ts'
import type { JsonObject } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'

/** A row by column name. Some drivers return numbers as texts. */
export type RunRow = Readonly<Record<string, unknown>>

/** Maximum number of characters of the summaries in one answer. If a single summary is larger, it is still returned. */
export const mostCharacters = 4_000_000
/**
 * Maximum number of events in one answer. Must be less than the number of events that an event log keeps, so that readers of the log miss
 * no events. Also the maximum number of parts of a recording in one answer.
 */
export const mostEvents = 1_000
export const mostCharactersOfEvents = 1_000_000

/** Converts a row to the summary of a run. `dead`: the owners that have died. */
export function summaryOf(
  { id, status, stop_reason, session, model, owner, created_at, updated_at, problem, metadata }: RunRow,
  dead: ReadonlySet<unknown>,
): RunSummary {
  const runId = String(id)
  const isRunning = status === 'running'
  return {
    runId,
    status: status as RunStatus,
    ...(isRunning ? { process: owner === null || dead.has(owner) ? 'gone' : 'alive' } : {}),
    ...(typeof stop_reason === 'string' && !isRunning ? { stopReason: stop_reason as never } : {}),
    ...(typeof session === 'string' ? { session } : {}),
    ...(typeof model === 'string' && !isRunning ? { model } : {}),
    createdAt: Number(created_at),
    updatedAt: Number(updated_at),
    ...(typeof problem === 'string' ? { problem } : {}),
    ...(typeof metadata === 'string' ? { metadata: parseStored(metadata, runId, 'metadata') as JsonObject } : {}),
  }
}

/** Converts a row to an entry in a list of shown runs. */
export function listed(run: RunRow): ListedRun {
  return {
    cursor: String(run.n),
    runId: String(run.id),
    caller: String(run.caller),
    agent: String(run.agent),
    kind: String(run.kind),
    ...(typeof run.thread === 'string' ? { thread: run.thread } : {}),
    status: run.status as RunStatus,
    createdAt: Number(run.created_at),
    ...(run.finished_at === null ? {} : { finishedAt: Number(run.finished_at) }),
    waitedMs: Number(run.waited),
    title: String(run.title),
    firstEventId: Number(run.first_event),
    lastEventId: Number(run.last_event),
    ...(run.summary === null ? {} : { summary: String(run.summary) }),
  }
}

export function timeOf(milliseconds: unknown): string {
  return new Date(Number(milliseconds)).toISOString()
}
