import type { Client } from 'pg'
import { ToolloopError } from '../../core/errors.ts'
import type { Database } from './database.ts'

/**
 * How long to wait for the session to answer, in milliseconds. A session that takes longer is shared: it is busy with another transaction.
 */
const answerMs = 2_000

/**
 * Rejects with `journal_failed` if the connection goes through a pooler that may run each transaction in a different server session, like
 * PgBouncer in transaction mode. The lock of an owner would then belong to a session that outlives the owner.
 */
export async function checkSession(client: Client, database: Database): Promise<void> {
  const session = async () => Number((await client.query('SELECT pg_backend_pid() AS pid')).rows[0]?.pid)
  const first = await session()
  // A server announces the process id of the session at login. A pooler announces another id, because it has not assigned a session yet.
  if (!('processID' in client) || client.processID === first) return
  const isShared = await database.transaction(async (query) => {
    // Makes the pooler assign a session to this transaction. If sessions are shared, this may be the session that `client` had before.
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
