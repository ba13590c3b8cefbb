import type { ChatMessage } from '../../core/messages.ts'
import { keepsRecords } from '../journal/call-record.ts'
import { type NestedRun, NestedRuns } from '../nested/nested-runs.ts'
import { RunContext } from '../run/run-context.ts'
import type { NestingPlace } from '../types/options.ts'

/**
 * The run that is begun in a call: a new one, or the one that an earlier execution of the call has begun. Its id, and every key inside it,
 * derives from the call's key. Undefined if the outer run keeps no records.
 */
export async function nestedRun(
  parent: NestingPlace<never>,
  given: { runId?: string | undefined; input: readonly ChatMessage[] },
): Promise<NestedRun | undefined> {
  // Only a call has a record.
  if (!('idempotencyKey' in parent) || !('attempt' in parent)) return undefined
  const { run, idempotencyKey } = parent
  if (!(run instanceof RunContext) || !keepsRecords(run.durable)) return undefined
  run.nested ??= new NestedRuns()
  const runId = given.runId ?? run.nested.nextId(parent, given.input)
  return run.nested.open(run.durable, recordName(idempotencyKey, runId), runId)
}

/** Finds a nested run that has already begun. */
export async function begunRun(parent: NestingPlace<never>, runId: string): Promise<NestedRun | undefined> {
  const found = await nestedRun(parent, { runId, input: [] })
  return found?.recorded === undefined ? undefined : found
}

/** Callers may choose the same id in several calls. */
function recordName(call: string, runId: string): string {
  return runId === call || runId.startsWith(`${call}/`) ? runId : `${call}/${runId}`
}
