import { firstOf, rowsOf, sql, type Work } from '../../sql/statement.ts'
import type { FileParts } from '../../sqlite/opened-file.ts'
import { prunedAtOnce } from '../queries/run-work.ts'
import { ShownWork } from '../queries/shown-work.ts'
import { deleteRecorded } from './delete-recorded.ts'
import { sqlite } from './dialect.ts'

/** The size of a trial write, in bytes: about that of a new run with a long input. */
const triedBytes = 32_768

/** Implements `ShownRuns` in SQLite. */
export class ShownRunsTable extends ShownWork {
  constructor({ clock }: Pick<FileParts, 'clock'>, agent: string) {
    super({
      ...sqlite,
      agent,
      now: () => sql`${clock.now()}`,
      hasId: (runId) => sql`id = ${runId}`,
      locked: sql``,
      shared: sql``,
      allOf: (query) => sql`(SELECT json_group_array(value) FROM (${query}))`,
      together: (statements) => statements,
      childTables: ['results', 'events', 'recordings', 'secrets', 'messages', 'words', 'decisions', 'tags'],
    })
  }

  *tryWriting(): Work<void> {
    // SQLite writes the row to disk even if its content has not changed.
    yield sql`INSERT OR REPLACE INTO tried_writes (n, value) VALUES (1, zeroblob(${triedBytes}))`
  }

  *clear(runId?: string): Work<void> {
    const one = runId === undefined ? sql`` : sql`AND id = ${runId}`
    const over = sql`runs.status <> 'running' AND shown_runs.status = 'ended' ${one}`
    const runs = yield* rowsOf(sql`SELECT runs.n FROM runs JOIN shown_runs USING (id) WHERE ${over} LIMIT ${prunedAtOnce}`)
    for (const { n } of runs) yield* deleteRecorded(n)
  }

  protected override *stateSize(runId: string): Work<number> {
    const sizeIn = (table: string) => sql`(SELECT coalesce(sum(octet_length(value)), 0) FROM ${this.table(table, '')} WHERE run = n)`
    const run = yield* firstOf(sql`SELECT ${sizeIn('inputs')} + ${sizeIn('steps')} AS size FROM runs WHERE id = ${runId}`)
    return Number(run?.size ?? 0)
  }
}
