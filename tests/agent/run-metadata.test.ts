import { expect, it } from 'vitest'
import { AgentRunner, asTool, defineTool, type Guardrail, type Hooks, type JsonObject, type RunnerOptions } from '../../src/index.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const { logger } = recordingLogger()
const metadata = { tenant: 't1', user: 17 }

/** An agent of which everything that is called notes the metadata it was given. */
function watched(more: Partial<RunnerOptions> = {}) {
  const seen = new Map<string, unknown>()
  const note = (where: string) => (place: { metadata?: JsonObject }) => {
    seen.set(where, place.metadata)
    return undefined
  }
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    approval: (_args, ctx) => {
      note('approval')(ctx)
      return true
    },
    execute: (_args, ctx) => note('tool')(ctx) ?? 'paid',
  })
  const hooks: Hooks[] = [
    {
      beforeModel: note('beforeModel'),
      afterModel: note('afterModel'),
      aroundModel: (request, next) => note('aroundModel')(request) ?? next(),
      beforeTool: note('beforeTool'),
      afterTool: note('afterTool'),
      aroundTool: (call, next) => note('aroundTool')(call) ?? next(),
    },
  ]
  const guardrails: Guardrail[] = [{ name: 'g', input: note('input'), output: note('output'), call: note('call'), result: note('result') }]
  const model = scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'Done.'])
  const approve: RunnerOptions['approve'] = (request) => note('approve')(request) ?? true
  return { seen, runner: new AgentRunner({ model, tools: [pay], hooks, guardrails, approve, logger, ...more }) }
}

const everywhere = [
  ...['input', 'beforeModel', 'aroundModel', 'afterModel', 'output', 'approval', 'approve'],
  ...['beforeTool', 'call', 'aroundTool', 'tool', 'result', 'afterTool'],
]

it('P1.3 tools, hooks, guardrails and approvals get the run’s `metadata`, frozen', async () => {
  const { seen, runner } = watched()
  expect((await runner.run('go', { metadata })).stopReason).toBe('answered')
  expect([...seen.keys()].sort()).toEqual(everywhere.sort())
  for (const [where, given] of seen) {
    expect(given, where).toEqual(metadata)
    expect(Object.isFrozen(given), where).toBe(true)
  }
  const none = watched()
  await none.runner.run('go')
  expect(new Set(none.seen.values())).toEqual(new Set([undefined]))
})

it('P1.3 a nested run has the metadata of the outer run, unless it has its own', async () => {
  for (const [options, expected] of [
    [{}, metadata],
    [{ metadata: { agent: 'inner' } }, { agent: 'inner' }],
  ] as const) {
    const inner = watched()
    const tool = asTool(inner.runner, { name: 'help', description: 'Helps.', options })
    const model = scriptedModel([{ toolCalls: [{ name: 'help', args: { task: 'pay' } }] }, 'Done.'])
    expect((await new AgentRunner({ model, tools: [tool], logger }).run('go', { metadata })).stopReason).toBe('answered')
    expect([...inner.seen.values()]).toEqual(everywhere.map(() => expected))
  }
})

it('P1.3 a run that another process continues has the metadata it was started with, also for `reconcile`', async () => {
  const kept = new MemoryRuns()
  const journal = memoryJournal(kept)
  const begun = Promise.withResolvers<void>()
  const seen: unknown[] = []
  const pay = (execute: () => unknown) =>
    defineTool({
      name: 'pay',
      description: 'Pays.',
      execute: (_args, ctx) => {
        seen.push(ctx.metadata)
        return execute()
      },
      reconcile: (_args, ctx) => {
        seen.push(ctx.metadata)
        return { ran: false }
      },
    })
  const model = () => scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'pay' }] }))
  const hanging = pay(() => new Promise(() => begun.resolve()))
  const crashed = new AgentRunner({ model: model(), tools: [hanging], journal, logger }).run('go', { runId: 'r', metadata }).catch(() => {})
  await begun.promise
  await journal.close()
  await crashed
  const next = new AgentRunner({ model: model(), tools: [pay(() => 'paid')], journal: memoryJournal(kept), logger })
  expect(await next.recover()).toEqual([{ runId: 'r', stopReason: 'answered' }])
  expect(seen).toEqual([metadata, metadata, metadata])
})
