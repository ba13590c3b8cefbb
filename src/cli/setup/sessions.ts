import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Sessions } from '../../agent/sessions/sessions.ts'
import type { RunResult } from '../../agent/types.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { Flags } from '../flags.ts'
import type { CliIO } from '../terminal/terminal.ts'

/** The conversation of `--session`, or of `--resume`. */
export interface OpenSession {
  id: string
  sessions: Sessions
  close(): Promise<void>
}

/**
 * Opens the conversations of the current folder; undefined without `--session` and `--resume`. With `--session` the file is made if it is not
 * there, readable for its owner alone. Rejects with `invalid_option` where there is none to resume.
 */
export async function openSession({ session: id, resume }: Flags, { cwd }: CliIO): Promise<OpenSession | undefined> {
  if (id === undefined && !resume) return undefined
  if (id !== undefined && resume) throw new InvalidOptionError('--resume', 'without `--session`, which names the conversation')
  const file = join(cwd, '.toolloop/sessions.sqlite')
  const none = new InvalidOptionError('--resume', 'used where a conversation was kept: `--session NAME` keeps one')
  if (id === undefined && !existsSync(file)) throw none
  const { sqliteSessions } = await import('../../sessions/sqlite/index.ts')
  const sessions = sqliteSessions({ file })
  const last = id ?? (await sessions.list({ limit: 1 })).sessions[0]?.id
  if (last !== undefined) return { id: last, sessions, close: () => sessions.close() }
  await sessions.close()
  throw none
}

/** Frees the conversation from a run that was aborted while it waited for a decision. What it had come to stays. */
export async function releaseAborted({ stopReason }: RunResult, session: OpenSession | undefined): Promise<void> {
  if (stopReason !== 'aborted' || session === undefined) return
  const { id, sessions } = session
  if ((await sessions.get(id))?.status === 'waiting') await sessions.release(id)
}
