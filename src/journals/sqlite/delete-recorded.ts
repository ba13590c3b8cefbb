import { Statement, sql, type Work } from '../../sql/statement.ts'

const tables = ['steps', 'waits', 'kept_texts', 'call_records', 'inputs', 'outputs', 'run_tags']

export function* deleteRecorded(n: unknown): Work<void> {
  for (const table of tables) yield sql`DELETE FROM ${new Statement(table)} WHERE run = ${n}`
  yield sql`DELETE FROM runs WHERE n = ${n}`
}
