import type { Client } from 'pg'
import { ToolloopError } from '../../core/errors.ts'
import type { Database } from './database.ts'

/**
 * How long to wait for an answer of a session that may be busy with another transaction, in milliseconds. A session that is not shared
 * answers at once.
 */
const answerMs = 2_000

/**
 * Checks whether the connection goes through a pooler. Rejects with `journal_failed` if the pooler may run each transaction in a different
 * server session, like PgBouncer in transaction mode. A lock would then belong to a session that other clients reuse, and no owner would
 * ever count as dead.
 */
export async function checkSession(client: Client, database: Database): Promise<void> {
  const session = async () => Number((await client.query('SELECT pg_backend_pid() AS pid')).rows[0]?.pid)
  const first = await session()
  // With a direct connection, the process id announced at login is that of the session. A pooler can't announce which server process it
  // will use.
  if (!('processID' in client) || client.processID === first) return
  const isShared = await database.transaction(async (query) => {
    // This statement makes the pooler assign a session to the transaction. It may be the session that `client` had before.
    await query('SELECT 1')
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(resolve, answerMs, true)
    session().then(
      (second) => resolve(second !== first),
      () => resolve(true),
    )
    return promise.finally(() => clearTimeout(timer))
  })
  if (!isShared) return
  const got = 'a pooler that shares sessions between transactions, as PgBouncer does in transaction mode'
  throw new ToolloopError(
    'journal_failed',
    `Expected the journal’s \`url\` to lead to PostgreSQL itself, or to a pooler in session mode, got ${got}`,
  )
}
