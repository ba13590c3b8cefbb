import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'

const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' })

describe('options', () => {
  it('a model without native calls does not get tools: the run is refused before anything is sent', async () => {
    const model = scriptedModel(['never'], { capabilities: { nativeTools: false } })
    const words =
      "Expected `toolCalling` to be 'auto', 'tags', 'json' or another dialect for `scripted/scripted-model`, which does not support native calls, got `\"native\"`"
    expect(() => new AgentRunner({ model, tools: [look], toolCalling: 'native' })).toThrow(words)
    await expect(new AgentRunner({ model, tools: [look] }).run('go', { toolCalling: 'native' })).rejects.toThrow(words)
    expect(model.requests).toHaveLength(0)
  })

  it('the dialect of a model’s settings must exist', () => {
    const model = scriptedModel(['never'], { capabilities: { nativeTools: false, dialect: 'klingon' } })
    expect(() => new AgentRunner({ model })).toThrow(/^Expected `model\.dialect` to be .*one of tool-action, hermes, .*got `"klingon"`$/)
  })

  it.each([
    ['onLimit', 'go on', "Expected `onLimit` to be 'stop' or 'answer', got `\"go on\"`"],
    ['toolCalling', 'xml', "Expected `toolCalling` to be 'auto', 'native', 'tags', a Dialect or one of tool-action, hermes, json, "],
    [
      'toolCalling',
      { name: 'mine' },
      "Expected `toolCalling` to be 'auto', 'native', 'tags', a Dialect or one of tool-action, hermes, json, ",
    ],
    ['enableToolActionParsing', 'no', 'Expected `enableToolActionParsing` to be true or false, got `"no"`'],
    ['fencedTags', 'call', "Expected `fencedTags` to be 'text' or 'run', got `\"call\"`"],
    ['approve', true, 'Expected `approve` to be a function, got `true`'],
    ['hooks', {}, 'Expected `hooks` to be an array of hooks, got `{}`'],
    ['guardrails', {}, 'Expected `guardrails` to be an array of guardrails, got `{}`'],
    ['guardrails', [{}], 'Expected `guardrails[0].name` to be a string, got `undefined`'],
    ['activeTools', 'look', 'Expected `activeTools` to be an array of names, got `"look"`'],
    ['outputRetries', -1, 'Expected `outputRetries` to be an integer ≥ 0, got `-1`'],
    ['instructions', 3, 'Expected `instructions` to be a text or a function, got `3`'],
    ['stopWhen', 3, 'Expected `stopWhen` to be a function, got `3`'],
    [
      'limits',
      { costUsd: 1 },
      /^Expected `limits\.costUsd` to be absent for a model whose price is not known \(give `.+`.* `price`.*\), got `1`$/,
    ],
  ])('%s: %j is refused by the constructor, and by a run', async (name, value, words) => {
    const model = scriptedModel(['never'])
    expect(() => new AgentRunner({ model, [name]: value })).toThrow(words)
    await expect(new AgentRunner({ model }).run('go', { [name]: value })).rejects.toThrow(words)
    expect(model.requests).toHaveLength(0)
  })

  it.each([
    ['control', {}, 'Expected `control` to be a RunControl, got `{}`'],
    ['onText', 'log', 'Expected `onText` to be a function, got `"log"`'],
    ['recorder', {}, 'Expected `recorder` to be what `recordRun` of `toolloop/recording` gives, got `{}`'],
    ['signal', new AbortController(), 'Expected `signal` to be an AbortSignal, got `'],
  ])('%s: %j is refused by a run', async (name, value, words) => {
    await expect(new AgentRunner({ model: scriptedModel(['never']) }).run('go', { [name]: value })).rejects.toThrow(words)
  })

  it.each([[3], [['a']], [null], [Symbol('x')]])('instructions: a function that returns %j is refused by a run', async (returned) => {
    const model = scriptedModel(['never'])
    for (const instructions of [() => returned, async () => returned] as (() => never)[])
      await expect(new AgentRunner({ model, instructions }).run('go')).rejects.toThrow('Expected `instructions` to return a text, got `')
    expect(model.requests).toHaveLength(0)
  })

  it.each([
    ['bus', {}, 'Expected `bus` to be an EventBus, got `{}`'],
    ['journal', sqliteJournal, 'Expected `journal` to be a journal, such as `sqliteJournal` or `dbosJournal` gives, got `'],
    ['journal', null, 'Expected `journal` to be a journal, such as `sqliteJournal` or `dbosJournal` gives, got `null`'],
  ])('%s: %j is refused by the constructor', (name, value, words) => {
    expect(() => new AgentRunner({ model: scriptedModel([]), [name]: value })).toThrow(words)
  })

  it.each([[false], [{ info: () => {} }], [() => {}]])('logger: %j loses records, and the run continues', async (logger) => {
    const model = scriptedModel([{ toolCalls: [{ name: 'nothing' }] }, 'Here.'])
    const runner = new AgentRunner({ model, logger: logger as never })
    expect(await runner.run('go')).toMatchObject({ stopReason: 'answered', output: 'Here.' })
  })

  it('restore: anything but a function is refused by the constructor', () => {
    const restore = {} as never
    expect(() => new AgentRunner({ model: scriptedModel([]), restore })).toThrow('Expected `restore` to be a function, got `{}`')
  })

  it('P1.5 `model` and `instructions` of a run replace the runner’s, also for a class agent', async () => {
    class Own extends CustomAgent {
      override instructions() {
        return 'Of the agent.'
      }
    }
    const own = scriptedModel(['never'])
    for (const agent of [new AgentRunner({ model: own, instructions: 'Of the agent.' }), new Own({ model: own })]) {
      const model = scriptedModel(['Here.', 'Here.'])
      expect(await agent.run('go', { model, instructions: 'Of the run.' })).toMatchObject({
        output: 'Here.',
        steps: [{ provider: 'scripted' }],
      })
      const stream = agent.stream('go', { model, instructions: ({ context }) => `For ${context}.`, context: 'Ann' })
      expect((await stream.result).output).toBe('Here.')
      expect(model.requests.map(({ messages: [first] }) => first?.content)).toEqual(['Of the run.', 'For Ann.'])
      await expect(agent.run('go', { model: 'nobody/nothing' })).rejects.toMatchObject({ code: 'unknown_provider' })
      await expect(agent.run('go', { model, limits: { costUsd: 1 } })).rejects.toMatchObject({ code: 'invalid_option' })
    }
    expect(own.requests).toEqual([])
  })

  it('P1.5 `model` can be given to `resume`, and `instructions` can’t', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }]), tools: [pay] })
    const { state, pending } = await runner.run('go', { instructions: 'Of the run.' })
    const decisions = pending.map((item) => ({ ...item, approved: true as const }))
    const model = scriptedModel(['Paid.'])
    await expect(runner.resume(state, { decisions, instructions: 'x' } as never)).rejects.toMatchObject({ code: 'invalid_option' })
    expect(await runner.resume(state, { decisions, model })).toMatchObject({ output: 'Paid.' })
    expect(model.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'Of the run.' })
  })

  it('P1.5 an agent as a tool has the model and instructions of its options', async () => {
    const inner = scriptedModel(['Found.'])
    const helper = new AgentRunner({ model: scriptedModel([]), instructions: 'Of the agent.' })
    const tool = asTool(helper, { name: 'help', description: 'Helps.', options: { model: inner, instructions: 'Of the tool.' } })
    const model = scriptedModel([{ toolCalls: [{ name: 'help', args: { task: 'go' } }] }, 'Done.'])
    expect(await new AgentRunner({ model, tools: [tool] }).run('go')).toMatchObject({ toolCalls: [{ content: 'Found.' }] })
    expect(inner.requests[0]?.messages[0]?.content).toBe('Of the tool.')
  })
})
