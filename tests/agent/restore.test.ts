import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { RunToRestore } from '../../src/agent/durable/index.ts'
import { storeJournal } from '../../src/agent/journal/store-journal.ts'
import { runSettings } from '../../src/agent/options/run-settings.ts'
import { notStored } from '../../src/agent/runner/durable-run.ts'
import { findDialect } from '../../src/dialects/index.ts'
import {
  AgentRunner,
  Budget,
  type ChatModel,
  defineTool,
  type Hooks,
  type Journal,
  type RunnerOptions,
  type RunOptions,
  type ToolContext,
} from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { SqliteStore } from '../../src/journals/sqlite/sqlite-store.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import { fileOptions } from '../../src/sqlite/sqlite-file.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

interface Shop {
  name: string
}
type OpenJournal = () => Journal & { close(): Promise<void> }

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Where runs are kept: each call of the function returned opens it as another process would. */
const places: [name: string, make: () => OpenJournal][] = [
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
      const folder = mkdtempSync(join(tmpdir(), 'restore-'))
      closing.push(() => rmSync(folder, { recursive: true }))
      return () => {
        const journal = sqliteJournal({ file: join(folder, 'runs.sqlite'), synchronous: 'normal' })
        closing.push(() => journal.close())
        return journal
      }
    },
  ],
]

/** Answers by how far the conversation has come: a call, and then an answer. */
const paying = () => scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'pay' }] }))

/** A shop's agent, whose tool notes in which context it was called. */
function shop(open: OpenJournal, { approval = false, ...more }: Partial<RunnerOptions> & { approval?: boolean } = {}) {
  const { logger, records } = recordingLogger()
  const calls: unknown[] = []
  const execute = (_args: unknown, { context }: ToolContext) => {
    calls.push(context)
    return 'paid'
  }
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval, execute })
  const journal = open()
  const model = paying()
  const runner = new AgentRunner({ model, tools: [pay], logger, journal, ...more })
  const errors = () => records.filter(({ level }) => level === 'error')
  return { runner, journal, model, calls, errors }
}

/** A model that never answers. */
function silentModel(): { model: ChatModel; asked: Promise<void> } {
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  const generate = () => {
    resolve()
    return new Promise<never>(() => {})
  }
  return { asked, model: { provider: 'silent', model: 'silent', capabilities: { nativeTools: true }, generate } }
}

/** A run that was started with these options, and whose process has gone while the model was asked. */
async function abandoned(open: OpenJournal, options: RunOptions = {}, more: Partial<RunnerOptions> = {}): Promise<void> {
  const { model, asked } = silentModel()
  const { runner, journal } = shop(open, { model, ...more })
  const running = runner.run('Pay.', { runId: 'r', ...options, ...(options.model === undefined ? {} : { model }) }).catch(() => {})
  await asked
  await journal.close()
  await running
}

const context: Shop = { name: 'Corner' }
const leftAlone = 'a run could not be continued here and is unchanged'

describe.each(places)('a run that continues elsewhere: %s', (_name, make) => {
  it('P1.1 H49 has the context that `restore` creates for it', async () => {
    const open = make()
    await abandoned(open, { context, metadata: { shop: 7 } })
    const asked: RunToRestore[] = []
    const next = shop(open, {
      restore: async (run) => {
        asked.push(run)
        return { context: { name: `shop ${run.metadata?.shop}` } }
      },
    })
    expect(await next.runner.recover()).toEqual([{ runId: 'r', stopReason: 'answered' }])
    expect(next.calls).toEqual([{ name: 'shop 7' }])
    expect(asked).toEqual([{ runId: 'r', metadata: { shop: 7 } }])
    expect(next.errors()).toEqual([])
  })

  it.each<[string, RunnerOptions['restore'], RegExp]>([
    ['there is no `restore`', undefined, /the runner has no `restore`/],
    [
      'it throws',
      () => {
        throw new Error('no database')
      },
      /`restore` failed: no database/,
    ],
    ['it rejects', () => Promise.reject(new Error('no database')), /`restore` failed: no database/],
    ['it never settles', () => new Promise(() => {}), /`restore` failed: it took longer than 30 ms/],
    ['it returns nothing', () => undefined as never, /`restore` failed: Expected `restore` to be an object/],
    ['it leaves the context out', () => ({}), /`restore` gave undefined as `context`/],
    ['it finds no context', () => ({ context: null }), /`restore` gave null as `context`/],
    ['it returns an unknown option', () => ({ context, contexts: 1 }) as never, /`restore\.contexts`/],
  ])('P1.1 H49 is unchanged if %s: nothing is executed, and the list says why', async (_how, restore, problem) => {
    const open = make()
    await abandoned(open, { context, toolTimeoutMs: 30 })
    const broken = shop(open, restore === undefined ? {} : { restore })
    const [recovered] = await broken.runner.recover()
    expect(recovered).toMatchObject({ runId: 'r', error: { code: 'not_restored', message: expect.stringMatching(problem) } })
    const kept = await broken.runner.runs.get('r')
    expect(kept).toMatchObject({ status: 'running', problem: expect.stringMatching(problem) })
    expect(kept?.problem).toMatch(/^Run `r` was started with `context`: /)
    expect((await broken.runner.runs.list()).runs[0]?.problem).toBe(kept?.problem)
    expect([broken.model.requests, broken.calls]).toEqual([[], []])
    expect(broken.errors()).toMatchObject([{ message: leftAlone, fields: { runId: 'r' } }])
    const right = shop(open, { restore: () => ({ context }) })
    expect(await right.runner.recover()).toEqual([{ runId: 'r', stopReason: 'answered' }])
    expect((await right.runner.runs.get('r'))?.problem).toBeUndefined()
    expect(right.calls).toEqual([context])
  })

  const seen: string[] = []
  const saw = (what: string) => {
    seen.push(what)
    return undefined
  }
  const schema = { type: 'object', properties: { paid: { type: 'boolean' } }, required: ['paid'] } as const
  const other = defineTool({ name: 'pay', description: 'Pays elsewhere.', execute: () => saw('tools') ?? 'paid' })
  it.each<[name: string, given: RunOptions & { output?: unknown }]>([
    ['context', { context }],
    ['tools', { tools: [other] }],
    ['model', { model: { ...paying(), generate: (...asked) => saw('model') ?? paying().generate(...asked) } }],
    ['hooks', { hooks: [{ afterModel: () => saw('hooks') }] }],
    ['guardrails', { guardrails: [{ name: 'g', output: () => saw('guardrails') }] }],
    ['approve', { approve: () => saw('approve') ?? true }],
    ['budget', { budget: new Budget({ tokens: 1_000_000 }) }],
    ['output', { output: schema }],
    ['stopWhen', { stopWhen: () => saw('stopWhen') ?? false }],
    ['compaction', { compaction: { maxTokens: 10_000, estimate: () => saw('compaction') ?? 1 } }],
    ['toolCalling', { toolCalling: findDialect('tool-action') }],
    ['telemetry', { telemetry: { openRun: () => saw('telemetry') } as never }],
  ])('P1.1 H49 is unchanged without the `%s` that only this run was given, and has it if `restore` supplies it', async (name, given) => {
    const open = make()
    await abandoned(open, given)
    const without = shop(open, { restore: () => ({}) })
    expect(await without.runner.recover()).toMatchObject([{ runId: 'r', error: { code: 'not_restored' } }])
    const problem = `Run \`r\` was started with \`${name}\`: \`restore\` gave undefined as \`${name}\`. Nothing of it is executed here`
    expect(await without.runner.runs.get('r')).toMatchObject({ status: 'running', problem })
    expect([without.model.requests, without.calls]).toEqual([[], []])
    seen.length = 0
    const model = name === 'output' || name === 'toolCalling' ? scriptedModel(['{"paid": true}']) : paying()
    const right = shop(open, { approval: name === 'approve', model, restore: () => given as never })
    expect(await right.runner.recover()).toEqual([{ runId: 'r', stopReason: 'answered' }])
    if (given.budget !== undefined) expect(given.budget.spent.tokens).toBeGreaterThan(0)
    else if (name === 'context') expect(right.calls).toEqual([context])
    else if (name === 'output') expect(model.requests[0]).toMatchObject({ tools: [{}, { function: { name: 'final_answer' } }] })
    else if (name === 'toolCalling') expect(model.requests[0]?.tools).toBeUndefined()
    else expect(seen).toContain(name)
  })

  it('P1.1 H49 is unchanged if the result of `restore` can’t be used, and an error is logged', async () => {
    const open = make()
    await abandoned(open, { tools: [other] })
    const broken = shop(open, { restore: () => ({ tools: 5 as never }) })
    expect(await broken.runner.recover()).toMatchObject([{ runId: 'r', error: { code: 'invalid_option' } }])
    expect((await broken.runner.runs.get('r'))?.problem).toContain('`tools`')
    expect(broken.errors()).toMatchObject([{ message: leftAlone }])
    expect([broken.model.requests, broken.calls]).toEqual([[], []])
  })

  it('P1.1 H49 is restored by `resume` of its id, which otherwise rejects and stores no decision', async () => {
    const open = make()
    await abandoned(open, { context })
    const broken = shop(open)
    await expect(broken.runner.resume('r')).rejects.toMatchObject({ code: 'not_restored' })
    expect(await broken.runner.runs.get('r')).toMatchObject({ status: 'running', problem: expect.stringContaining('`context`') })
    expect(broken.errors()).toMatchObject([{ message: leftAlone }])
    const right = shop(open, { restore: () => ({ context }) })
    expect(await right.runner.resume('r')).toMatchObject({ stopReason: 'answered', output: 'Done.', toolCalls: [{ value: 'paid' }] })
    expect(right.calls).toEqual([context])
    // What the caller gives is used as it is.
    const asked = { approval: true as const, description: 'Pays.', name: 'pay' }
    const waiting = (options: Partial<RunnerOptions<Shop>>, seen: unknown[] = []) => {
      const pay = defineTool({ ...asked, execute: (_args, ctx: ToolContext<Shop>) => void seen.push(ctx.context) })
      return new AgentRunner({ model: paying(), tools: [pay], journal: open(), logger: recordingLogger().logger, ...options } as never)
    }
    const { pending } = await waiting({}).run('Pay.', { runId: 'w', context })
    const decisions = pending.map((item) => ({ ...item, approved: true as const }))
    await expect(waiting({}).resume('w', { decisions } as never)).rejects.toMatchObject({ code: 'not_restored' })
    expect(await waiting({}).runs.get('w')).toMatchObject({ status: 'waiting', pending: [{ tool: 'pay' }] })
    expect(await waiting({}).resume('w')).toMatchObject({ stopReason: 'paused' })
    const seen: unknown[] = []
    const own = { name: 'of whoever decides' }
    const restore = () => Promise.reject(new Error('not asked'))
    expect(await waiting({ restore }, seen).resume('w', { decisions, context: own })).toMatchObject({ stopReason: 'answered' })
    expect(seen).toEqual([own])
  })

  it('P1.1 H49 is ended by the next message of its session only with its context', async () => {
    const open = make()
    const sessions = memorySessions()
    await abandoned(open, { context, session: 's', metadata: { shop: 7 } }, { sessions })
    const broken = shop(open, { sessions })
    const refused = broken.runner.run('And again.', { session: 's', context: { name: 'of the next' } })
    await expect(refused).rejects.toMatchObject({ code: 'session_busy', message: expect.stringContaining('was started with `context`') })
    expect(broken.calls).toEqual([])
    const asked: RunToRestore[] = []
    const right = shop(open, {
      sessions,
      restore: (run) => {
        asked.push(run)
        return { context }
      },
    })
    const next = { name: 'of the next' }
    expect(await right.runner.run('And again.', { session: 's', context: next })).toMatchObject({ stopReason: 'answered' })
    expect(asked).toEqual([{ runId: 'r', metadata: { shop: 7 }, session: 's' }])
    expect(right.calls).toEqual([context, next])
    expect((await sessions.read('s')).filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(['Pay.', 'And again.'])
  })

  it('P1.1 is not restored if its caller is here, nor to read its result', async () => {
    const restore = () => Promise.reject(new Error('not asked'))
    const { runner, calls } = shop(make(), { restore })
    expect(await runner.run('Pay.', { runId: 'r', context })).toMatchObject({ stopReason: 'answered' })
    expect(calls).toEqual([context])
    expect(await runner.resume('r')).toMatchObject({ stopReason: 'answered', output: 'Done.' })
  })

  it('P1.1 uses nothing from `restore` that it was not started with', async () => {
    const open = make()
    await abandoned(open, { context })
    const hooks: Hooks[] = [{ beforeTool: () => ({ refuse: 'not asked' }) }]
    const next = shop(open, { restore: () => ({ context, hooks }) })
    expect(await next.runner.recover()).toEqual([{ runId: 'r', stopReason: 'answered' }])
    expect(next.calls).toEqual([context])
  })

  it('P1.1 ends when it is cancelled, even if it can’t be restored', async () => {
    const open = make()
    await abandoned(open, { context })
    const broken = shop(open)
    await broken.runner.runs.cancel('r', 'not needed')
    expect(await broken.runner.resume('r')).toMatchObject({ stopReason: 'aborted', toolCalls: [] })
    expect([broken.model.requests, broken.calls]).toEqual([[], []])
    // While `restore` is being waited for, too.
    const other = make()
    await abandoned(other, { context })
    const asked = Promise.withResolvers<void>()
    const slow = shop(other, {
      restore: () => {
        asked.resolve()
        return new Promise(() => {})
      },
    })
    const recovering = slow.runner.recover()
    await asked.promise
    await slow.runner.runs.cancel('r')
    expect(await recovering).toEqual([{ runId: 'r', stopReason: 'aborted' }])
    expect(slow.calls).toEqual([])
  })

  it('H49 a policy that reads the context refuses what it does not allow, whichever process runs it', async () => {
    const open = make()
    const policy: Hooks<{ allow: string[] }> = {
      beforeTool: ({ context: { allow }, tool }) => (allow.includes(tool) ? undefined : { refuse: 'not allowed' }),
    }
    const allowed = { allow: ['look'] }
    const look = () => new Promise(() => {})
    const begun = Promise.withResolvers<void>()
    const ran: string[] = []
    const tools = (execute: () => unknown) => [
      defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute }),
      defineTool({ name: 'drop', description: 'Drops.', execute: () => void ran.push('drop') }),
    ]
    const calls = ['look', 'drop']
    const model = () =>
      scriptedModel(({ messages }) => {
        const name = calls[messages.filter(({ role }) => role === 'tool').length]
        return name === undefined ? 'Done.' : { toolCalls: [{ name }] }
      })
    const { logger } = recordingLogger()
    const journal = open()
    const first = new AgentRunner({
      model: model(),
      hooks: [policy as Hooks],
      journal,
      logger,
      tools: tools(() => {
        begun.resolve()
        return look()
      }),
    })
    const running = first.run('go', { runId: 'r', context: allowed }).catch(() => {})
    await begun.promise
    await journal.close()
    await running
    const restore = () => ({ context: allowed })
    const next = new AgentRunner({ model: model(), hooks: [policy as Hooks], journal: open(), logger, restore, tools: tools(() => 'seen') })
    expect(await next.recover()).toEqual([{ runId: 'r', stopReason: 'answered' }])
    expect((await next.runs.get('r'))?.result?.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'denied'])
    expect(ran).toEqual([])
  })
})

it('P1.1 H49 a journal that resumes runs by itself leaves them unchanged without their context, and tries again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'restore-'))
  closing.push(() => rmSync(folder, { recursive: true }))
  const open = (): Journal & { close(): Promise<void> } => {
    const store = new SqliteStore(fileOptions({ file: join(folder, 'runs.sqlite'), synchronous: 'normal' }), 'default')
    const journal = storeJournal(store, { takeOver: { everyMs: 20, concurrency: 4 } })
    closing.push(() => journal.close())
    return journal
  }
  await abandoned(open, { context })
  const tries = Promise.withResolvers<void>()
  let asked = 0
  const next = shop(open, {
    restore: () => {
      if (++asked < 3) throw new Error('not yet')
      tries.resolve()
      return { context }
    },
  })
  expect(await next.runner.run('Pay.', { context })).toMatchObject({ stopReason: 'answered' })
  await tries.promise
  expect(await next.runner.resume('r')).toMatchObject({ stopReason: 'answered' })
  expect(next.errors().map(({ message }) => message)).toEqual([leftAlone, leftAlone])
  expect(next.calls).toEqual([context, context])
})

it('P1.1 a paused state is not resumed with less than its run was started with, unless `restore` supplies it', async () => {
  const { logger } = recordingLogger()
  const seen: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    approval: true,
    execute: (_args, ctx: ToolContext) => void seen.push(ctx.context),
  })
  const options = { model: paying(), tools: [pay], logger }
  const runner = new AgentRunner(options)
  const { state, pending } = await runner.run('Pay.', { context, metadata: { shop: 7 } })
  const decisions = pending.map((item) => ({ ...item, approved: true as const }))
  await expect(runner.resume(state, { decisions })).rejects.toMatchObject({ code: 'not_restored' })
  expect(seen).toEqual([])
  const restoring = new AgentRunner({ ...options, restore: ({ metadata }) => ({ context: metadata?.shop }) })
  const stored = JSON.parse(JSON.stringify(state))
  expect(await restoring.resume(stored, { decisions })).toMatchObject({ stopReason: 'answered' })
  const other = await runner.run('Pay.', { context, metadata: { shop: 7 } })
  const otherDecisions = other.pending.map((item) => ({ ...item, approved: true as const }))
  expect(await restoring.resume(other.state, { decisions: otherDecisions, context })).toMatchObject({ stopReason: 'answered' })
  expect(seen).toEqual([7, context])
})

it('each setting that is not stored can be restored', () => {
  const settings = Object.entries(runSettings).filter(([name, { stored }]) => stored === 'not stored' && name !== 'maxToolRounds')
  const names = settings.map(([name]) => name).sort()
  expect(names).toContain('hooks')
  const given = Object.fromEntries(names.map((name) => [name, () => {}]))
  expect(notStored(given).sort()).toEqual(names)
})
