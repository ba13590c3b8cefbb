import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import {
  AgentRunner,
  asTool,
  defineTool,
  type Journal,
  type Reconciled,
  type RunnerOptions,
  type RunResult,
  type Sessions,
  type ToolContext,
  type ToolEffect,
} from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/index.ts'
import { memoryJournal } from '../../src/testing/memory-journal.ts'
import { StrictJournal } from '../agent/strict-journal.ts'
import { resultTexts } from './stage.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const folder = mkdtempSync(join(tmpdir(), 'toolloop-unsettled-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Turn = ScriptedTurn | string
const pays = (...sums: number[]): ScriptedTurn => ({ toolCalls: sums.map((sum) => ({ name: 'pay', args: { sum } })) })

interface PayOptions {
  effect?: ToolEffect
  retries?: number
  reconcile?: (args: { sum: number }, ctx: ToolContext) => Reconciled | undefined | Promise<Reconciled | undefined>
}

/** Pays, and never settles in its first `hangs` attempts. */
function payTool(hangs: number, options: PayOptions = {}) {
  const keys: string[] = []
  const started = Promise.withResolvers<void>()
  const tool = defineTool({
    name: 'pay',
    description: 'pays',
    parameters: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
    timeoutMs: 20,
    ...options,
    execute: async (_args, { idempotencyKey }) => {
      started.resolve()
      if (keys.push(idempotencyKey) <= hangs) await new Promise(() => {})
      return 'paid'
    },
  })
  return { tool, keys, started: started.promise }
}

const agent = (turns: readonly Turn[], options: Omit<RunnerOptions, 'model'>) =>
  new AgentRunner({ model: scriptedModel([...turns]), logger, maxIterations: 10, ...options })

const outcomes = ({ toolCalls }: RunResult<unknown, unknown>) => (toolCalls as { outcome: string }[]).map(({ outcome }) => outcome)

describe('a timed-out call may have taken effect', () => {
  it.each(['unsafe', 'idempotent', 'read'] as const)('P2.2 H51 the model is told, unless the tool only reads: %s', async (effect) => {
    const { tool } = payTool(1, { effect })
    const result = await agent([pays(5), 'done'], { tools: [tool] }).run('go')
    const more = effect === 'read' ? '' : ' It may have taken effect.'
    expect(resultTexts(result)).toEqual([`Tool \`pay\` timed out after 20 ms.${more}`])
    expect(result.toolCalls).toMatchObject([{ outcome: 'timeout', errorCode: 'tool_timeout' }])
  })

  it('P2.2 H51 the same call has the same key until one has succeeded; other calls have their own', async () => {
    const { tool, keys } = payTool(1)
    const result = await agent([pays(5), pays(6, 5), pays(5), 'done'], { tools: [tool], limits: { repeatedCalls: 9 } }).run('go', {
      runId: 'r',
    })
    expect(outcomes(result)).toEqual(['timeout', 'ok', 'ok', 'ok'])
    expect(keys).toEqual(['r/1.tool.0', 'r/2.tool.0', 'r/1.tool.0', 'r/3.tool.0'])
  })

  it('P2.2 two that timed out leave two keys, and the same call twice in one turn uses both', async () => {
    const { tool, keys } = payTool(2)
    await agent([pays(5, 5), pays(5, 5, 5), 'done'], { tools: [tool] }).run('go', { runId: 'r' })
    expect(keys).toEqual(['r/1.tool.0', 'r/1.tool.1', 'r/1.tool.0', 'r/1.tool.1', 'r/2.tool.2'])
  })

  it('P2.2 a call that fails with the key of another leaves it open', async () => {
    const keys: string[] = []
    const tool = defineTool({
      name: 'pay',
      description: 'pays',
      parameters: { type: 'object' },
      timeoutMs: 20,
      execute: async (_args, { idempotencyKey }) => {
        if (keys.push(idempotencyKey) === 1) await new Promise(() => {})
        if (keys.length === 2) throw new Error('the bank is closed')
        return 'paid'
      },
    })
    await agent([pays(5), pays(5), pays(5), pays(5), 'done'], { tools: [tool] }).run('go', { runId: 'r' })
    expect(keys).toEqual(['r/1.tool.0', 'r/1.tool.0', 'r/1.tool.0', 'r/4.tool.0'])
  })

  it('P2.2 a call that only reads has a new key each time', async () => {
    const { tool, keys } = payTool(1, { effect: 'read' })
    await agent([pays(5), pays(5), 'done'], { tools: [tool] }).run('go', { runId: 'r' })
    expect(keys).toEqual(['r/1.tool.0', 'r/2.tool.0'])
  })

  it('P2.2 nobody is asked to decide on it', async () => {
    const asked: string[] = []
    const { tool } = payTool(1)
    const runner = agent([pays(5), 'done'], { tools: [tool], journal: memoryJournal() })
    runner.on('DECISION_NEEDED', ({ tool }) => void asked.push(tool))
    const { stopReason, pending } = await runner.run('go')
    expect([stopReason, pending, asked]).toEqual(['answered', [], []])
  })
})

describe('`reconcile` of a timed-out call', () => {
  const found = (reconciled: Reconciled | undefined) => {
    const asked: { key: string; aborted: boolean }[] = []
    const reconcile = (_args: { sum: number }, { idempotencyKey, signal }: ToolContext) => {
      asked.push({ key: idempotencyKey, aborted: signal.aborted })
      return reconciled
    }
    return { asked, reconcile }
  }

  it('P2.2 H51 returns that it took effect: the model gets its value, and a later call is a new one', async () => {
    const { asked, reconcile } = found({ ran: true, value: 'receipt 17' })
    const { tool, keys } = payTool(1, { reconcile })
    const result = await agent([pays(5), pays(5), 'done'], { tools: [tool] }).run('go', { runId: 'r' })
    expect(asked).toEqual([{ key: 'r/1.tool.0', aborted: false }])
    expect(resultTexts(result)).toEqual(['Tool `pay` timed out after 20 ms. It has taken effect. Its result: receipt 17', 'paid'])
    expect([outcomes(result), keys]).toEqual([
      ['timeout', 'ok'],
      ['r/1.tool.0', 'r/2.tool.0'],
    ])
  })

  it('P2.2 H51 returns that it did not: the model is told, and the key stays', async () => {
    const { reconcile } = found({ ran: false })
    const { tool, keys } = payTool(1, { reconcile })
    const result = await agent([pays(5), pays(5), 'done'], { tools: [tool] }).run('go', { runId: 'r' })
    expect(resultTexts(result)[0]).toBe('Tool `pay` timed out after 20 ms. It had not taken effect when this was checked.')
    expect(keys).toEqual(['r/1.tool.0', 'r/1.tool.0'])
  })

  it.each([
    ['can’t tell', undefined],
    ['says nonsense', { ran: 'yes' } as never],
  ])('P2.2 %s: the model learns that it may have taken effect', async (_what, reconciled) => {
    const { tool } = payTool(1, { reconcile: found(reconciled).reconcile })
    const result = await agent([pays(5), 'done'], { tools: [tool] }).run('go')
    expect(resultTexts(result)).toEqual(['Tool `pay` timed out after 20 ms. It may have taken effect.'])
  })

  it('P2.2 fails, or takes longer than the tool may: the run continues', async () => {
    for (const reconcile of [() => Promise.reject(new Error('no answer')), () => new Promise<undefined>(() => {})]) {
      const { tool } = payTool(1, { reconcile })
      const result = await agent([pays(5), 'done'], { tools: [tool] }).run('go')
      expect([result.output, ...resultTexts(result)]).toEqual(['done', 'Tool `pay` timed out after 20 ms. It may have taken effect.'])
    }
  })
})

describe('`retries` of a timed-out call', () => {
  it.each([
    ['unsafe', undefined, 1],
    ['unsafe', { ran: true, value: 'receipt 17' }, 1],
    ['unsafe', { ran: false }, 2],
    ['idempotent', undefined, 2],
    ['read', undefined, 2],
  ] as const)('P2.2 H51 %s, and `reconcile` finds %j: %i attempts with one key', async (effect, reconciled, attempts) => {
    const { tool, keys } = payTool(1, { effect, retries: 1, reconcile: () => reconciled })
    const result = await agent([pays(5), 'done'], { tools: [tool] }).run('go', { runId: 'r' })
    expect(result.toolCalls).toMatchObject([{ attempts, outcome: attempts === 2 ? 'ok' : 'timeout' }])
    expect(keys).toEqual(Array.from({ length: attempts }, () => 'r/1.tool.0'))
  })
})

it('P2.2 a call with a timed-out attempt whose last attempt failed leaves its key open', async () => {
  const keys: string[] = []
  const tool = defineTool({
    name: 'pay',
    description: 'pays',
    parameters: { type: 'object' },
    effect: 'idempotent',
    timeoutMs: 20,
    retries: 1,
    execute: async (_args, { idempotencyKey }) => {
      if (keys.push(idempotencyKey) === 1) await new Promise(() => {})
      if (keys.length === 2) throw new Error('the bank is closed')
      return 'paid'
    },
  })
  const result = await agent([pays(5), pays(5), 'done'], { tools: [tool] }).run('go', { runId: 'r' })
  expect(resultTexts(result)).toEqual(['the bank is closed\nIt may have taken effect.', 'paid'])
  expect(keys).toEqual(['r/1.tool.0', 'r/1.tool.0', 'r/1.tool.0'])
})

describe('a call that is ended by an abort may have taken effect', () => {
  const cut = async (options: PayOptions, given: Partial<RunnerOptions> = {}, session?: string) => {
    const { tool, keys, started } = payTool(1, { ...options })
    const controller = new AbortController()
    const runner = new AgentRunner({
      model: scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : pays(5))),
      tools: [{ ...tool, timeoutMs: 10_000 }],
      logger,
      ...given,
    })
    const running = runner.run('go', { signal: controller.signal, runId: 'first', ...(session === undefined ? {} : { session }) })
    await started
    controller.abort()
    return { result: await running, runner, keys }
  }

  it('P2.2 H51 the model is told, in the continued conversation', async () => {
    const { result } = await cut({})
    expect(result).toMatchObject({ stopReason: 'aborted', toolCalls: [{ outcome: 'cancelled', errorCode: 'tool_cancelled' }] })
    expect(resultTexts(result)).toEqual(['Tool `pay` was cancelled: the run ended before it finished. It may have taken effect.'])
  })

  it('P2.2 H51 `reconcile` is asked immediately, and has one second', async () => {
    const told = async (reconcile: PayOptions['reconcile']) =>
      resultTexts((await cut(reconcile === undefined ? {} : { reconcile })).result)[0]
    expect(await told(() => ({ ran: true, value: 'receipt 17' }))).toContain('It has taken effect. Its result: receipt 17')
    expect(await told(() => new Promise(() => {}))).toContain('It may have taken effect.')
  })

  const stores: [string, () => Sessions][] = [
    ['memorySessions', () => memorySessions()],
    ['sqliteSessions', () => sqliteSessions({ file: join(folder, 'sessions.sqlite') })],
  ]
  it.each(stores)('P2.2 H51 the next run of its session uses its key, until one has succeeded (%s)', async (_name, open) => {
    const sessions = open()
    const { runner, keys } = await cut({}, { sessions }, 's')
    await runner.run('again', { session: 's', runId: 'second' })
    await runner.run('once more', { session: 's', runId: 'third' })
    await runner.run('elsewhere', { session: 'other', runId: 'fourth' })
    expect(keys).toEqual(['first/1.tool.0', 'first/1.tool.0', 'third/1.tool.0', 'fourth/1.tool.0'])
    await sessions.close()
  })

  const journals: [string, () => Journal & { close(): Promise<void> }][] = [
    ['memoryJournal', () => memoryJournal()],
    ['sqliteJournal', () => sqliteJournal({ file: join(folder, 'runs.sqlite') })],
  ]
  it.each(journals)('P2.2 the same with a journal (%s)', async (_name, open) => {
    const journal = open()
    const { result, runner, keys } = await cut({}, { sessions: memorySessions(), journal }, 's')
    expect(result.stopReason).toBe('aborted')
    await runner.run('again', { session: 's', runId: 'second' })
    expect(keys).toEqual(['first/1.tool.0', 'first/1.tool.0'])
    await journal.close()
  })

  it('P2.2 messages passed in by the caller carry no keys, because anybody may have written them', async () => {
    const { result, runner, keys } = await cut({})
    await runner.run('again', { messages: result.messages, runId: 'second' })
    expect(keys).toEqual(['first/1.tool.0', 'second/1.tool.0'])
  })
})

describe('the key of a call that may have taken effect', () => {
  /** Never settles in the first iteration. */
  const hangingOnce = () => {
    const keys: string[] = []
    const tool = defineTool({
      name: 'pay',
      description: 'pays',
      parameters: { type: 'object' },
      effect: 'idempotent',
      timeoutMs: 5,
      execute: (_args, { idempotencyKey, iteration }) => {
        keys.push(idempotencyKey)
        return iteration === 1 ? new Promise(() => {}) : 'paid'
      },
    })
    return { tool, keys }
  }
  const model = (turns: readonly Turn[]) =>
    scriptedModel(({ messages }) => turns[messages.filter(({ role }) => role === 'assistant').length] ?? 'unexpected')

  it('P2.2 H51 survives a pause', async () => {
    const { tool, keys } = hangingOnce()
    const sign = defineTool({ name: 'sign', description: 'x', approval: true, execute: () => 'signed' })
    const turns = [pays(5), { toolCalls: [{ name: 'sign' }] }, pays(5), 'done']
    const open = () => new AgentRunner({ model: model(turns), tools: [tool, sign], logger })
    const paused = await open().run('go', { runId: 'r' })
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const result = await open().resume(JSON.parse(JSON.stringify(paused.state)), { decisions })
    expect([result.output, keys]).toEqual(['done', ['r/1.tool.0', 'r/1.tool.0']])
  })

  it('P2.2 H51 survives a crash at any time', async () => {
    const run = async (crashAt: number) => {
      const { tool, keys } = hangingOnce()
      const journal = new StrictJournal(crashAt)
      const runner = new AgentRunner({ model: model([pays(5), pays(5), pays(5), 'done']), tools: [tool], logger, journal })
      const result = await runner.run('go', { runId: 'r', limits: { repeatedCalls: 9 } })
      expect([result.output, journal.violations]).toEqual(['done', []])
      expect(new Set(keys)).toEqual(new Set(['r/1.tool.0', 'r/3.tool.0']))
      return journal.moments
    }
    const moments = await run(Number.POSITIVE_INFINITY)
    for (let crashAt = 1; crashAt <= moments; crashAt++) await run(crashAt)
  })
})

describe('an agent inside a timed-out call', () => {
  it('P2.2 P2.3 continues its run on the same call, and repeats nothing that it has done', async () => {
    const { tool, keys } = payTool(0)
    const slow = defineTool({
      name: 'slow',
      description: 'x',
      effect: 'read',
      execute: () => (keys.length === 1 && !isLate ? new Promise(() => {}) : 'seen'),
    })
    let isLate = false
    const turns = [pays(5), { toolCalls: [{ name: 'slow' }] }, 'paid it']
    const inner = new AgentRunner({
      model: scriptedModel(({ messages }) => turns[messages.filter(({ role }) => role === 'assistant').length] ?? 'unexpected'),
      tools: [tool, slow],
      logger,
    })
    const clerk = asTool(inner, { name: 'clerk', description: 'x', timeoutMs: 60 })
    const calls = { toolCalls: [{ name: 'clerk', args: { task: 'pay' } }] }
    const runner = agent([calls, calls, 'done'], { tools: [clerk] })
    runner.on('TOOL_CALL_END', ({ outcome }) => {
      if (outcome === 'timeout') isLate = true
    })
    const result = await runner.run('go', { runId: 'r' })
    expect(result.toolCalls).toMatchObject([{ outcome: 'timeout' }, { outcome: 'ok', content: 'paid it' }])
    expect(keys.length).toBe(1)
  })

  it('P2.2 P2.3 has the same keys for its calls in the next run of the session, whatever their order', async () => {
    const sessions = memorySessions()
    const keys: string[][] = []
    const pay = defineTool({
      name: 'pay',
      description: 'pays',
      parameters: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
      execute: ({ sum }, { idempotencyKey }) => {
        keys.push([String(sum), idempotencyKey])
        return sum === 7 && keys.length === 3 ? new Promise(() => {}) : 'paid'
      },
    })
    const runOf = (order: number[]) => {
      const inner = new AgentRunner({ model: scriptedModel([pays(...order), 'paid it']), tools: [pay], logger, maxIterations: 9 })
      const clerk = asTool(inner, { name: 'clerk', description: 'x', timeoutMs: 60 })
      const outer = scriptedModel([{ toolCalls: [{ name: 'clerk', args: { task: 'pay' } }] }, 'done'])
      return new AgentRunner({ model: outer, tools: [clerk], logger, sessions }).run('go', { session: 's' })
    }
    expect((await runOf([5, 5, 7])).toolCalls).toMatchObject([{ outcome: 'timeout' }])
    expect((await runOf([7, 5, 6, 5])).toolCalls).toMatchObject([{ outcome: 'ok' }])
    const first = new Map(keys.slice(0, 3).map(([sum, key], at) => [`${sum} ${at === 1 ? 2 : 1}`, key]))
    const second = keys.slice(3)
    expect(second).toEqual([
      ['7', first.get('7 1')],
      ['5', first.get('5 1')],
      ['6', expect.any(String)],
      ['5', first.get('5 2')],
    ])
    expect(new Set(keys.map(([, key]) => key)).size).toBe(4)
  })
})
