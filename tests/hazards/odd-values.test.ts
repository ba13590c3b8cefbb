import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import type { Json, JsonObject } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, defineTool } from '../../src/tools/tool.ts'
import { hostileValues } from '../hostile-values.ts'
import { recordingLogger } from './recording-logger.ts'
import { expectValidHistory } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const values = hostileValues()
const isJson = (value: unknown) => JSON.parse(JSON.stringify(value))

describe('values that are not JSON', () => {
  it.each(values)('H37 a tool reports %s: watchers receive something, and the run continues', async (_name, value) => {
    const tool = defineTool({
      name: 'work',
      description: 'works',
      execute: (_args, { progress }) => {
        progress(value as Json)
        progress({ nested: value } as Json)
        return 'done'
      },
    })
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [call('work')] }, 'All done.']), tools: [tool] })
    const heard: string[] = []
    runner.on(Event.TOOL_PROGRESS, ({ tool }) => heard.push(tool))
    const stream = runner.stream('go')
    const events = await Array.fromAsync(stream)
    expect(await stream.result).toMatchObject({ stopReason: 'answered', toolCalls: [{ outcome: 'ok' }] })
    expect(heard).toEqual(['work', 'work'])
    expect(events.filter(({ type }) => type === 'TOOL_PROGRESS')).toHaveLength(2)
  })

  it.each(values)('H37 H38 a hook or a guardrail puts %s into the arguments: the call has JSON, or is refused', async (_name, value) => {
    for (const place of ['hooks', 'guardrails'] as const) {
      const work = countingTool('work')
      const args = { value } as JsonObject
      const change =
        place === 'hooks' ? { hooks: [{ beforeTool: () => ({ args }) }] } : { guardrails: [{ name: 'g', call: () => ({ replace: args }) }] }
      const { logger } = recordingLogger()
      const runner = new AgentRunner({
        model: scriptedModel([{ toolCalls: [call('work')] }, 'Done.']),
        logger,
        tools: [work.tool],
        ...change,
      })
      const heard: unknown[] = []
      runner.bus.onAny((_name, payload) => heard.push(payload))
      const result = await runner.run('go')
      expect(result).toMatchObject({ stopReason: 'answered', toolCalls: [{ tool: 'work' }] })
      const [{ args: recorded } = {}] = result.toolCalls
      expect(recorded).toEqual(isJson(recorded))
      for (const given of work.calls) expect(given).toEqual(isJson(given))
      expectValidHistory(result.messages)
    }
  })

  it('H38 a function among changed arguments is left out', async () => {
    const work = countingTool('work')
    const args = { n: 1, later: () => {} } as never
    const runner = new AgentRunner({
      model: scriptedModel([{ toolCalls: [call('work')] }, 'Done.']),
      tools: [work.tool],
      hooks: [{ beforeTool: () => ({ args }) }],
    })
    const stream = runner.stream('go')
    const started = (await Array.fromAsync(stream)).find(({ type }) => type === 'TOOL_CALL_START')
    expect(started).toMatchObject({ args: { n: 1 } })
    expect(work.calls).toEqual([{ n: 1 }])
  })

  it.each(values)('H33 a tool asks about %s: the run pauses with plain JSON, and continues from it', async (_name, value) => {
    const tool = defineTool({
      name: 'work',
      description: 'works',
      parameters: { type: 'object' },
      execute: (_args, { answer }) => (answer === undefined ? ask({ about: value as Json }) : `so it is ${String(answer)}`),
    })
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [call('work')] }, 'Done.']), tools: [tool] })
    const needed: unknown[] = []
    runner.on(Event.DECISION_NEEDED, (item) => needed.push(item))
    const paused = await runner.run('go')
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'question', tool: 'work' }] })
    expect(needed).toEqual(paused.pending)
    expect(isJson(paused.pending)).toEqual(paused.pending)
    const decisions = paused.pending.map((item) => ({ ...item, answer: 'good' }))
    expect(await runner.resume(isJson(paused.state), { decisions })).toMatchObject({ stopReason: 'answered' })
  })

  it('H37 a report with functions and BigInts is reported as far as possible', async () => {
    const tool = defineTool({
      name: 'work',
      description: 'works',
      execute: (_args, { progress }) => {
        progress({ done: 3, of: 10n, none: undefined, later: () => {} } as never)
        return 'done'
      },
    })
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [call('work')] }, 'Done.']), tools: [tool] })
    const heard: unknown[] = []
    runner.on(Event.TOOL_PROGRESS, ({ update }) => heard.push(update))
    await runner.run('go')
    expect(heard).toEqual([{ done: 3, of: '10' }])
  })
})
