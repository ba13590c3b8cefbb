import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/runner.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'

const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' })

describe('options', () => {
  it('a model that takes no tool calls is not sent tools: the run is refused before anything is sent', async () => {
    const model = scriptedModel(['never'], { capabilities: { nativeTools: false } })
    const runner = new AgentRunner({ model, tools: [look] })
    await expect(runner.run('go')).rejects.toThrow(
      'Expected `tools` to be none: `scripted/scripted-model` takes no tool calls (`functionCalling: false`), got `["look"]`',
    )
    expect(model.requests).toHaveLength(0)
    expect(await runner.run('go', { tools: [] })).toMatchObject({ stopReason: 'answered' })
  })

  it.each([
    ['onLimit', 'go on', "Expected `onLimit` to be 'stop' or 'answer', got `\"go on\"`"],
    ['toolCalling', 'tags', "Expected `toolCalling` to be 'auto' or 'native', got `\"tags\"`"],
    ['approve', true, 'Expected `approve` to be a function, got `true`'],
    ['stopWhen', 3, 'Expected `stopWhen` to be a function, got `3`'],
    [
      'limits',
      { costUsd: 1 },
      'Expected `limits.costUsd` to be absent for a model that has no `price` and does not report its cost, got `1`',
    ],
  ])('%s: %j is refused by the constructor, and by a run', async (name, value, words) => {
    const model = scriptedModel(['never'])
    expect(() => new AgentRunner({ model, [name]: value })).toThrow(words)
    await expect(new AgentRunner({ model }).run('go', { [name]: value })).rejects.toThrow(words)
    expect(model.requests).toHaveLength(0)
  })
})
