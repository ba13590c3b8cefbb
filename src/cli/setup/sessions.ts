import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Sessions } from '../../agent/sessions/sessions.ts'
import type { RunResult } from '../../agent/types/options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { Flags } from '../flags.ts'
import type { CliIO } from '../terminal/terminal.ts'

export interface OpenSession {
  id: string
  sessions: Sessions
  close(): Promise<void>
}

/**
 * Opens the conversation of `--session`. Creates the file if needed, readable only by its owner. Resolves with undefined if the option is
 * absent.
 */
export async function openSession({ session: id }: Flags, { cwd }: CliIO): Promise<OpenSession | undefined> {
  if (id === undefined) return undefined
  const sessions = await openSessions(cwd)
  return { id, sessions, close: () => sessions.close() }
}

/** Opens the conversations of a folder. Creates the file if needed, readable only by its owner, in a folder that Git ignores. */
export async function openSessions(folder: string): Promise<Sessions> {
  const file = fileIn(folder)
  if (!existsSync(file)) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    // The flag `wx` leaves an existing file unchanged.
    await writeFile(join(dirname(file), '.gitignore'), '*\n', { flag: 'wx' }).catch(() => {})
  }
  const { sqliteSessions } = await import('../../sessions/sqlite/index.ts')
  return sqliteSessions({ file })
}

/** Opens the stored conversations of a folder. Resolves with undefined if the folder has no stored conversations. */
export async function openKeptSessions({ cwd }: Pick<CliIO, 'cwd'>): Promise<Sessions | undefined> {
  return existsSync(fileIn(cwd)) ? openSessions(cwd) : undefined
}

/** Opens the stored conversations for `--resume`. Rejects with `invalid_option` if there is no conversation to resume. */
export async function openForResume({ session }: Flags, { cwd }: CliIO): Promise<Sessions> {
  if (session !== undefined) throw new InvalidOptionError('--resume', 'without `--session`, which names the conversation')
  const sessions = await openKeptSessions({ cwd })
  if (sessions !== undefined && (await sessions.list({ limit: 1 })).sessions.length > 0) return sessions
  await sessions?.close()
  throw new InvalidOptionError(
    '--resume',
    'used where a conversation was kept: a chat on a terminal keeps one, and so does `--session NAME`',
  )
}

function fileIn(folder: string): string {
  return join(folder, '.toolloop/sessions.sqlite')
}

/**
 * If a conversation's run waits for decisions that nobody can make any more, lets the conversation continue. Nobody can decide if the run
 * was aborted, or if no journal stores it. The conversation keeps the messages of the run.
 */
export async function releaseUndecided(
  { stopReason }: RunResult,
  session: Pick<OpenSession, 'id' | 'sessions'> | undefined,
  hasJournal = false,
): Promise<void> {
  if (session === undefined || (stopReason !== 'aborted' && (stopReason !== 'paused' || hasJournal))) return
  const { id, sessions } = session
  if ((await sessions.get(id))?.status === 'waiting') await sessions.release(id)
}
