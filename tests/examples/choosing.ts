import { join } from 'node:path'
import { Pool } from 'pg'
import { AgentRunner, memorySessions } from '../../src/index.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { postgresSessions } from '../../src/sessions/postgres/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'

/** Where runs and conversations are stored: in PostgreSQL, in files, or in memory. */
function chooseStorage({ DATABASE_URL: url, DATA_FOLDER: folder }: NodeJS.ProcessEnv) {
  if (url !== undefined) return { journal: dbosJournal({ url }), sessions: postgresSessions({ pool: new Pool({ connectionString: url }) }) }
  if (folder !== undefined) {
    return {
      journal: sqliteJournal({ file: join(folder, 'runs.sqlite') }),
      sessions: sqliteSessions({ file: join(folder, 'sessions.sqlite') }),
    }
  }
  return { sessions: memorySessions() }
}

const runner = new AgentRunner({ model: process.env.MODEL ?? 'demo', ...chooseStorage(process.env) })
const { stopReason } = await runner.run('How much is 17 * 23?', { session: 'user-1' })
console.log(stopReason)
