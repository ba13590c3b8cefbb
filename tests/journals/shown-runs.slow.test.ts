import { afterAll, beforeAll, describe, onTestFinished } from 'vitest'
import { storeJournal } from '../../src/agent/journal/store-journal.ts'
import { createLogger } from '../../src/core/logger.ts'
import { DbosStore } from '../../src/journals/dbos/dbos-store.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'
import { describeShownRuns } from './shown-runs-contract.ts'

describe.runIf(hasPostgres)('in PostgreSQL', () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres.stop())

  let places = 0
  const open = async (schema = `shown${++places}`) => {
    const { url } = postgres
    const options = {
      url,
      agent: 'service',
      schema,
      connections: 13,
      outageMs: 5_000,
      launch: true,
      logger: createLogger({ level: 'silent' }),
    }
    const store = new DbosStore(options)
    const journal = storeJournal(store)
    onTestFinished(() => journal.close())
    return { shown: store.shown, journal }
  }
  describeShownRuns('beside DBOS', () => open())
})
