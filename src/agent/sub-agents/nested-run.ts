import type { ChatMessage } from '../../core/messages.ts'
import { keepsRecords } from '../journal/call-record.ts'
import { type NestedRun, NestedRuns } from '../nested/nested-runs.ts'
import { RunContext } from '../run/run-context.ts'
import type { NestingPlace } from '../types/options.ts'

/**
 * Returns the nested run of a call: a new run, or the run that an earlier execution of the call started. The id and the keys of the nested
 * run derive from the call's key. Undefined if the outer run keeps no records.
 */
export async function nestedRun(
  parent: NestingPlace<never>,
  given: { runId?: string | undefined; input: readonly ChatMessage[] },
): Promise<NestedRun | undefined> {
  // Calls have a record. Hooks and guardrails have none.
  if (!('idempotencyKey' in parent) || !('attempt' in parent)) return undefined
  const { run, idempotencyKey } = parent
  if (!(run instanceof RunContext) || !keepsRecords(run.durable)) return undefined
  run.nested ??= new NestedRuns()
  const runId = given.runId ?? run.nested.nextId(parent, given.input)
  return run.nested.open(run.durable, recordName(idempotencyKey, runId), runId)
}

/** Finds a nested run that has already started. */
export async function begunRun(parent: NestingPlace<never>, runId: string): Promise<NestedRun | undefined> {
  const found = await nestedRun(parent, { runId, input: [] })
  return found?.recorded === undefined ? undefined : found
}

/**
 * Returns a record name that is unique in the outer run. `runId` alone is not unique, because callers may use the same id in several calls.
 */
function recordName(call: string, runId: string): string {
  return runId === call || runId.startsWith(`${call}/`) ? runId : `${call}/${runId}`
}
