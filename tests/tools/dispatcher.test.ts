import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { isToolResult, textOf } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'
import { ToolDispatcher } from '../../src/tools/dispatcher.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { type AnyTool, ask, defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { deafTool } from '../hazards/tools.ts'

const says = (name: string, answer: string) => defineTool({ name, description: `Says ${answer}.`, execute: () => answer })

describe('ToolDispatcher', () => {
  it('S1-17 routes every call by name: the caller’s tools, then built-in ones, Skills, MCP, in whatever order they were given', async () => {
    const dispatcher = new ToolDispatcher([
      { kind: 'mcp', tools: [says('d', 'mcp')] },
      { kind: 'skill', tools: new ToolRegistry([says('c', 'skill')]) },
      { kind: 'registered', tools: [says('a', 'own')] },
      { kind: 'builtin', tools: [says('b', 'built-in')] },
    ])
    expect(dispatcher.names()).toEqual(['a', 'b', 'c', 'd'])
    expect(['a', 'b', 'c', 'd', 'e'].map((name) => dispatcher.sourceOf(name))).toEqual(['registered', 'builtin', 'skill', 'mcp', undefined])
    const results = await Promise.all(['a', 'b', 'c', 'd'].map((name) => dispatcher.dispatch(name)))
    expect(results).toEqual(['own', 'built-in', 'skill', 'mcp'].map((result) => ({ success: true, result })))
  })

  it('replace gives it other sources, and changes nothing if one of them is invalid', async () => {
    const { logger, records } = recordingLogger()
    const own = [says('a', 'own')]
    const dispatcher = new ToolDispatcher([{ kind: 'registered', tools: own }], { logger })
    const specs = dispatcher.getAllSpecs()
    const doubled = { kind: 'mcp', tools: [says('a', 'mcp'), says('b', 'mcp')] } as const
    for (const _ of [1, 2]) {
      dispatcher.replace([doubled, { kind: 'registered', tools: own }])
      expect([dispatcher.names(), dispatcher.getAllSpecs() === specs]).toEqual([['a', 'b'], false])
    }
    expect(records).toHaveLength(2)
    expect(() => dispatcher.replace([{ kind: 'other' as 'mcp', tools: [] }])).toThrow('sources[0].kind')
    expect(await dispatcher.dispatch('b')).toEqual({ success: true, result: 'mcp' })
    dispatcher.replace([])
    expect([dispatcher.size, dispatcher.get('a')]).toEqual([0, undefined])
  })

  it('S1-18 runs the built-in tool for its name', async () => {
    const dispatcher = new ToolDispatcher([{ kind: 'builtin', tools: builtinTools() }])
    expect(await dispatcher.dispatch('calculate', { expression: '6 * 7' })).toMatchObject({ success: true, result: { result: 42 } })
  })

  it('S1-20 uses the tool of the earlier source, with one warning per name', () => {
    const { logger, records } = recordingLogger()
    const skills = new ToolRegistry([says('calculate', 'skill'), says('other', 'skill')])
    const dispatcher = new ToolDispatcher(
      [
        { kind: 'skill', tools: skills },
        { kind: 'builtin', tools: [says('calculate', 'built-in')] },
      ],
      { logger },
    )
    expect(dispatcher.get('calculate')?.description).toBe('Says built-in.')
    expect(dispatcher.names()).toEqual(['calculate', 'other'])
    skills.register(says('third', 'skill'))
    expect(dispatcher.names()).toEqual(['calculate', 'other', 'third'])
    expect(records).toEqual([
      {
        level: 'warn',
        fields: { tool: 'calculate', used: 'builtin', ignored: 'skill' },
        message: 'two tools are named `calculate`: the built-in one is used, the one of a Skill is not',
      },
    ])
  })

  it.each(['nope', '__proto__', 'constructor', ''])(
    'S1-21 returns an error for the unknown name `%s`, and throws nothing',
    async (name) => {
      const dispatcher = new ToolDispatcher([{ kind: 'builtin', tools: builtinTools() }])
      expect(await dispatcher.dispatch(name, {})).toEqual({ success: false, error: `Tool not found: ${name}` })
      expect(await new ToolDispatcher([]).dispatch(name)).toEqual({ success: false, error: `Tool not found: ${name}` })
    },
  )

  it('S1-21 throws nothing, whatever an untyped caller passes', async () => {
    const dispatcher = new ToolDispatcher([{ kind: 'registered', tools: [says('a', 'own')] }])
    const circle: Record<string, unknown> = {}
    circle.circle = circle
    for (const args of [circle, null, 7, 1n, () => 1, '{"cut": ']) {
      expect(await dispatcher.dispatch('a', args as never), String(args)).toMatchObject({ success: false, error: /JSON/ })
    }
    const odd = {
      toString: () => {
        throw new Error('no text')
      },
    }
    expect(await dispatcher.dispatch(odd as never)).toMatchObject({ success: false, error: /^Tool not found: / })
    expect(await dispatcher.dispatch(Symbol('s') as never)).toEqual({ success: false, error: 'Tool not found: Symbol(s)' })
    expect(await dispatcher.dispatch('a', {}, { timeoutMs: 0 })).toMatchObject({ success: false, error: /timeoutMs/ })
    expect(await dispatcher.dispatch('a', {}, { signal: AbortSignal.abort() })).toMatchObject({ success: false, error: /cancelled/ })
  })

  it('refuses an invalid source immediately, and ignores a logger that throws', () => {
    const tools = [says('a', 'own')]
    const source = (kind: string, given: unknown) => () => new ToolDispatcher([{ kind: kind as never, tools: given as never }])
    expect(source('skills', tools)).toThrow('Expected `sources[0].kind` to be one of registered, builtin, skill, mcp, got `"skills"`')
    expect(source('skill', undefined)).toThrow('Expected `sources[0].tools` to be an array or another set of tools')
    const fails = () => {
      throw new Error('the disk is full')
    }
    const logger = { debug: fails, info: fails, warn: fails, error: fails }
    const kinds = ['registered', 'mcp'] as const
    expect(
      new ToolDispatcher(
        kinds.map((kind) => ({ kind, tools })),
        { logger },
      ).names(),
    ).toEqual(['a'])
  })

  it('S1-22 sends the model that error with the available names', async () => {
    const tools = new ToolDispatcher([
      { kind: 'skill', tools: [says('late', 'skill')] },
      { kind: 'registered', tools: [says('early', 'own')] },
    ])
    const model = scriptedModel([{ toolCalls: [{ name: 'nope' }, { name: 'late' }] }, 'done'])
    const result = await new AgentRunner({ model, tools }).run('go')
    expect(result.stopReason).toBe('answered')
    const sent = model.requests[1]?.messages.filter(isToolResult).map(({ content }) => textOf(content))
    expect(sent).toEqual(['Tool not found: nope. Available tools: early, late.', 'skill'])
  })

  it('S1-23 S1-24 S1-25 returns a timeout error and aborts the signal; the loop continues', async () => {
    const [mine, theirs] = [deafTool('mine'), deafTool('theirs', { timeoutMs: 10 })]
    const tools = new ToolDispatcher([{ kind: 'registered', tools: [mine.tool, theirs.tool] }])
    expect(await tools.dispatch('mine', {}, { timeoutMs: 20 })).toEqual({
      success: false,
      error: 'Tool `mine` timed out after 20 ms. It may have taken effect.',
    })
    expect((await mine.called).aborted).toBe(true)
    const model = scriptedModel([{ toolCalls: [{ name: 'theirs' }] }, 'done'])
    const result = await new AgentRunner({ model, tools }).run('go')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', toolCalls: [{ outcome: 'timeout' }] })
  })

  it('refuses a call that needs an approval or an answer, unless the caller has approved', async () => {
    const tools = new ToolDispatcher([
      { kind: 'registered', tools: [defineTool({ name: 'pay', description: 'p', approval: true, execute: () => 'paid' }), asking] },
    ])
    expect(await tools.dispatch('pay')).toMatchObject({ success: false, error: /needs an approval/ })
    expect(await tools.dispatch('pay', {}, { approved: true })).toEqual({ success: true, result: 'paid' })
    expect(await tools.dispatch('asks')).toMatchObject({ success: false, error: /nobody can answer it here/ })
  })

  it('returns the value itself, and a message for invalid arguments', async () => {
    const value = { big: 'x'.repeat(100_000), at: new Date(0) }
    const tool = defineTool({
      name: 'give',
      description: 'g',
      parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      execute: () => value,
    })
    const tools = new ToolDispatcher([{ kind: 'mcp', tools: [tool] }])
    const given = await tools.dispatch('give', { n: 1 })
    expect(given.success && given.result).toBe(value)
    expect(await tools.dispatch('give', '{"n": "one"}')).toMatchObject({ success: false, error: /`n`.*integer/ })
  })

  it('shows a source’s changes to the next turn, and returns the same array until then', async () => {
    const mcp = new ToolRegistry([says('old', 'old')])
    const grow = defineTool({ name: 'grow', description: 'g', execute: () => void mcp.register(says('new', 'new')) })
    const tools = new ToolDispatcher([
      { kind: 'registered', tools: [grow] },
      { kind: 'mcp', tools: mcp },
    ])
    const model = scriptedModel([
      { toolCalls: [{ name: 'old' }] },
      { toolCalls: [{ name: 'grow' }] },
      { toolCalls: [{ name: 'new' }] },
      'done',
    ])
    await new AgentRunner({ model, tools }).run('go')
    const sent = model.requests.map((request) => request.tools)
    expect(sent[1]).toEqual(sent[0])
    expect(sent.map((list) => list?.length)).toEqual([2, 2, 3, 3])
    expect(tools.getAllSpecs()).toBe(tools.getAllSpecs())
    expect(tools.list().map(({ name }) => name)).toEqual(['grow', 'old', 'new'])
  })

  it('asks no tool for anything during a turn, so that the cost does not grow with their number', () => {
    let asked = 0
    const many = new ToolRegistry(Array.from({ length: 1_000 }, (_, index) => says(`tool_${index}`, 'x')))
    const counting = {
      get size() {
        return many.size
      },
      get: (name: string): AnyTool | undefined => {
        asked++
        return many.get(name)
      },
      names: () => many.names(),
      list: () => many.list(),
      getAllSpecs: () => many.getAllSpecs(),
    }
    const tools = new ToolDispatcher([{ kind: 'mcp', tools: counting }])
    const specs = tools.getAllSpecs()
    asked = 0
    for (let turn = 0; turn < 100; turn++) expect(tools.getAllSpecs()).toBe(specs)
    expect([tools.size, asked]).toEqual([1_000, 0])
  })
})

const asking = defineTool({ name: 'asks', description: 'a', execute: () => ask({ about: 'what?' }) })
