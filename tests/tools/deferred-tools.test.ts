import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { isToolResult, textOf } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { deferTools } from '../../src/tools/deferred-tools.ts'
import { ToolDispatcher } from '../../src/tools/dispatcher.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { ToolRunner } from '../../src/tools/tool-runner.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const invoice = defineTool({
  name: 'create_invoice',
  description: 'Writes an invoice to a customer.',
  parameters: { type: 'object', properties: { customer: { type: 'string' }, euros: { type: 'number' } }, required: ['customer', 'euros'] },
  approval: ({ euros }) => euros > 100,
  execute: ({ customer, euros }) => `invoice of ${euros} to ${customer}`,
})
const weather = defineTool({ name: 'getWeather', description: 'Temperature and rain in a city.', execute: () => 'rain' })
const clock = defineTool({ name: 'clock', description: 'The time.', execute: () => '12:00' })
const others = Array.from({ length: 300 }, (_, index) =>
  defineTool({ name: `other_${index}`, description: `Something else, ${index}.`, execute: () => index }),
)
const registry = () => new ToolRegistry([clock, ...others, weather, invoice])
const names = (found: unknown) => (found as { tools: { name: string }[] }).tools.map(({ name }) => name)

describe('deferTools', () => {
  it('shows the model the kept tools, `search_tools` and `call_tool`, and never changes them', () => {
    const tools = deferTools(registry(), { keep: ['clock'] })
    expect(tools.names()).toEqual(['clock', 'search_tools', 'call_tool'])
    expect([tools.size, tools.list().length]).toEqual([3, 3])
    expect(tools.getAllSpecs()).toBe(tools.getAllSpecs())
    expect(tools.get('getWeather')).toBe(weather)
    expect(tools.hidden?.()).toHaveLength(302)
  })

  it.each([
    ['invoice', 'create_invoice'],
    ['invoices for customers', 'create_invoice'],
    ['create_invoice', 'create_invoice'],
    ['what is the weather?', 'getWeather'],
    ['GETWEATHER', 'getWeather'],
    ['temperatures', 'getWeather'],
    ['other_7', 'other_7'],
  ])('finds tools by name, description and parameters: %s', async (query, name) => {
    const found = await new ToolDispatcher([{ kind: 'mcp', tools: deferTools(registry()) }]).dispatch('search_tools', { query })
    expect(found.success && names(found.result)[0]).toBe(name)
  })

  it('finds words in scripts without spaces', async () => {
    const tools = new ToolRegistry([defineTool({ name: 'w', description: '查询城市天气', execute: () => 1 }), ...others])
    const found = await new ToolDispatcher([{ kind: 'mcp', tools: deferTools(tools) }]).dispatch('search_tools', { query: '天气怎么样' })
    expect(found.success && names(found.result)).toEqual(['w'])
  })

  it('returns the best matches and the number of others', async () => {
    const dispatcher = new ToolDispatcher([{ kind: 'mcp', tools: deferTools(registry(), { maxFound: 2 }) }])
    const found = await dispatcher.dispatch('search_tools', { query: 'something' })
    expect(found).toMatchObject({ success: true, result: { more: 298 } })
    expect(await dispatcher.dispatch('search_tools', { query: 'xyzzy' })).toEqual({ success: true, result: { tools: [], more: 0 } })
  })

  it('lets found tools be called with their own schema, approval, name and record; concurrent runs are independent', async () => {
    const tools = deferTools(registry())
    const model = () =>
      scriptedModel([
        { toolCalls: [{ name: 'search_tools', args: { query: 'invoice' } }] },
        {
          toolCalls: [
            { name: 'call_tool', args: { name: 'create_invoice', arguments: { customer: 'Ada', euros: 5 } } },
            { name: 'call_tool', args: { name: 'create_invoice', arguments: { customer: 'Ada' } } },
            { name: 'call_tool', args: { name: 'create_invoice', arguments: { customer: 'Ada', euros: 500 } } },
            { name: 'call_tool', args: { name: 'nope', arguments: {} } },
            { name: 'call_tool', args: { arguments: {} } },
            { name: 'call_tool', args: { name: 'call_tool', arguments: { name: 'clock', arguments: {} } } },
            { name: 'clock', args: {} },
          ],
        },
        'done',
      ])
    const models = [model(), model()]
    const runs = await Promise.all(models.map((one) => new AgentRunner({ model: one, tools, logger: recordingLogger().logger }).run('go')))
    for (const [at, { stopReason, pending, toolCalls }] of runs.entries()) {
      expect(stopReason).toBe('paused')
      expect(pending).toMatchObject([{ tool: 'create_invoice', args: { customer: 'Ada', euros: 500 } }])
      expect(toolCalls.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
        'search_tools ok',
        'create_invoice ok',
        'create_invoice rejected',
        'nope rejected',
        'call_tool rejected',
        'call_tool failed',
        'clock ok',
      ])
      expect(toolCalls[1]?.content).toBe('invoice of 5 to Ada')
      expect(toolCalls[2]?.content).toMatch(/`euros`/)
      expect(toolCalls[3]?.content).toBe('Tool not found: nope. Available tools: search_tools, call_tool.')
      const sent = models[at]?.requests.map((request) => JSON.stringify(request.tools))
      expect(new Set(sent).size).toBe(1)
    }
  })

  it('works within a dispatcher, which reports hidden names that are taken', async () => {
    const { logger, records } = recordingLogger()
    const tools = new ToolDispatcher(
      [
        { kind: 'registered', tools: [clock] },
        { kind: 'mcp', tools: deferTools(registry()) },
      ],
      { logger },
    )
    expect(tools.names()).toEqual(['clock', 'search_tools', 'call_tool'])
    expect(records.map(({ fields }) => fields)).toEqual([{ tool: 'clock', used: 'registered', ignored: 'mcp' }])
    expect(await tools.dispatch('call_tool', { name: 'getWeather', arguments: {} })).toEqual({ success: true, result: 'rain' })
    const model = scriptedModel([{ toolCalls: [{ name: 'call_tool', args: { name: 'getWeather', arguments: '{}' } }] }, 'done'])
    const { newMessages } = await new AgentRunner({ model, tools }).run('go')
    expect(newMessages.filter(isToolResult).map(({ name, content }) => `${name}: ${textOf(content)}`)).toEqual(['getWeather: rain'])
  })

  it('returns the found tool’s result to a caller that runs calls itself', async () => {
    const { logger } = recordingLogger()
    const runner = new ToolRunner(deferTools(registry()))
    const environment = {
      context: 1,
      signal: new AbortController().signal,
      timeoutMs: 1_000,
      runId: 'r',
      iteration: 1,
      idempotencyKey: 'k',
      maxResultBytes: 1_000,
      logger,
    }
    const end = async (args: object) => {
      const call = { id: 'c', type: 'function' as const, function: { name: 'call_tool', arguments: JSON.stringify(args) } }
      return (await runner.run(call, environment)).end
    }
    expect(await end({ name: 'getWeather', arguments: {} })).toMatchObject({ outcome: 'ok', value: 'rain' })
    expect(await end({ name: 'create_invoice', arguments: { customer: 'Ada' } })).toMatchObject({
      outcome: 'failed',
      content: /needs an approval/,
    })
    expect(await end({ name: 'nope', arguments: {} })).toMatchObject({
      outcome: 'failed',
      content: 'Tool not found: nope. Find the name with search_tools.',
    })
  })

  it('shows the result as that tool formats it, complete', async () => {
    const photo = defineTool({
      name: 'photo',
      description: 'd',
      execute: () => ({ data: 'AAAA', note: 'x'.repeat(2_000_000) }),
      toContent: ({ data }) => [{ type: 'image', data, mediaType: 'image/png' }],
    })
    const { logger } = recordingLogger()
    const dispatcher = new ToolDispatcher([{ kind: 'registered', tools: deferTools(new ToolRegistry([photo])) }], { logger })
    const call = { id: 'c', type: 'function' as const, function: { name: 'call_tool', arguments: '{"name":"photo","arguments":{}}' } }
    const environment = {
      context: 1,
      signal: new AbortController().signal,
      timeoutMs: 1_000,
      runId: 'r',
      iteration: 1,
      idempotencyKey: 'k',
    }
    const { end } = await new ToolRunner(dispatcher).run(call, { ...environment, maxResultBytes: 1_000, logger })
    expect(end).toMatchObject({
      outcome: 'ok',
      content: [{ type: 'image', data: 'AAAA' }],
      value: { note: expect.stringMatching(/^x{2000000}$/) },
    })
  })

  it('limits the cost of a search of any length', async () => {
    const many = Array.from({ length: 500 }, (_, at) =>
      defineTool({ name: `tool_${at}`, description: `Does what number ${at} does, and more than that.`, execute: () => at }),
    )
    const dispatcher = new ToolDispatcher([{ kind: 'registered', tools: deferTools(new ToolRegistry(many)) }])
    const query = `tool_7 ${Array.from({ length: 200_000 }, (_, at) => `zz${at}`).join(' ')}`
    expect(await dispatcher.dispatch('search_tools', { query })).toMatchObject({
      success: true,
      result: { tools: [{ name: 'tool_7' }, {}, {}, {}, {}] },
    })
  })

  it('only finds the tools that a run may use; an answer tool does not interfere', async () => {
    const script = [
      {
        toolCalls: [
          { name: 'call_tool', args: { name: 'getWeather', arguments: {} } },
          { name: 'call_tool', args: { name: 'clock', arguments: {} } },
        ],
      },
      { toolCalls: [{ name: 'answer', args: { ok: true } }] },
    ]
    const output = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
    const activeTools = ['search_tools', 'call_tool', 'getWeather']
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ model: scriptedModel(script), tools: deferTools(registry()), logger })
    const { toolCalls } = await runner.run('go', { activeTools, output, maxIterations: 2 })
    expect(toolCalls.slice(0, 2).map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual(['getWeather ok', 'clock rejected'])
  })

  it('finds tools that are added later, and refuses invalid options', () => {
    const set = registry()
    const tools = deferTools(set, { keep: ['late'] })
    set.register(defineTool({ name: 'late', description: 'l', execute: () => 1 }))
    expect(tools.names()).toEqual(['late', 'search_tools', 'call_tool'])
    expect(() => deferTools(set, { maxFound: 0 })).toThrow('maxFound')
    for (const keep of ['late', 5, [5]])
      expect(() => deferTools(set, { keep } as never)).toThrow('Expected `keep` to be an array or a set of names')
    expect(() => deferTools(deferTools(set))).toThrow('search_tools')
    expect(() => deferTools([clock] as never)).toThrow('Expected `tools` to be a set of tools, such as a `ToolRegistry`')
  })
})
