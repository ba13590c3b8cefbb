import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { handoff } from '../../src/agent/sub-agents/handoff.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions, RunResult } from '../../src/agent/types/options.ts'
import { Event, type EventMeta, type RunEvent } from '../../src/core/events.ts'
import { textOf } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool, type ToolContext } from '../../src/tools/tool.ts'
import { type ModeScript, quickModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { expectValidHistory, resultTexts, stage } from './stage.ts'
import { call, countingTool, deafTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const usage = { inputTokens: 40, outputTokens: 10 }
const quiet = () => recordingLogger().logger
const researcher = { name: 'research', description: 'Finds things out.' }

function agent(turns: Parameters<typeof scriptedModel>[0], options: Omit<RunnerOptions, 'model'> = {}) {
  return new AgentRunner({ model: scriptedModel(turns), logger: quiet(), ...options })
}

describe.each(quickModes)('agents as tools: $name', (mode) => {
  it('H8 a nested agent uses the same budget, and its usage is added up', async () => {
    const look = countingTool('look')
    const inner: ModeScript = (_request, index) => ({ toolCalls: [call('look', { n: index })], usage })
    await using nested = await mode.open(inner)
    const inside = new AgentRunner({ model: nested.model, ...nested.options, tools: [look.tool], logger: quiet(), maxIterations: 50 })
    const outer: ModeScript = [
      { toolCalls: [call('research', { task: 'all' })], usage },
      { text: 'never', usage },
    ]
    await using on = await stage(mode, outer, { tools: [asTool(inside, researcher)], limits: { tokens: 200 } })
    const result = await on.run()
    // 50 of its own and 50 per request of the nested agent, so the fourth request in total is the last.
    expect(result).toMatchObject({ stopReason: 'budget', iterations: 1, usage: { totalTokens: 200, inputTokens: 160 } })
    expect(result.toolCalls).toMatchObject([{ outcome: 'failed', nested: { usage: { totalTokens: 150 }, toolCalls: 3 } }])
    expect(resultTexts(result)[0]).toContain('ended without an answer (budget)')
    expect(nested.requests()).toHaveLength(3)
  })

  it('H1 its answer is the call’s result; it sees only its task', async () => {
    await using nested = await mode.open([{ text: 'Seven.', usage }])
    const inside = new AgentRunner({ model: nested.model, ...nested.options, logger: quiet() })
    await using on = await stage(
      mode,
      [
        { toolCalls: [call('research', { task: 'count' })], usage },
        { text: 'It is seven.', usage },
      ],
      {
        tools: [asTool(inside, researcher)],
      },
    )
    const result = await on.run('How many?')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'It is seven.', usage: { totalTokens: 150 } })
    expect(resultTexts(result)).toEqual(['Seven.'])
    expect(nested.requests()[0]?.messages.at(-1)).toMatchObject({ role: 'user', content: 'count' })
  })
})

describe('agents as tools', () => {
  it('H30 aborting the outer run ends the inner one, even a deaf one', async () => {
    const deaf = deafTool('deaf')
    const inside = agent([{ toolCalls: [call('deaf', {})] }], { tools: [deaf.tool] })
    const outside = agent([{ toolCalls: [call('research', { task: 'x' })] }], { tools: [asTool(inside, researcher)] })
    const controller = new AbortController()
    const running = outside.run('go', { signal: controller.signal })
    await deaf.called
    controller.abort()
    const result = await running
    expect(result.stopReason).toBe('aborted')
    expectValidHistory(result.messages)
    expect((await deaf.called).aborted).toBe(true)
  })

  it('H8 the deadline and the call budget of the outer run apply to the inner one too', async () => {
    const look = countingTool('look')
    const inside = agent((_request, index) => ({ toolCalls: [call('look', { n: index })] }), { tools: [look.tool], maxIterations: 50 })
    const outside = agent([{ toolCalls: [call('research', { task: 'x' })] }, 'I could not.'], {
      tools: [asTool(inside, researcher)],
      limits: { toolCalls: 4 },
    })
    const spent = await outside.run('go')
    expect(spent).toMatchObject({ output: 'I could not.', toolCalls: [{ nested: { toolCalls: 3 } }] })
    expect(resultTexts(spent)[0]).toContain('(budget)')
    expect(look.calls).toHaveLength(3)
    const deaf = deafTool('deaf')
    const slow = agent([{ toolCalls: [call('deaf', {})] }], { tools: [deaf.tool] })
    const limited = agent([{ toolCalls: [call('research', { task: 'x' })] }], {
      tools: [asTool(slow, researcher)],
      limits: { deadlineMs: 30 },
    })
    expect(await limited.run('go')).toMatchObject({ stopReason: 'deadline' })
  })

  it('H8 a cost limit needs the inner model’s price', async () => {
    const priced = { capabilities: { nativeTools: true, price: { input: 1, output: 1 } } }
    const inside = agent(['never'])
    const model = scriptedModel([{ toolCalls: [call('research', { task: 'x' })] }, 'done'], priced)
    const outside = new AgentRunner({ model, logger: quiet(), tools: [asTool(inside, researcher)], limits: { costUsd: 1 } })
    expect(resultTexts(await outside.run('go'))[0]).toContain('limits.costUsd')
  })

  it('nesting is limited; the model is told', async () => {
    const holder: { agent?: AgentRunner } = {}
    const deeper = defineTool({
      name: 'deeper',
      description: 'one more',
      execute: async (_args, ctx) => (await holder.agent?.run('go', { parent: ctx }))?.output,
    })
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      return last?.role === 'tool' ? textOf(last.content) : { toolCalls: [call('deeper', {})] }
    })
    holder.agent = new AgentRunner({ model, logger: quiet(), tools: [deeper], limits: { depth: 2 } })
    const result = await holder.agent.run('go')
    expect(result.output).toBe('Expected runs to be nested at most 2 levels deep (`limits.depth`)')
    expect(model.requests).toHaveLength(6)
  })

  it('H36 events name their run and the outer call; the stream includes them on request', async () => {
    const seen: EventMeta[] = []
    const script = () => agent([{ toolCalls: [call('look', {})] }, 'Seven.'], { tools: [countingTool('look').tool] })
    const run = async (forwardEvents: boolean) => {
      const inside = script()
      inside.on(Event.TOOL_CALL_START, (_payload, meta) => void seen.push(meta))
      const tools = [asTool(inside, { ...researcher, forwardEvents })]
      const stream = agent([{ toolCalls: [call('research', { task: 'x' }, 'outer_1')] }, 'Done.'], { tools }).stream('go')
      const events: RunEvent[] = []
      for await (const event of stream) events.push(event)
      return { events, result: await stream.result }
    }
    const silent = await run(false)
    expect(silent.events.some(({ meta }) => meta.runId !== silent.result.runId)).toBe(false)
    expect(seen).toMatchObject([{ parentRunId: silent.result.runId, parentToolCallId: 'outer_1', depth: 1 }])
    const told = await run(true)
    const inner = told.events.filter(({ meta }) => meta.parentRunId === told.result.runId)
    expect(inner.map(({ type }) => type)).toContain('TOOL_CALL_START')
    expect(inner.at(-1)?.type).toBe('RUN_END')
  })

  it('the text of a stream belongs to its own run, whatever runs inside', async () => {
    const tools = [asTool(agent(['Seven.']), { ...researcher, forwardEvents: true })]
    const stream = agent([{ toolCalls: [call('research', { task: 'x' })] }, 'Done.'], { tools }).stream('go')
    let text = ''
    for await (const piece of stream.text) text += piece
    expect(text).toBe('Done.')
  })

  it('H33 H34 an inner agent that needs an approval: requested through the call, decided in another process, run once', async () => {
    const paid: unknown[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'pays',
      parameters: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
      approval: true,
      execute: ({ sum }) => {
        paid.push(sum)
        return 'paid'
      },
    })
    const outside = (inner: Parameters<typeof scriptedModel>[0], outer: Parameters<typeof scriptedModel>[0]) =>
      agent(outer, { tools: [asTool(agent(inner, { tools: [pay] }), researcher)] })
    const paused = await outside([{ toolCalls: [call('pay', { sum: 5 })] }], [{ toolCalls: [call('research', { task: 'x' })] }]).run('go')
    const [outerCall] = paused.messages.flatMap((message) => ('toolCalls' in message ? (message.toolCalls ?? []) : []))
    const path = [{ agent: 'research', toolCallId: outerCall?.id }]
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'approval', tool: 'pay', args: { sum: 5 }, path }] })
    expect(paid).toEqual([])
    const stored: RunResult = JSON.parse(JSON.stringify({ state: paused.state, pending: paused.pending }))
    const approved = (more: object = {}) => stored.pending.map((item) => ({ ...item, approved: true as const, ...more }))
    // A decision that can't be applied changes nothing.
    const wrong = outside([], []).resume(stored.state, { decisions: approved({ args: { sum: 'x' } }) })
    await expect(wrong).rejects.toThrow(/Expected `decisions\[0\]\.args` to be arguments of `pay` .*number/s)
    expect(paid).toEqual([])
    const result = await outside(['Paid it.'], ['All done.']).resume(stored.state, { decisions: approved() })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'All done.' })
    expect(paid).toEqual([5])
    expect(resultTexts(result)).toEqual(['Paid it.'])
    expectValidHistory(result.messages)
  })

  it('`approve` of the outer run decides for the inner one', async () => {
    const wipe = defineTool({ name: 'wipe', description: 'wipes', approval: true, execute: () => 'wiped' })
    const asked: string[] = []
    const outside = agent([{ toolCalls: [call('research', { task: 'x' })] }, 'done'], {
      tools: [asTool(agent([{ toolCalls: [call('wipe', {})] }, 'ok'], { tools: [wipe] }), researcher)],
      approve: ({ tool }) => {
        asked.push(tool)
        return true
      },
    })
    expect(await outside.run('go')).toMatchObject({ output: 'done' })
    expect(asked).toEqual(['wipe'])
  })

  it('`parent` must be a tool’s context', async () => {
    await expect(agent([]).run('go', { parent: {} as ToolContext })).rejects.toMatchObject({ code: 'invalid_option' })
    expect(() => asTool({} as AgentRunner, researcher)).toThrow(expect.objectContaining({ code: 'invalid_tool' }))
  })
})

describe.each(quickModes)('handoff: $name', (mode) => {
  it('H7 the other agent continues the conversation: its model, instructions and tools', async () => {
    const refund = countingTool('refund')
    await using billing = await mode.open([{ toolCalls: [call('refund', { n: 1 })] }, 'You have your money back.'])
    const specialist = new AgentRunner({
      model: billing.model,
      ...billing.options,
      tools: [refund.tool],
      instructions: 'You do refunds.',
      logger: quiet(),
    })
    await using on = await stage(mode, [{ toolCalls: [call('hand_off_to_billing', {})] }], {
      tools: [handoff(specialist, { name: 'billing', description: 'refunds' })],
      instructions: 'You greet.',
    })
    const told: object[] = []
    on.runner.on(Event.HANDOFF, (payload) => void told.push(payload))
    const result = await on.run('My money, please.')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'You have your money back.', agent: 'billing', iterations: 3 })
    expect(refund.calls).toEqual([{ n: 1 }])
    expect(told).toMatchObject([{ agent: 'billing' }])
    const [first] = billing.requests()
    const said = first?.messages.map(({ role, content }) => `${role}: ${textOf(content)}`).join('\n') ?? ''
    expect(said).toContain('You do refunds.')
    expect(said).not.toContain('You greet.')
    expect(said).toContain('My money, please.')
    expect(result.messages[0]).toMatchObject({ role: 'user' })
  })
})

describe('handoff', () => {
  it('an impossible handoff is a failed call, and the conversation stays', async () => {
    const broken = agent([], {
      instructions: () => {
        throw new Error('no instructions')
      },
    })
    const result = await agent([{ toolCalls: [call('hand_off_to_other', {})] }, 'Still me.'], {
      tools: [handoff(broken, { name: 'other', description: 'x' })],
    }).run('go')
    expect(result).toMatchObject({ output: 'Still me.', toolCalls: [{ outcome: 'failed' }] })
    expect(result).not.toHaveProperty('agent')
  })

  it('H34 a run that pauses after a handoff is resumed by the other agent', async () => {
    const wipe = defineTool({ name: 'wipe', description: 'wipes', approval: true, execute: () => 'wiped' })
    const make = (outer: Parameters<typeof scriptedModel>[0], inner: Parameters<typeof scriptedModel>[0]) =>
      agent(outer, { tools: [handoff(agent(inner, { tools: [wipe], instructions: 'Careful.' }), { name: 'ops', description: 'x' })] })
    const paused = await make([{ toolCalls: [call('hand_off_to_ops', {})] }], [{ toolCalls: [call('wipe', {})] }]).run('go')
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ tool: 'wipe' }] })
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const result = await make([], ['Wiped.']).resume(JSON.parse(JSON.stringify(paused.state)), { decisions })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Wiped.', agent: 'ops' })
  })
})
