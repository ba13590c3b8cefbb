import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { storeJournal } from '../../src/agent/journal/store-journal.ts'
import { createLogger } from '../../src/core/logger.ts'
import { Database } from '../../src/journals/dbos/database.ts'
import { DbosStore } from '../../src/journals/dbos/dbos-store.ts'
import { loadDbos } from '../../src/journals/dbos/load-dbos.ts'
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

  it('mayTidy: one process of several has the turn in each period, also after another has died', async () => {
    const [first, second] = [await open('turns'), await open('turns')]
    const periodMs = 1_000_000_000
    expect([await first.shown.mayTidy?.(periodMs), await second.shown.mayTidy?.(periodMs)]).toEqual([true, false])
    expect(await second.shown.mayTidy?.(1)).toBe(true)
    await first.journal.close()
    expect(await second.shown.mayTidy?.(periodMs)).toBe(true)
  })

  it('prepared statements stay usable after another process has added columns to their tables', async () => {
    const { shown, journal } = await open('grown')
    const engine = journal.connect(async ({ runId }) => ({ runId, stopReason: 'paused', pending: [{ place: 'go' }] }))
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    for (const runId of ['before', 'after']) {
      await shown.begin({ runId, caller: 'ada', agent: 'a', tags: [], title: 'hi', createdAt: 0, head: '{}' }, { attempt: 'one' })
      // As often as each connection is used.
      for (let use = 0; use < 10; use++) {
        await engine.start(`${runId} ${use}`, null)
        expect(await engine.result(`${runId} ${use}`)).toMatchObject({ stopReason: 'paused' })
        await engine.deliver(`${runId} ${use}`, { go: true })
        expect(await engine.get?.(`${runId} ${use}`)).toMatchObject({ status: 'waiting' })
        expect(await shown.get(runId)).toMatchObject({ runId })
        expect((await shown.list({ limit: 1 })).runs).toHaveLength(1)
      }
      if (runId === 'before')
        for (const table of ['runs', 'shown_runs']) await client.query(`ALTER TABLE grown.${table} ADD COLUMN later text`)
    }
    await client.end()
  })

  const connect = () => {
    const database = new Database(loadDbos().pg, { url: postgres.url, connections: 1, outageMs: 5_000 })
    onTestFinished(() => database.pool.end())
    return database
  }

  it('prepared statements have the same names in every process, because a pooler may share sessions', async () => {
    const [one, other] = [connect(), connect()]
    await other.query('SELECT $1 AS earlier', ['a'])
    for (const database of [one, other]) await database.query('SELECT $1 AS later', ['a'])
    const named = 'SELECT name FROM pg_prepared_statements WHERE statement LIKE $1'
    const names = [await one.query(named, ['%later']), await other.query(named, ['%later'])]
    expect(names[0]).toEqual([{ name: expect.any(String) }])
    expect(names[1]).toEqual(names[0])
  })

  it('prepares statements with few values, whatever the number of lists of other lengths', async () => {
    const database = connect()
    const places = (length: number) => Array.from({ length }, (_, at) => `$${at + 1}`).join(', ')
    for (let length = 1; length <= 300; length++) await database.query(`SELECT 1 WHERE 'a' IN (${places(length)})`, Array(length).fill('a'))
    await database.query('SELECT $1 AS later', ['a'])
    const prepared = (await database.query('SELECT statement FROM pg_prepared_statements')).map(({ statement }) => statement)
    expect(prepared).toContain('SELECT $1 AS later')
    expect(prepared.length).toBeLessThan(50)
  })
})
