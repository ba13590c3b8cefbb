import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Sessions } from '../../agent/sessions/sessions.ts'
import type { RunResult } from '../../agent/types/options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { Flags } from '../flags.ts'
import type { CliIO } from '../terminal/terminal.ts'

/** The conversation of `--session` or `--resume`. */
export interface OpenSession {
  id: string
  sessions: Sessions
  close(): Promise<void>
}

/**
 * Opens the conversations of the current folder. Undefined without `--session` and `--resume`. With `--session`, creates the file if
 * needed, readable only by its owner. Rejects with `invalid_option` if there is no conversation to resume.
 */
export async function openSession({ session: id, resume }: Flags, { cwd }: CliIO): Promise<OpenSession | undefined> {
  if (id === undefined && !resume) return undefined
  if (id !== undefined && resume) throw new InvalidOptionError('--resume', 'without `--session`, which names the conversation')
  const file = fileIn(cwd)
  const none = new InvalidOptionError('--resume', 'used where a conversation was kept: `--session NAME` keeps one')
  if (id === undefined && !existsSync(file)) throw none
  const { sqliteSessions } = await import('../../sessions/sqlite/index.ts')
  const sessions = sqliteSessions({ file })
  const last = id ?? (await sessions.list({ limit: 1 })).sessions[0]?.id
  if (last !== undefined) return { id: last, sessions, close: () => sessions.close() }
  await sessions.close()
  throw none
}

/** Opens the stored conversations of the current folder, for runs that may belong to one of them. Undefined if there are none. */
export async function openKeptSessions({ cwd }: CliIO): Promise<Sessions | undefined> {
  if (!existsSync(fileIn(cwd))) return undefined
  const { sqliteSessions } = await import('../../sessions/sqlite/index.ts')
  return sqliteSessions({ file: fileIn(cwd) })
}

function fileIn(folder: string): string {
  return join(folder, '.toolloop/sessions.sqlite')
}

/**
 * Releases the conversation from a run that nobody will decide: one that was aborted while it waited, or that waits without a journal to
 * find it in. Keeps its progress.
 */
export async function releaseUndecided({ stopReason }: RunResult, session: OpenSession | undefined, hasJournal = false): Promise<void> {
  if (session === undefined || (stopReason !== 'aborted' && (stopReason !== 'paused' || hasJournal))) return
  const { id, sessions } = session
  if ((await sessions.get(id))?.status === 'waiting') await sessions.release(id)
}
