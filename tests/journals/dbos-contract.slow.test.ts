import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { testJournal } from '../../src/testing/index.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  let postgres: Postgres
  let keep: ReturnType<typeof dbosJournal>
  let places = 0
  const open = (agent: string) => dbosJournal({ url: postgres.url, agent, logger, takeOverEveryMs: Number.POSITIVE_INFINITY })

  beforeAll(async () => {
    // No test kills the server, and thousands of steps are recorded here one after the other.
    postgres = await startPostgres({ settings: { synchronous_commit: 'off' } })
    // DBOS is launched once for all, as long as one journal is open.
    keep = open('keep')
    await keep.connect(async () => null).pending()
  }, 60_000)
  afterAll(async () => {
    await keep?.close()
    await postgres?.stop()
  })

  testJournal(
    'dbosJournal',
    () => {
      const agent = `place ${++places}`
      return { open: () => open(agent) }
    },
    { describe, it: (name, work) => it(name, { timeout: 600_000 }, work), expect },
  )
})
