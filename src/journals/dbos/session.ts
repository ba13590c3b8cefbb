import type { Client } from 'pg'
import { ToolloopError } from '../../core/errors.ts'
import type { Database } from './database.ts'

/** How long a connection may wait for a session that another transaction has, in milliseconds: one of its own answers at once. */
const answerMs = 2_000

/**
 * Rejects with `journal_failed` if a pooler gives this connection another session of the server for each transaction, as PgBouncer does in transaction
 * mode: a lock would stay with a session, whoever has that, and nobody would be found dead.
 */
export async function checkSession(client: Client, database: Database): Promise<void> {
  const session = async () => Number((await client.query('SELECT pg_backend_pid() AS pid')).rows[0]?.pid)
  const first = await session()
  // A pooler does not say at log-in which process of the server it will use.
  if (!('processID' in client) || client.processID === first) return
  const isShared = await database.transaction(async (query) => {
    // From here on the transaction has a session, perhaps the one that this connection had.
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
