import type { SQLOutputValue } from 'node:sqlite'
import type { Statements } from '../../sqlite/statements.ts'

/** How many runs one call deletes: while it does, no step can be recorded. */
export const prunedAtOnce = 200

/** Deletes a run with all that is recorded of it. */
export function deleteRecorded(sql: Statements, n: SQLOutputValue | undefined): void {
  for (const table of ['steps', 'waits', 'kept_texts', 'call_records', 'inputs', 'outputs', 'run_tags'])
    sql.run(`DELETE FROM ${table} WHERE run = ?`, n)
  sql.run('DELETE FROM runs WHERE n = ?', n)
}
