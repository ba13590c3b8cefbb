import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'
import { startPooler } from '../transaction-pooler.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A way to the server in this very process, so that a reset has arrived before what came in front of it is read. */
async function startWay(target: string) {
  const { hostname, port, username, pathname } = new URL(target)
  const sockets = new Set<Socket>()
  /** Which connections, by their number, are reset as soon as the server has taken them. */
  const doomed = new Set<number>()
  let made = 0
  const server = createServer((client) => {
    const isDoomed = doomed.has(++made)
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    client.on('data', (chunk) => upstream.write(chunk)).on('end', () => upstream.end())
    upstream
      .on('data', (chunk) => {
        client.write(chunk)
        // "Ready for query, idle" ends what the server says at log-in.
        if (!isDoomed || !chunk.toString('latin1').endsWith('Z\0\0\0\x05I')) return
        client.resetAndDestroy()
        upstream.destroy()
      })
      .on('end', () => client.end())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const at = typeof address === 'object' ? address?.port : undefined
  return {
    url: `postgresql://${username}@127.0.0.1:${at}${pathname}`,
    doomed,
    get made() {
      return made
    },
    resetAll: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

describe.runIf(hasPostgres)('connections of `dbosJournal`', () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres.stop())

  it('P1.11 a connection that is reset while pools are opened does not end the process', async () => {
    const uncaught: unknown[] = []
    const note = (error: unknown) => void uncaught.push(error)
    process.on('uncaughtExceptionMonitor', note)
    for (let doomed = 1, isLast = false; !isLast; doomed++) {
      const way = await startWay(postgres.url)
      way.doomed.add(doomed)
      const journal = dbosJournal({ url: way.url, agent: `reset ${doomed}`, logger })
      try {
        const runner = new AgentRunner({ model: scriptedModel(() => 'done'), journal, logger })
        const runs = await Promise.all(Array.from({ length: 6 }, (_, at) => runner.run('go', { runId: `run ${at}` })))
        expect([doomed, new Set(runs.map(({ output }) => output)), uncaught]).toEqual([doomed, new Set(['done']), []])
        // Every one of them had its turn.
        isLast = way.made < doomed
      } finally {
        await journal.close()
        await way.close()
      }
    }
    process.off('uncaughtExceptionMonitor', note)
  })

  it('P1.11 repeated resets of all connections only pause runs', async () => {
    const way = await startWay(postgres.url)
    const journal = dbosJournal({ url: way.url, agent: 'resets', logger, takeOverEveryMs: 100 })
    try {
      let asked = 0
      const model = scriptedModel(() => {
        if (++asked % 3 === 0) way.resetAll()
        return 'done'
      })
      const runner = new AgentRunner({ model, journal, logger })
      const runs = Array.from({ length: 30 }, (_, at) => runner.run('go', { runId: `run ${at}` }))
      const outputs = await Promise.allSettled(runs)
      // A process that has lost its run, because its lock was lost for too long, gets an error; nothing is left behind.
      await runner.recover()
      for (const [at] of outputs.entries()) expect((await runner.runs.get(`run ${at}`))?.stopReason).toBe('answered')
    } finally {
      await journal.close()
      await way.close()
    }
  })

  it('P1.11 a pooler that shares sessions between transactions is refused when the journal is opened; any other is accepted', async () => {
    for (const [mode, most] of [
      ['transaction', 10],
      ['transaction', 1],
      ['session', 30],
    ] as const) {
      await using pooler = await startPooler(postgres.url, mode, most)
      const open = async () => {
        const journal = dbosJournal({ url: pooler.url, agent: `${mode} ${most}`, logger })
        const run = new AgentRunner({ model: scriptedModel(['done']), journal, logger }).run('go', { runId: 'run' })
        const got = await run.then(
          ({ output }) => output,
          ({ code, message }) => `${code}: ${message}`,
        )
        await journal.close()
        return got
      }
      const got = await open()
      const refused =
        'journal_failed: Expected the journal’s `url` to lead to PostgreSQL itself, or to a pooler in session mode, got a pooler that'
      if (mode === 'session') expect(got).toBe('done')
      else expect(got.slice(0, refused.length)).toBe(refused)
      // The sessions still have what was prepared the first time.
      if (mode === 'transaction') expect(await open()).toMatch(/^journal_failed: .* pooler in session mode/)
    }
  })
})
