import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import { switchableModel } from '../../src/models/combined/switchable.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockProvider } from '../../src/testing/index.ts'
import { call, countingTool } from '../hazards/tools.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const open = ({ baseURL }: MockProvider, model: string) => createModel({ provider: 'custom', model, baseURL, apiKey: 'k', maxRetries: 0 })

describe('a model that can be replaced during runs', () => {
  it('keeps its model for a turn in progress; the next turn asks the new one', async () => {
    await using one = await startStrictProvider({ script: [{ text: 'I look.', toolCalls: [call('look')] }] })
    await using two = await startStrictProvider({ script: ['done'] })
    const model = switchableModel(open(one, 'one'))
    const runner = new AgentRunner({ model, tools: [countingTool('look').tool] })
    const asked: string[] = []
    runner.on(Event.MODEL_START, (payload) => asked.push(payload.model))
    // In the middle of the first response.
    const off = runner.on(Event.TEXT_DELTA, () => {
      off()
      model.switchTo(open(two, 'two'))
    })
    const result = await runner.run('go')
    expect(result).toMatchObject({ output: 'done', stopReason: 'answered' })
    expect(asked).toEqual(['one', 'two'])
    expect(result.steps.map((step) => step.model)).toEqual(['one', 'two'])
    expect([one.requests.length, two.requests.length]).toEqual([1, 1])
  })

  it('asks the same model again within a turn, after an empty response', async () => {
    await using one = await startStrictProvider({ script: [{ text: '' }, 'one after all'] })
    await using two = await startStrictProvider({ script: ['never'] })
    const model = switchableModel(open(one, 'one'))
    const runner = new AgentRunner({ model })
    runner.on(Event.MODEL_START, () => model.switchTo(open(two, 'two')))
    expect((await runner.run('go')).output).toBe('one after all')
    expect(two.requests).toHaveLength(0)
  })

  it('reads each turn in its model’s own form, even if the new one writes calls as text', async () => {
    await using one = await startStrictProvider({ script: [{ toolCalls: [call('look', { n: 1 }, 'call_1')] }] })
    await using two = await startStrictProvider({
      script: ['Again. <tool_call>{"name": "look", "arguments": {"n": 2}}</tool_call>', 'done'],
    })
    const look = countingTool('look')
    const model = switchableModel(open(one, 'one'))
    const runner = new AgentRunner({ model, tools: [look.tool] })
    runner.on(Event.TOOL_CALL_END, () =>
      model.switchTo({ provider: 'custom', model: 'two', baseURL: two.baseURL, apiKey: 'k', dialect: 'hermes', maxRetries: 0 }),
    )
    const result = await runner.run('go')
    expect(result).toMatchObject({ output: 'done', stopReason: 'answered', iterations: 3 })
    expect(look.calls).toHaveLength(2)
    expect(two.requests[0]?.body.tools).toBeUndefined()
    expect(two.requests[0]?.rawBody).toContain('look done')
  })

  it('keeps the old model if the new one is invalid', () => {
    const model = switchableModel({ provider: 'custom', model: 'one', baseURL: 'http://127.0.0.1:1' })
    const before = model.current
    expect(() => model.switchTo('nobody/x')).toThrow('Expected a known provider')
    expect(model.current).toBe(before)
    model.switchTo({ provider: 'custom', model: 'two', baseURL: 'http://127.0.0.1:1', contextWindow: 10 })
    expect(model).toMatchObject({ provider: 'custom', model: 'two', capabilities: { contextWindow: 10 } })
  })
})
