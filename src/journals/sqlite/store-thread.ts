import { serveFiles } from '../../sqlite/file-thread.ts'
import { runsSchema } from './runs-schema.ts'
import { RunsTable } from './runs-table.ts'
import { ShownRunsTable } from './shown-runs-table.ts'

/** Selects one agent, and either its shown runs or its recorded runs. */
export interface RunsOptions {
  agent: string
  isShown: boolean
}

// The program of the thread that opens the files.
serveFiles({
  ...runsSchema,
  open: (parts, { agent, isShown }: RunsOptions): RunsTable | ShownRunsTable =>
    isShown ? new ShownRunsTable(parts, agent) : new RunsTable(parts, agent),
  reading: [
    'kept',
    'cancelled',
    'get',
    'news',
    'list',
    'pending',
    'result',
    'state',
    'events',
    'recording',
    'progress',
    'messages',
    'unsettled',
    'waiting',
  ],
  erasing: ['clear', 'forget', 'giveUp', 'prune'],
  release: (database, ownerId) => database.prepare('UPDATE runs SET owner = NULL WHERE owner = ?').run(ownerId),
})
