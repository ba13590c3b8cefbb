import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { storeJournal } from '../../src/agent/durable/store-journal.ts'
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

  it('a run is found by its title where a process of an earlier version, which is still there after an update, has written it', async () => {
    const { shown } = await open('older')
    await shown.begin({ runId: 'a', caller: 'ann', agent: 'service', createdAt: 1, title: 'First', head: '{}' }, { attempt: 'here' })
    const client = new Client(postgres.url)
    await client.connect()
    onTestFinished(() => client.end())
    await client.query(`UPDATE older.shown_runs SET title = 'Second' WHERE id = 'a'`)
    const columns = 'id, caller, agent, status, attempt, created_at, title, head, words'
    await client.query(`INSERT INTO older.shown_runs (${columns}) VALUES ('b', 'ann', 'service', 'running', 'there', 2, 'Third', '{}', '')`)
    const found = async (word: string) => (await shown.list({ words: [word], limit: 9 })).runs.map(({ runId }) => runId)
    expect([await found('second'), await found('third')]).toEqual([['a'], ['b']])
  })
})
