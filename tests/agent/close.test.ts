import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, it } from 'vitest'
import { storeJournal } from '../../src/agent/journal/store-journal.ts'
import { AgentRunner, asTool, CustomAgent, defineTool, type Journal, memorySessions, type RunnerOptions } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { SqliteStore } from '../../src/journals/sqlite/sqlite-store.ts'
import { fileOptions } from '../../src/sqlite/sqlite-file.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const { logger } = recordingLogger()
const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'close-'))
  closing.push(() => rmSync(folder, { recursive: true }))
  return folder
}

function openedIn<J extends Journal & { close(): Promise<void> }>(journal: J): J {
  closing.push(() => journal.close())
  return journal
}

const paying = () => scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'pay' }] }))

/** A tool that returns when it is let, or aborted. */
function gate() {
  const begun = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<string>()
  const keys: string[] = []
  const aborted: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    effect: 'idempotent',
    execute: (_args, { idempotencyKey, signal }) => {
      keys.push(idempotencyKey)
      begun.resolve()
      return Promise.race([
        opened.promise,
        new Promise<string>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted.push(signal.reason)
            reject(signal.reason)
          })
        }),
      ])
    },
  })
  return { pay, keys, aborted, begun: begun.promise, open: () => opened.resolve('paid') }
}

const closed = { code: 'runner_closed' }

describe('close', () => {
  it('P1.6 starts nothing any more, and says so', async () => {
    const runner = new AgentRunner({ model: paying(), journal: memoryJournal(), logger })
    await runner.close()
    await expect(runner.run('go')).rejects.toMatchObject({ ...closed, message: expect.stringContaining('The runner was closed') })
    await expect(runner.stream('go').result).rejects.toMatchObject(closed)
    await expect(runner.resume('r')).rejects.toMatchObject(closed)
    await expect(runner.resumeStream('r').result).rejects.toMatchObject(closed)
    await expect(runner.recover()).rejects.toMatchObject(closed)
    expect((await runner.runs.list()).runs).toEqual([])
    expect(runner.close()).toBe(runner.close({ drainMs: 1 }))
    for (const drainMs of [-1, Number.NaN, '1'])
      expect(() => new AgentRunner({ model: paying() }).close({ drainMs: drainMs as number })).toThrow('`drainMs` to be milliseconds ≥ 0')
  })

  it('P1.6 waits for the runs in `active`, including calls inside calls and resumed runs', async () => {
    const { pay, begun, open } = gate()
    const kept = new MemoryRuns()
    const dying = memoryJournal(kept)
    const first = gate()
    const lost = new AgentRunner({ model: paying(), tools: [first.pay], journal: dying, logger }).run('go', { runId: 'left' })
    await first.begun
    await dying.close()
    await expect(lost).rejects.toMatchObject({ code: 'journal_failed' })

    const sessions = memorySessions()
    const runner = new AgentRunner({ model: paying(), tools: [pay], journal: memoryJournal(kept), sessions, logger })
    expect(runner.active).toEqual([])
    const before = Date.now()
    const recovering = runner.recover()
    const running = runner.run('go', { runId: 'own', session: 's', metadata: { user: 7 } })
    await begun
    await expect.poll(() => runner.active.length).toBe(2)
    const startedAt = expect.any(Number)
    expect(runner.active.toSorted((a, b) => a.runId.localeCompare(b.runId))).toEqual([
      { runId: 'left', startedAt },
      { runId: 'own', startedAt, session: 's', metadata: { user: 7 } },
    ])
    expect(runner.active[0]?.startedAt).toBeGreaterThanOrEqual(before)
    let isClosed = false
    const closing = runner.close().then(() => {
      isClosed = true
    })
    await expect(runner.run('more')).rejects.toMatchObject(closed)
    expect(isClosed).toBe(false)
    open()
    expect([await running, await recovering]).toMatchObject([{ stopReason: 'answered' }, [{ runId: 'left', stopReason: 'answered' }]])
    await closing
    expect(runner.active).toEqual([])
  })

  it('P1.6 lets calls of active runs start their own runs', async () => {
    const inner = gate()
    const helper = new AgentRunner({ model: paying(), tools: [inner.pay], logger })
    const wait = gate()
    const help = asTool(helper, { name: 'help', description: 'Helps.' })
    const calls = [{ name: 'pay' }, { name: 'help', args: { task: 'go' } }]
    const model = scriptedModel(({ messages }) => {
      const call = calls[messages.filter(({ role }) => role === 'tool').length]
      return call === undefined ? 'Done.' : { toolCalls: [call] }
    })
    const runner = new AgentRunner({ model, tools: [wait.pay, help], logger })
    const running = runner.run('go', { runId: 'outer' })
    await wait.begun
    const closing = Promise.all([runner.close(), helper.close()])
    wait.open()
    await inner.begun
    expect(helper.active).toMatchObject([{ parentRunId: 'outer' }])
    inner.open()
    expect(await running).toMatchObject({ stopReason: 'answered', output: 'Done.' })
    await closing
  })

  it('P1.6 aborts the remaining runs without a journal', async () => {
    const { pay, begun, aborted } = gate()
    const runner = new AgentRunner({ model: paying(), tools: [pay], logger })
    const running = runner.run('go')
    await begun
    await runner.close({ drainMs: 1 })
    const result = await running
    expect(result).toMatchObject({ stopReason: 'aborted', toolCalls: [{ outcome: 'cancelled' }], error: { cause: closed } })
    expect(aborted).toHaveLength(1)
  })

  it.each<[string, () => () => Journal & { close(): Promise<void> }]>([
    [
      'memoryJournal',
      () => {
        const kept = new MemoryRuns()
        return () => memoryJournal(kept)
      },
    ],
    [
      'sqliteJournal',
      () => {
        const file = join(newFolder(), 'runs.sqlite')
        // Of its runners, only the one that recovers it is to continue the run.
        return () => sqliteJournal({ file, synchronous: 'normal', takeOverEveryMs: Number.POSITIVE_INFINITY })
      },
    ],
  ])(
    'P1.6 releases the remaining runs of a journal: nothing is recorded as cancelled, and another runner continues them (%s)',
    async (_name, make) => {
      const open = make()
      const journal = openedIn(open())
      const sessions = memorySessions()
      const left = gate()
      const runner = new AgentRunner({ model: paying(), tools: [left.pay], journal, sessions, logger })
      const running = runner.run('go', { runId: 'r', session: 's' })
      await left.begun
      // Another agent on the same journal continues.
      const other = gate()
      const beside = new AgentRunner({ model: paying(), tools: [other.pay], journal, logger })
      const goingOn = beside.run('go', { runId: 'beside' })
      // Awaited at the end: if the test fails before, its own error is the one to see.
      goingOn.catch(() => {})
      await other.begun
      const waiting = new AgentRunner({ model: paying(), tools: [], journal: openedIn(open()), logger })
      // One that waits for it elsewhere would continue it, without its tool: it is closed first.
      const waits = expect(waiting.resume('r')).rejects.toMatchObject(closed)
      await waiting.close({ drainMs: 5 })
      await waits
      await Promise.all([runner.close({ drainMs: 5 }), expect(running).rejects.toMatchObject(closed)])
      expect(left.aborted).toMatchObject([closed])
      expect(runner.active).toEqual([])
      const next = gate()
      next.open()
      const heir = new AgentRunner({ model: paying(), tools: [next.pay], journal: openedIn(open()), sessions, logger })
      // It stays its session's.
      expect(await sessions.get('s')).toMatchObject({ status: 'running', runId: 'r', messageCount: 0 })
      expect((await heir.runs.get('r'))?.problem).toBeUndefined()
      await heir.recover()
      const { status, result } = (await heir.runs.get('r')) ?? {}
      expect([status, result?.stopReason, result?.toolCalls.map(({ outcome }) => outcome)]).toEqual(['ended', 'answered', ['ok']])
      expect(next.keys).toEqual(left.keys)
      expect(await sessions.get('s')).toMatchObject({ status: 'idle', messageCount: 4 })
      other.open()
      expect(await goingOn).toMatchObject({ stopReason: 'answered' })
    },
  )

  it('P1.6 rejects a run that waits for the session of a run elsewhere: it was never started', async () => {
    const journal = openedIn(memoryJournal())
    const sessions = memorySessions()
    const { pay, begun, open } = gate()
    const beside = new AgentRunner({ model: paying(), tools: [pay], journal, sessions, logger })
    const goingOn = beside.run('go', { runId: 'r', session: 's' })
    await begun
    const runner = new AgentRunner({ model: paying(), tools: [pay], journal, sessions, logger })
    const waiting = expect(runner.run('again', { runId: 'w', session: 's' })).rejects.toMatchObject(closed)
    await runner.close({ drainMs: 5 })
    await waiting
    expect(await runner.runs.get('w')).toBeUndefined()
    open()
    expect(await goingOn).toMatchObject({ stopReason: 'answered' })
  })

  it('P1.6 a closed journal records nothing of a call that it releases', async () => {
    const file = join(newFolder(), 'runs.sqlite')
    const journal = sqliteJournal({ file })
    const { pay, begun, aborted } = gate()
    const running = new AgentRunner({ model: paying(), tools: [pay], journal, logger }).run('go', { runId: 'r' })
    await begun
    await Promise.all([journal.close(), expect(running).rejects.toMatchObject({ code: 'journal_failed' })])
    expect(aborted).toHaveLength(1)
    const database = new DatabaseSync(file)
    const keys = database.prepare('SELECT key FROM steps').all()
    const run = database.prepare('SELECT status, owner, problem FROM runs').get()
    database.close()
    expect(keys.map(({ key }) => key).sort()).toEqual(['1.model', '1.round', 'start'])
    expect(run).toEqual({ status: 'running', owner: null, problem: null })
  })

  /** Runs that are being executed on the journal that is returned, until it is closed. */
  async function threeRuns(dying: Journal & { close(): Promise<void> }): Promise<Journal & { close(): Promise<void> }> {
    const gates = [gate(), gate(), gate()]
    for (const [at, { pay }] of gates.entries()) {
      const runner = new AgentRunner({ model: paying(), tools: [pay], journal: dying, logger })
      runner.run('go', { runId: `r${at}` }).catch(() => {})
    }
    await Promise.all(gates.map(({ begun }) => begun))
    return dying
  }

  it('P1.6 a `recover` that has begun resumes nothing any more', async () => {
    const kept = new MemoryRuns()
    await (await threeRuns(memoryJournal(kept))).close()
    const { pay, begun, keys } = gate()
    const runner = new AgentRunner({ model: paying(), tools: [pay], journal: memoryJournal(kept), logger })
    const recovering = runner.recover({ concurrency: 1 })
    await begun
    await runner.close({ drainMs: 5 })
    expect(await recovering).toMatchObject([{ runId: 'r0', error: closed }])
    expect(keys).toEqual(['r0/1.tool.0'])
    expect((await runner.runs.list({ status: 'running' })).runs).toHaveLength(3)
  })

  it('P1.6 resumes nothing by itself any more', async () => {
    const file = join(newFolder(), 'runs.sqlite')
    const open = () => {
      const store = new SqliteStore(fileOptions({ file, synchronous: 'normal' }), 'default')
      return openedIn(storeJournal(store, { takeOver: { everyMs: 5, concurrency: 8 } }))
    }
    const dying = await threeRuns(open())
    const { pay, begun, keys } = gate()
    const runner = new AgentRunner({ model: paying(), tools: [pay], journal: open(), logger })
    const running = runner.run('go', { runId: 'own' })
    await begun
    // The others are nobody's only once it is being closed.
    const closes = runner.close({ drainMs: 50 })
    await dying.close()
    await Promise.all([closes, expect(running).rejects.toMatchObject(closed)])
    expect(keys).toEqual(['own/1.tool.0'])
  })

  it('P1.6 P1.5 works the same for a class agent', async () => {
    class Own extends CustomAgent {}
    const { pay, begun, open } = gate()
    const agent = new Own({ model: paying(), tools: [pay], journal: memoryJournal(), logger })
    const running = agent.run('go', { runId: 'r' })
    await begun
    expect(agent.active).toMatchObject([{ runId: 'r' }])
    const closes = agent.close()
    open()
    await closes
    expect(await running).toMatchObject({ stopReason: 'answered' })
    expect((await agent.runs.list()).runs).toMatchObject([{ runId: 'r', status: 'ended' }])
    await expect(agent.recover()).rejects.toMatchObject(closed)
  })

  it('P1.6 closes a journal that can only close as a whole; one that can’t close at all keeps its runs', async () => {
    const settled = Promise.withResolvers<never>()
    const journal = (close?: () => Promise<void>): Journal => ({
      connect: () => ({
        start: async () => {},
        result: () => settled.promise,
        deliver: async () => {},
        cancel: async () => {},
        pending: async () => [],
      }),
      ...(close === undefined ? {} : { close }),
    })
    const options: RunnerOptions = { model: paying(), logger }
    const plain = new AgentRunner({ ...options, journal: journal() })
    void plain.run('go').catch(() => {})
    await expect.poll(() => plain.active.length).toBe(1)
    await plain.close({ drainMs: 1 })
    const whole = new AgentRunner({ ...options, journal: journal(async () => settled.reject(new Error('closed'))) })
    const running = whole.run('go')
    await Promise.all([whole.close({ drainMs: 1 }), expect(running).rejects.toThrow('closed')])
  })
})
