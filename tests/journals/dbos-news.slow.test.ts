import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { hasPostgres, startPostgres } from '../postgres.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }

it.skipIf(!hasPostgres)(
  'dbosJournal reads only new steps for a run that another process executes, in whatever order its calls are recorded',
  { timeout: 60_000 },
  async () => {
    await using postgres = await startPostgres()
    let received = 0
    const proxy = createServer((client) => {
      const server = connect({ port: Number(new URL(postgres.url).port), host: new URL(postgres.url).hostname })
      for (const [from, to] of [
        [client, server],
        [server, client],
      ] as const)
        from.pipe(to).on('error', () => from.destroy())
      server.on('data', ({ length }) => (received += length))
    })
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    const url = new URL(postgres.url)
    url.hostname = '127.0.0.1'
    url.port = String((proxy.address() as AddressInfo).port)
    const gates = ['a', 'b'].map(() => Promise.withResolvers<string>())
    const begun = Promise.withResolvers<void>()
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      effect: 'idempotent',
      parameters: { type: 'object', properties: { n: { type: 'integer' } } },
      execute: ({ n = 0 }: { n?: number }) => {
        if (n === 1) begun.resolve()
        return gates[n]?.promise
      },
    })
    const toolCalls = [0, 1].map((n) => ({ name: 'wait', arguments: { n } }))
    const model = scriptedModel([{ text: 'x'.repeat(200_000), toolCalls }, 'done'])
    const [journal, other] = ['executes', 'follows'].map(() =>
      dbosJournal({ url: url.href, agent: 'followed', logger, takeOverEveryMs: Number.POSITIVE_INFINITY }),
    )
    if (journal === undefined || other === undefined) throw new Error('No journal')
    const run = new AgentRunner({ model, tools: [wait], logger, journal }).run('go', { runId: 'run' })
    await begun.promise
    const engine = other.connect(async () => null)
    const known: string[] = []
    const look = async () => {
      const { steps = [] } = (await engine.news?.('run', known)) ?? {}
      known.push(...steps.map(([key]) => key))
      return steps.map(([key]) => key)
    }
    await expect.poll(look).toContain('1.model')
    const before = received
    for (let times = 0; times < 20; times++) expect(await look()).toEqual([])
    expect(received - before).toBeLessThan(200_000)
    gates[1]?.resolve('second')
    await expect.poll(look).toEqual(['1.tool.1'])
    gates[0]?.resolve('first')
    await expect.poll(look).toContain('1.tool.0')
    expect((await run).output).toBe('done')
    expect(new Set(known).size).toBe(known.length)
    await Promise.all([journal.close(), other.close()])
    proxy.close()
  },
)

it.skipIf(!hasPostgres)(
  'dbosJournal misses no call for a follower if the run continues in another process, whose first calls are recorded in any order',
  { timeout: 60_000 },
  async () => {
    await using postgres = await startPostgres()
    const open = () => dbosJournal({ url: postgres.url, agent: 'followed', logger, takeOverEveryMs: Number.POSITIVE_INFINITY })
    const gates = [0, 1].map(() => Promise.withResolvers<string>())
    const model = scriptedModel([{ toolCalls: [0, 1].map((n) => ({ name: 'wait', arguments: { n } })) }, 'done'])
    const waiting = () => {
      const begun = Promise.withResolvers<void>()
      const wait = defineTool({
        name: 'wait',
        description: 'Waits.',
        effect: 'idempotent',
        parameters: { type: 'object', properties: { n: { type: 'integer' } } },
        execute: ({ n = 0 }: { n?: number }) => {
          if (n === 1) begun.resolve()
          return gates[n]?.promise
        },
      })
      return { wait, begun: begun.promise }
    }
    const [first, second] = [waiting(), waiting()]
    const [leaves, continues, follows] = [open(), open(), open()]
    const left = new AgentRunner({ model, tools: [first.wait], logger, journal: leaves }).run('go', { runId: 'run' })
    const isLeft = expect(left).rejects.toThrow('it was closed')
    await first.begun
    await leaves.close()
    await isLeft
    const run = new AgentRunner({ model, tools: [second.wait], logger, journal: continues }).resume('run')
    await second.begun
    const engine = follows.connect(async () => null)
    const known: string[] = []
    const look = async () => {
      const { steps = [] } = (await engine.news?.('run', known)) ?? {}
      known.push(...steps.map(([key]) => key))
      return known
    }
    gates[1]?.resolve('second')
    await expect.poll(look).toContain('1.tool.1')
    gates[0]?.resolve('first')
    await expect.poll(look).toContain('1.tool.0')
    expect((await run).output).toBe('done')
    await Promise.all([continues.close(), follows.close()])
  },
)
