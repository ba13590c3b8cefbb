import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Decision } from '../../src/agent/decisions/decisions.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { PendingItem, RunnerOptions } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import { memoryJournal } from '../../src/testing/memory-journal.ts'
import type { ScriptedCall } from '../../src/testing/script.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value))
const task = { task: 'x' }
const approve = (pending: readonly PendingItem[], more: object = {}): Decision[] =>
  pending.map((item) => ({ ...item, approved: true as const, ...more }))

/** A bank in a shop in a mall, each an agent inside the one before; a process of its own each time. */
function openMall(ran: unknown[], settings: Partial<RunnerOptions> = {}, calls: ScriptedCall[] = [{ name: 'pay', args: { euros: 5 } }]) {
  const { logger, records } = recordingLogger()
  const parameters = { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] } as const
  const tools = [
    defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters,
      approval: true,
      execute: ({ euros }, { decision }) => {
        ran.push(euros, decision)
        return `paid ${euros}`
      },
    }),
    defineTool({
      name: 'confirm',
      description: 'Asks.',
      execute: (_args, { answer }) => (answer === undefined ? ask({ about: 'Sure?' }) : `heard ${String(answer)}`),
    }),
    defineTool({ name: 'theirs', description: 'Runs elsewhere.' }),
  ]
  const open = (own: ScriptedCall[], more: Partial<RunnerOptions>) => {
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? { toolCalls: own }
        : messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])).join(),
    )
    return new AgentRunner({ model, logger, ...more })
  }
  const bank = asTool(open(calls, { tools }), { name: 'bank', description: 'Pays.' })
  const shop = asTool(open([{ id: 'call_1', name: 'bank', args: task }], { tools: [bank] }), { name: 'shop', description: 'Sells.' })
  const runner = open([{ id: 'call_1', name: 'shop', args: task }], { tools: [shop], ...settings })
  return { runner, records }
}

const path = [
  { agent: 'shop', toolCallId: 'call_1' },
  { agent: 'bank', toolCallId: 'call_1' },
]

describe.each(['state', 'journal'])('agents inside agents, with a %s', (where) => {
  /** Runs and resumes, each time with a runner of its own. */
  function travel(ran: unknown[], settings: Partial<RunnerOptions> = {}, calls?: ScriptedCall[]) {
    const kept = where === 'journal' ? { journal: memoryJournal() } : {}
    const open = () => openMall(ran, { ...settings, ...kept }, calls).runner
    let state: Parameters<AgentRunner['resume']>[0]
    const step = async (work: Promise<Awaited<ReturnType<AgentRunner['run']>>>) => {
      const result = await work
      state = result.state === undefined ? result.runId : stored(result.state)
      return result
    }
    return {
      run: () => step(open().run('go')),
      resume: (decisions: Decision[]) => step(open().resume(state, { decisions: stored(decisions) })),
      open,
    }
  }

  it('P3.2 an approval is reported once, with its path, and is decided as any other', async () => {
    const ran: unknown[] = []
    const { run, resume } = travel(ran)
    const paused = await run()
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'approval', tool: 'pay', args: { euros: 5 }, path }] })
    expect(JSON.stringify(paused.pending)).not.toContain('"state"')
    const result = await resume(approve(paused.pending, { args: { euros: 4 }, by: 'boss', note: 'fine' }))
    expect(result.output).toMatch(/^paid 4/)
    expect(ran).toEqual([4, { kind: 'approval', approved: true, by: 'boss', note: 'fine' }])
    expect(result.toolCalls[0]).toMatchObject({ tool: 'shop', decision: { kind: 'approval', by: 'boss', note: 'fine', path } })
  })

  it('P3.2 a refusal is reported to the agent that made the call', async () => {
    const ran: unknown[] = []
    const { run, resume } = travel(ran)
    const { pending } = await run()
    const result = await resume(pending.map((item) => ({ ...item, approved: false as const, reason: 'too dear' })))
    expect(result.output).toBe('The call to `pay` was refused: too dear')
    expect(ran).toEqual([])
  })

  it('P3.2 decided one by one, each is carried out immediately, and the others keep waiting', async () => {
    const ran: unknown[] = []
    const calls = [{ name: 'pay', args: { euros: 1 } }, { name: 'pay', args: { euros: 2 } }, { name: 'confirm' }, { name: 'theirs' }]
    const { run, resume } = travel(ran, {}, calls)
    const first = await run()
    expect(first.pending.map(({ kind }) => kind)).toEqual(['approval', 'approval', 'question', 'client_tool'])
    const [one, two, question, theirs] = first.pending
    if (one === undefined || two === undefined || question === undefined || theirs === undefined) throw new Error('Expected four items')
    const second = await resume(approve([two]))
    expect(second.pending).toEqual([one, question, theirs])
    expect(ran[0]).toBe(2)
    const third = await resume([{ ...one, approved: false }])
    expect(third.pending).toEqual([question, theirs])
    const { output, stopReason } = await resume([
      { ...theirs, result: 'theirs' },
      { ...question, answer: 'yes' },
    ])
    expect([stopReason, output]).toEqual(['answered', 'The call to `pay` was refused.,paid 2,heard yes,theirs'])
    expect(ran.filter(Number)).toEqual([2])
  })

  it('P3.2 a malformed or forged decision is refused, and nothing runs', async () => {
    const ran: unknown[] = []
    const { run, open } = travel(ran)
    const { runId, state, pending } = await run()
    const resume = (more: object) =>
      open().resume(state ?? runId, { decisions: pending.map((item) => ({ ...item, approved: true as const, ...more }) as Decision) })
    await expect(resume({ approved: true, result: 'paid' })).rejects.toMatchObject({ code: 'invalid_option' })
    await expect(resume({ approved: true, args: { euros: 'many' } })).rejects.toMatchObject({ code: 'invalid_option' })
    expect(ran).toEqual([])
  })
})

it('P3.2 approvals expire at every level', async () => {
  const ran: unknown[] = []
  const { state } = await openMall(ran, { decisionTimeoutMs: 1000 }).runner.run('go')
  const late = stored(state)
  for (const place of Object.keys(late?.waitingSince ?? {})) if (late !== undefined) late.waitingSince[place] = 0
  const result = await openMall(ran, { decisionTimeoutMs: 1000 }).runner.resume(late)
  expect(result).toMatchObject({ stopReason: 'answered', output: 'The call to `pay` was refused: nobody decided in time' })
  expect(ran).toEqual([])
})

it('P3.2 an item that keeps waiting keeps its time, whatever else is decided', async () => {
  const calls = [
    { name: 'pay', args: { euros: 1 } },
    { name: 'pay', args: { euros: 2 } },
  ]
  const open = () => openMall([], { decisionTimeoutMs: 60_000 }, calls).runner
  const first = await open().run('go')
  const [one, two] = first.pending
  const state = stored(first.state)
  if (one === undefined || two === undefined || state === undefined) throw new Error('Expected two items')
  state.waitingSince[two.place] = 7
  const second = await open().resume(state, { decisions: approve([one]) })
  // It was over: the answer to the second came with the first.
  expect(second).toMatchObject({ stopReason: 'answered', output: 'paid 1,The call to `pay` was refused: nobody decided in time' })
})

it('P3.2 calls of two agents with the same id and arguments are distinguished', async () => {
  const ran: unknown[] = []
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: (_args, { runId }) => void ran.push(runId) })
  const inner = () =>
    new AgentRunner({
      model: scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? { toolCalls: [{ id: 'c', name: 'pay' }] } : 'done')),
      tools: [pay],
    })
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'one', args: task },
        { name: 'two', args: task },
        { id: 'c', name: 'pay' },
      ],
    },
    'All.',
  ])
  const tools = [pay, ...['one', 'two'].map((name) => asTool(inner(), { name, description: name }))]
  const runner = new AgentRunner({ model, tools })
  const paused = await runner.run('go')
  expect(paused.pending.map(({ toolCallId, tool, path: [at] = [] }) => [toolCallId, tool, at?.agent])).toEqual([
    ['c', 'pay', 'one'],
    ['c', 'pay', 'two'],
    ['c', 'pay', undefined],
  ])
  expect(new Set(paused.pending.map(({ fingerprint }) => fingerprint)).size).toBe(3)
  const two = paused.pending.filter(({ path: [at] = [] }) => at?.agent === 'two')
  const half = await runner.resume(paused.state, { decisions: approve(two) })
  expect(ran).toHaveLength(1)
  expect(half.pending.map(({ path: [at] = [] }) => at?.agent)).toEqual(['one', undefined])
  const { stopReason } = await runner.resume(half.state, { decisions: approve(half.pending) })
  expect([stopReason, ran.length, new Set(ran).size]).toEqual(['answered', 3, 3])
})

it('P3.2 events name the call of the run, and the item within it', async () => {
  const { runner } = openMall([])
  const seen: unknown[] = []
  runner.on(Event.DECISION_NEEDED, ({ kind, tool, path: way }, { toolCallId }) => void seen.push([kind, tool, way, toolCallId]))
  runner.on(Event.DECISION_MADE, ({ approved, tool, path: way }, { toolCallId }) => void seen.push([approved, tool, way, toolCallId]))
  runner.on(Event.TOOL_CALL_END, ({ outcome, result }) => void seen.push([outcome, result]))
  const { state, pending } = await runner.run('go')
  await runner.resume(state, { decisions: approve(pending) })
  expect(seen).toEqual([
    ['question', 'The agent `shop` waits for decisions.'],
    ['approval', 'pay', path, 'call_1'],
    [true, 'pay', path, 'call_1'],
    ['ok', expect.stringMatching(/^paid 5/)],
  ])
})

it('P3.2 an agent that creates its tools for each run refuses invalid arguments, and asks again', async () => {
  const ran: unknown[] = []
  const parameters = { type: 'object', properties: { euros: { type: 'number' } } } as const
  const pay = defineTool({ name: 'pay', description: 'Pays.', parameters, approval: true, execute: ({ euros }) => void ran.push(euros) })
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'pay', args: { euros: 5 } }] } : 'done',
  )
  const inner = new AgentRunner({ model, tools: [pay] })
  const unknown = { run: inner.run.bind(inner), resume: inner.resume.bind(inner) }
  const outerModel = scriptedModel([{ toolCalls: [{ name: 'bank', args: task }] }, 'All.'])
  const runner = new AgentRunner({ model: outerModel, tools: [asTool(unknown, { name: 'bank', description: 'Pays.' })] })
  const paused = await runner.run('go')
  const again = await runner.resume(paused.state, { decisions: approve(paused.pending, { args: { euros: 'many' } }) })
  expect(again).toMatchObject({
    stopReason: 'paused',
    pending: [{ kind: 'approval', tool: 'pay', args: { euros: 5 }, about: { problem: expect.stringContaining('euros') } }],
  })
  const result = await runner.resume(again.state, { decisions: approve(again.pending, { args: { euros: 4 } }) })
  expect([result.output, ran]).toEqual(['All.', [4]])
})
