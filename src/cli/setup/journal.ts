import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Journal } from '../../agent/journal/journal.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { Flags } from '../flags.ts'
import type { CliIO } from '../terminal/terminal.ts'

export interface OpenJournal {
  journal: Journal
  /** Closes the journal. Resolves when the locks are released and the threads have ended. */
  close(): Promise<void>
}

/**
 * Opens the journal of `--journal` or `TOOLLOOP_JOURNAL`, and creates the file if needed. Resolves with undefined if neither is set; runs
 * are then not recorded.
 */
export async function openJournal(flags: Flags, io: CliIO): Promise<OpenJournal | undefined> {
  const file = fileOf(flags, io)
  return file === undefined ? undefined : open(file, io, false)
}

/**
 * Opens an existing journal. With `adopt`, the journal may be a copy whose original is in use. Rejects with `invalid_option` if there is no
 * journal.
 */
export async function openExistingJournal(flags: Flags, io: CliIO, { adopt = false }: { adopt?: boolean } = {}): Promise<OpenJournal> {
  const file = fileOf(flags, io)
  if (file !== undefined && existsSync(resolve(io.cwd, file))) return open(file, io, adopt)
  const got = file === undefined ? 'neither it nor TOOLLOOP_JOURNAL' : `${file}, which does not exist`
  throw new ToolloopError(
    'invalid_option',
    `Expected \`--journal\` to name the file in which \`toolloop run\` recorded its runs, got ${got}`,
  )
}

/** The path of the journal, as given by the option or the environment. */
function fileOf({ journal }: Flags, { env }: CliIO): string | undefined {
  return (journal ?? env.TOOLLOOP_JOURNAL) || undefined
}

async function open(file: string, { cwd }: CliIO, adopt: boolean): Promise<OpenJournal> {
  const { sqliteJournal } = await import('../../journals/sqlite/index.ts')
  // A command executes only the runs that it was asked to execute, so it never takes over runs of other processes.
  const journal = sqliteJournal({ file: resolve(cwd, file), adopt, takeOverEveryMs: Number.POSITIVE_INFINITY })
  return { journal, close: () => journal.close() }
}
