import { once } from 'node:events'
import { Pool } from 'pg'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { postgresSessions } from '../../src/sessions/postgres/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

/** Starts a run in session `chat`, and ends it when input arrives. `node slow-process.ts <url> <schema>` */
const [connectionString = '', schema = ''] = process.argv.slice(2)
const pool = new Pool({ connectionString })
const sessions = postgresSessions({ pool, schema, leaseMs: 400 })
const model = scriptedModel([
  async () => {
    console.log('begun')
    await once(process.stdin, 'data')
    return 'late'
  },
])
const ended = await new AgentRunner({ model, sessions }).run('slow', { session: 'chat' }).then(
  ({ stopReason }) => stopReason,
  ({ code }) => code,
)
console.log(ended)
await pool.end()
process.exit(0)
