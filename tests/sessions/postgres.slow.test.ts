import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import {
  type PostgresClient,
  type PostgresPool,
  type PostgresSessionsOptions,
  postgresSessions,
} from '../../src/sessions/postgres/index.ts'
import { testSessions } from '../../src/testing/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'

const model = scriptedModel(({ messages }) => `heard ${messages.length}`)
const logger = { debug() {}, info() {}, warn() {}, error() {} }

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let server: Postgres
  let pool: Pool
  let made = 0

  beforeAll(async () => {
    server = await startPostgres()
    pool = new Pool({ connectionString: server.url })
    // A restart of the server closes idle connections.
    pool.on('error', () => {})
  }, 60_000)

  afterAll(async () => {
    await pool.end()
    await server.stop()
  })

  const place = async (options: Partial<PostgresSessionsOptions> = {}) => {
    const schema = `sessions? "${++made}"`
    await postgresSessions({ pool, schema }).migrate()
    return { schema, open: () => postgresSessions({ pool, schema, ...options }) }
  }

  testSessions(
    'postgresSessions',
    async () => {
      const { open, schema } = await place()
      return { open, remove: async () => void (await pool.query(`DROP SCHEMA "${schema.replaceAll('"', '""')}" CASCADE`)) }
    },
    { describe, it, expect },
  )

  it('creates or changes nothing without `migrate`, which any number of processes may call', async () => {
    const schema = 'not yet'
    const sessions = postgresSessions({ pool, schema })
    await expect(sessions.get('chat')).rejects.toMatchObject({
      code: 'session_failed',
      message: expect.stringMatching(
        /^Expected the schema `not yet` to have the tables of sessions, of version \d+, got none: call `migrate\(\)`$/,
      ),
    })
    expect((await pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).rows).toEqual([])
    await Promise.all([sessions, postgresSessions({ pool, schema }), postgresSessions({ pool, schema })].map((one) => one.migrate()))
    expect(await sessions.list()).toEqual({ sessions: [] })
    await pool.query('UPDATE "not yet".session_schema SET version = 99')
    const newer = postgresSessions({ pool, schema })
    await expect(newer.get('chat')).rejects.toMatchObject({
      message: expect.stringMatching(/version \d+ or older, got 99: a newer toolloop/),
    })
    await expect(newer.migrate()).rejects.toMatchObject({ code: 'session_failed' })
  })

  it('makes one fork if many processes fork to the same id at once', async () => {
    const { open } = await place()
    const sessions = open()
    await sessions.append('original', [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
    ])
    for (let round = 0; round < 10; round++) {
      const to = `fork ${round}`
      const forks = await Promise.allSettled(Array.from({ length: 8 }, () => sessions.fork('original', { to })))
      expect(forks.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await sessions.read(to)).toHaveLength(2)
    }
  })

  it('only needs a role that can read and write the tables', async () => {
    const { schema } = await place()
    const name = `"${schema.replaceAll('"', '""')}"`
    await pool.query(
      `CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA ${name} TO app; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO app`,
    )
    const app = new Pool({ connectionString: server.url.replace('toolloop@', 'app@') })
    const sessions = postgresSessions({ pool: app, schema })
    const runner = new AgentRunner({ model, sessions })
    expect((await runner.run('hi', { session: 'chat' })).output).toBe('heard 1')
    // It is up to date, so it needs no further permissions.
    await sessions.migrate()
    await app.end()
  })

  it('reports a damaged message with its session and position, and returns the others', async () => {
    const { open, schema } = await place()
    const sessions = open()
    const runner = new AgentRunner({ model, sessions })
    for (const session of ['good', 'bad']) await runner.run('hi', { session })
    const table = `"${schema.replaceAll('"', '""')}".session_messages`
    await pool.query(`UPDATE ${table} SET value = '{"role":' WHERE at = 1 AND session = 2`)
    await expect(runner.run('again', { session: 'bad' })).rejects.toMatchObject({
      code: 'session_failed',
      message: expect.stringMatching(/^The message 1 of session `bad` can’t be read: /),
    })
    expect((await runner.run('again', { session: 'good' })).output).toBe('heard 3')
    expect((await sessions.get('bad'))?.status).toBe('idle')
  })

  it('loses no run and stores none twice if the server is killed and restarted', async () => {
    const { open } = await place()
    const sessions = open()
    const runner = new AgentRunner({ model, sessions, logger })
    const work = async (session: string): Promise<void> => {
      for (let at = 0; at < 25; at++) await runner.run(`run ${at}`, { session })
    }
    const all = Promise.all(Array.from({ length: 8 }, (_, at) => work(`chat-${at}`)))
    for (let kill = 0; kill < 3; kill++) {
      await runner.run('beside', { session: `beside-${kill}` })
      await server.kill()
      await server.restart()
    }
    await all
    for (let at = 0; at < 8; at++) {
      const messages = await sessions.read(`chat-${at}`)
      expect(messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(
        Array.from({ length: 25 }, (_, run) => `run ${run}`),
      )
    }
  })

  it('gives the session of a process that hangs beyond its lease to the next one, and the first can’t store any more', async () => {
    const { schema, open } = await place({ leaseMs: 400 })
    const child = spawn(process.execPath, [fileURLToPath(new URL('slow-process.ts', import.meta.url)), server.url, schema], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit')
    child.stdout.setEncoding('utf8')
    await once(child.stdout, 'data')
    const sessions = open()
    const runner = new AgentRunner({ model, sessions, logger })
    await expect(runner.run('me', { session: { id: 'chat', onBusy: 'refuse' } })).rejects.toMatchObject({ code: 'session_busy' })
    child.kill('SIGSTOP')
    expect((await runner.run('me', { session: 'chat' })).output).toBe('heard 1')
    child.kill('SIGCONT')
    const said = once(child.stdout, 'data')
    child.stdin.end('go on')
    expect(String((await said)[0]).trim()).toBe('session_lost')
    await exit
    expect((await sessions.read('chat')).map(({ content }) => content)).toEqual(['me', 'heard 1'])
  })

  it('H59 blocks nobody longer than a lease if a process hangs during a transaction', async () => {
    const { schema, open } = await place({ leaseMs: 400 })
    const inside = Promise.withResolvers<void>()
    const continues = Promise.withResolvers<void>()
    /** Hangs before it changes the session that it has locked. */
    const still: PostgresPool = {
      query: (text, values) => pool.query(text, values),
      connect: (callback) =>
        pool.connect((error, client) => {
          if (client === undefined) return callback(error, undefined)
          const standing: PostgresClient = {
            on(event, listener) {
              client.on(event, listener)
              return this
            },
            off: (event, listener) => client.off(event, listener),
            release: (broken) => client.release(broken),
            query: async (text, values) => {
              if (text.startsWith('UPDATE')) {
                inside.resolve()
                await continues.promise
              }
              return client.query(text, values)
            },
          }
          callback(undefined, standing)
        }),
    }
    const first = postgresSessions({ pool: still, schema, leaseMs: 400 })
    const early = first.store.claim('chat', { runId: 'run', durable: true, epoch: 1 })
    await inside.promise
    const sessions = open()
    const late = await sessions.store.claim('chat', { runId: 'run', durable: true, epoch: 2 })
    expect(late.kind).toBe('claimed')
    continues.resolve()
    expect(await early).toEqual({ kind: 'taken_over', runId: 'run' })
  })

  it('P1.11 does not end the process if idle connections of a pool without listeners are lost', async () => {
    const { schema } = await place()
    const silent = new Pool({ connectionString: server.url, application_name: 'silent' })
    const sessions = postgresSessions({ pool: silent, schema })
    await sessions.append('chat', [{ role: 'user', content: 'hi' }])
    const lost = new Promise((resolve) => silent.once('remove', resolve))
    await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'silent'")
    await lost
    expect((await sessions.read('chat')).length).toBe(1)
    await silent.end()
  })

  it('lets a living process keep its session for many times its lease', async () => {
    const { open } = await place({ leaseMs: 300 })
    const { promise, resolve } = Promise.withResolvers<string>()
    const begun = Promise.withResolvers<void>()
    const slow = scriptedModel([
      () => {
        begun.resolve()
        return promise
      },
    ])
    const first = new AgentRunner({ model: slow, sessions: open(), logger }).run('slow', { session: 'chat' })
    await begun.promise
    const second = new AgentRunner({ model, sessions: open(), logger })
    const until = Date.now() + 1_500
    while (Date.now() < until) {
      await expect(second.run('me', { session: { id: 'chat', onBusy: 'refuse' } })).rejects.toMatchObject({ code: 'session_busy' })
    }
    resolve('done')
    expect((await first).output).toBe('done')
  })

  it('handles 1,000 sessions at once', async () => {
    const { open } = await place()
    const runner = new AgentRunner({ model, sessions: open(), logger })
    for (const heard of ['heard 1', 'heard 3']) {
      const results = await Promise.all(Array.from({ length: 1_000 }, (_, at) => runner.run(`run ${at}`, { session: `chat-${at}` })))
      expect(new Set(results.map(({ output }) => output))).toEqual(new Set([heard]))
    }
  })

  it('treats an expired session as missing, and creates it again', async () => {
    const { open } = await place({ expireAfterMs: 1 })
    const sessions = open()
    const runner = new AgentRunner({ model, sessions })
    expect((await runner.run('hi', { session: 'chat' })).output).toBe('heard 1')
    await expect.poll(() => sessions.get('chat')).toBe(undefined)
    expect((await runner.run('hi', { session: 'chat' })).output).toBe('heard 1')
  })
})
