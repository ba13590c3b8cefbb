import { join } from 'node:path'
import type { Sessions } from '../../agent/sessions/sessions.ts'
import type { Flags } from '../flags.ts'
import type { CliIO } from '../terminal/terminal.ts'

/** The conversation of `--session`. */
export interface OpenSession {
  id: string
  sessions: Sessions
  close(): Promise<void>
}

/** Opens the conversations of the current folder; undefined without `--session`. The file is made if it is not there, readable for its owner alone. */
export async function openSession({ session: id }: Flags, { cwd }: CliIO): Promise<OpenSession | undefined> {
  if (id === undefined) return undefined
  const { sqliteSessions } = await import('../../sessions/sqlite/index.ts')
  const sessions = sqliteSessions({ file: join(cwd, '.toolloop/sessions.sqlite') })
  return { id, sessions, close: () => sessions.close() }
}
