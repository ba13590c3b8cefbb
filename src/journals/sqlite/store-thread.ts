import { serveFiles } from '../../sqlite/file-thread.ts'
import { RecordedRuns } from './recorded-runs.ts'
import { runsSchema } from './runs-schema.ts'

/** Whose runs a store has. */
export interface RunsOptions {
  agent: string
}

// The program of the thread that has the files.
serveFiles({
  ...runsSchema,
  open: (database, owner, { agent }: RunsOptions) => new RecordedRuns(database, owner, agent),
  release: (database, ownerId) => database.prepare('UPDATE runs SET owner = NULL WHERE owner = ?').run(ownerId),
})
