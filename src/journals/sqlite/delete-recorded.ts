import type { SQLOutputValue } from 'node:sqlite'
import type { Statements } from '../../sqlite/statements.ts'

/** The number of runs one call deletes. No step can be recorded during the call. */
export const prunedAtOnce = 200

/** Deletes a run and all its records. */
export function deleteRecorded(sql: Statements, n: SQLOutputValue | undefined): void {
  for (const table of ['steps', 'waits', 'kept_texts', 'call_records', 'inputs', 'outputs', 'run_tags'])
    sql.run(`DELETE FROM ${table} WHERE run = ?`, n)
  sql.run('DELETE FROM runs WHERE n = ?', n)
}
