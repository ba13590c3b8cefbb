import { Pool } from 'pg'
import { AgentRunner, memorySessions, ToolloopError } from '../../src/index.ts'
import { postgresSessions } from '../../src/sessions/postgres/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

/** In PostgreSQL, or, on a developer's machine without one, in memory. */
async function openSessions(connectionString: string | undefined) {
  if (connectionString === undefined) return memorySessions()
  const sessions = postgresSessions({ pool: new Pool({ connectionString }), expireAfterMs: 90 * 24 * 3_600_000 })
  await sessions.migrate()
  return sessions
}

const runner = new AgentRunner({ model: scriptedModel(['One moment.', 'Yes.']), sessions: await openSessions(process.env.DATABASE_URL) })
const first = runner.run('Is it raining?', { session: 'chat-1' })
// Sent before the first run has ended: refused at once, so that a page can say so.
const second = runner.run('Hello?', { session: { id: 'chat-1', onBusy: 'refuse' } }).catch((error: unknown) => error)
const error = await second
if (ToolloopError.isInstance(error)) console.log(error.code)
console.log((await first).output)
