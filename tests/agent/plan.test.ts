import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { type PlanInput, planCalls } from '../../src/agent/calls/tool-call.ts'
import { History } from '../../src/agent/conversation/history.ts'
import type { Plan } from '../../src/agent/types/recorded.ts'
import type { FinishReason } from '../../src/core/events.ts'
import type { JsonObject, ToolCall } from '../../src/core/messages.ts'
import { type PreparedCall, prepareArguments } from '../../src/tools/arguments.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { anyCharacter } from '../any-text.ts'
import { nativeModes } from '../hazards/modes.ts'
import { stage } from '../hazards/stage.ts'

const tool = (name: string, more: object = {}) =>
  defineTool({ name, description: '', parameters: { type: 'object' }, effect: 'read', execute: () => name, ...more })

const wire = (name: string, args: JsonObject | string = {}, id = ''): ToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
})

interface Given {
  tools?: AnyTool[]
  finishReason?: FinishReason
  needsApproval?: PlanInput['needsApproval']
}

async function plan(
  calls: ToolCall[],
  { tools = [tool('search'), tool('get_time')], finishReason = 'tool_calls', needsApproval }: Given = {},
): Promise<Plan & { prepared: Map<string, PreparedCall> }> {
  const history = new History()
  const registry = new ToolRegistry(tools)
  const prepared = new Map<string, PreparedCall>()
  const made = await planCalls({
    calls,
    finishReason,
    registry,
    choice: undefined,
    uniqueIds: () => history.uniqueIds(),
    terms: {},
    isPreview: false,
    needsApproval: needsApproval ?? (async ({ tool: { approval } }) => (approval === true ? true : undefined)),
    prepared,
  })
  return { ...made, prepared }
}

describe('names', () => {
  it.each([
    'functions.search',
    'function.search',
    'functions:search',
    'functions/search',
    'tools.search',
    'tool.search',
    'default_api.search',
    'default_api:search',
    'search:0',
    'search:12',
    'functions.search:3',
    'SEARCH',
    'Search',
    ' search\n',
    '\\search',
    's\\earch',
  ])('Q30 %j is `search`, and that it was read so is recorded', async (name) => {
    const { calls, planned } = await plan([wire(name, { q: 1 }, 'c1')])
    expect(calls).toEqual([wire('search', { q: 1 }, 'c1')])
    expect(planned).toMatchObject([{ name: 'search', action: 'run', args: { q: 1 }, repairs: [`name \`${name}\` read as \`search\``] }])
  })

  it.each(['get\\_time', 'Get_Time', 'functions.get\\_time:0'])('Q30 %j is `get_time`', async (name) => {
    expect((await plan([wire(name)])).planned).toMatchObject([{ name: 'get_time', action: 'run' }])
  })

  it('Q30 a name that is exactly a tool’s needs no repair, whatever else would fit', async () => {
    const tools = [tool('search'), tool('SEARCH'), tool('functions')]
    const { planned } = await plan([wire('search'), wire('SEARCH'), wire('functions')], { tools })
    expect(planned.map(({ name, repairs }) => [name, repairs])).toEqual([
      ['search', undefined],
      ['SEARCH', undefined],
      ['functions', undefined],
    ])
  })

  it.each(['Search', 'sEARCH', 'functions.Search'])('Q30 where two tools could be meant by %j, none is', async (name) => {
    const { planned } = await plan([wire(name)], { tools: [tool('search'), tool('SEARCH')] })
    expect(planned).toMatchObject([{ action: 'reject', refusal: { code: 'tool_not_found' } }])
  })

  it.each([
    'searc',
    'search2',
    'search_',
    'my.search',
    'search.functions',
    'functions.',
    'functions.other',
    'se arch',
    '',
    ':0',
    '.',
    'functions.functions.search',
  ])('Q30 H17 %j is unknown, and is not replaced by the nearest tool', async (name) => {
    const { planned, prepared } = await plan([wire(name)])
    expect(planned).toMatchObject([
      { name, action: 'reject', refusal: { code: 'tool_not_found', text: `Tool not found: ${name}. Available tools: search, get_time.` } },
    ])
    expect(planned[0]).not.toHaveProperty('repairs')
    expect(prepared.size).toBe(0)
  })

  it.each(['__proto__', 'constructor', 'toString', 'functions.constructor'])('H14 %j is a name like any other', async (name) => {
    expect((await plan([wire(name)])).planned).toMatchObject([{ action: 'reject', refusal: { code: 'tool_not_found' } }])
    expect((await plan([wire('__proto__')], { tools: [tool('__proto__')] })).planned).toMatchObject([{ action: 'run', name: '__proto__' }])
  })

  it('Q30 whatever name a model writes, the history gets one that every provider takes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter, maxLength: 100 }), async (name) => {
        const { calls, planned } = await plan([wire(name)])
        expect(calls[0]?.function.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
        if (planned[0]?.action === 'reject') expect(planned[0].name).toBe(name)
      }),
    )
  })
})

describe('wrappers', () => {
  const uses = [
    { recipient_name: 'functions.search', parameters: { q: 'a' } },
    { recipient_name: 'functions.get_time', parameters: { zone: 'JST' } },
  ]
  const entries = [
    { name: 'search', arguments: { q: 'a' } },
    { name: 'get_time', arguments: '{"zone":"JST"}' },
  ]

  it.each<[string, object]>([
    ['multi_tool_use.parallel', { tool_uses: uses }],
    ['multi_tool_use_parallel', { tool_uses: uses }],
    ['functions.multi_tool_use.parallel', { tool_uses: uses }],
    ['parallel', { tool_uses: uses }],
    ['parallel', { calls: entries }],
    ['functions.parallel', { tool_calls: entries }],
  ])('Q31 the calls in an invented `%s` call are made, each on its own', async (name, args) => {
    const { calls, planned, prepared } = await plan([
      wire('search', { q: 'before' }, 'c1'),
      wire(name, JSON.stringify(args), 'c2'),
      wire('get_time', {}, 'c3'),
    ])
    expect(planned.map((call) => [call.name, call.action, call.args])).toEqual([
      ['search', 'run', { q: 'before' }],
      ['search', 'run', { q: 'a' }],
      ['get_time', 'run', { zone: 'JST' }],
      ['get_time', 'run', {}],
    ])
    expect(planned[1]?.repairs?.[0]).toBe(`unwrapped from \`${name}\``)
    expect(planned[0]?.repairs).toBeUndefined()
    expect(calls.map(({ id }) => id)).toEqual(planned.map(({ id }) => id))
    expect(new Set(calls.map(({ id }) => id)).size).toBe(4)
    expect(calls.map((call) => call.function.name)).toEqual(['search', 'search', 'get_time', 'get_time'])
    expect([...prepared.keys()].sort()).toEqual(calls.map(({ id }) => id).sort())
  })

  it('Q31 entries without arguments have none; one that is broken or unknown leaves the others alone', async () => {
    const tool_uses = [
      { recipient_name: 'search' },
      { recipient_name: 'nope', parameters: {} },
      { name: 'search', arguments: '{"q":' },
      uses[1],
    ]
    const { planned } = await plan([wire('parallel', JSON.stringify({ tool_uses }))])
    expect(planned.map(({ action, refusal }) => refusal?.code ?? action)).toEqual(['run', 'tool_not_found', 'tool_call_truncated', 'run'])
  })

  it('Q31 two wrappers of one id, or of none, make calls of their own ids', async () => {
    for (const id of ['c1', '']) {
      const { calls } = await plan([wire('parallel', { calls: entries }, id), wire('parallel', { calls: entries }, id)])
      expect(new Set(calls.map((call) => call.id)).size).toBe(4)
    }
  })

  it('Q31 a tool that has the wrapper’s name is that tool', async () => {
    const { planned } = await plan([wire('parallel', { calls: entries })], { tools: [tool('parallel'), tool('search')] })
    expect(planned).toMatchObject([{ name: 'parallel', action: 'run', args: { calls: entries } }])
  })

  it.each<[string, string]>([
    ['nothing in it', '{"tool_uses":[]}'],
    ['no list', '{"tool_uses":{}}'],
    ['another key', '{"uses":[]}'],
    ['an entry without a name', '{"tool_uses":[{"parameters":{}}]}'],
    ['an entry that is none', '{"tool_uses":[null]}'],
    ['no JSON', '{"tool_uses":['],
    ['no object', '[]'],
    ['no arguments', ''],
  ])('Q31 a call that is not a wrapper is a call to an unknown tool: %s', async (_, json) => {
    const { planned } = await plan([wire('multi_tool_use.parallel', json)])
    expect(planned).toMatchObject([{ name: 'multi_tool_use.parallel', action: 'reject', refusal: { code: 'tool_not_found' } }])
  })

  it.each(['my_parallel', 'parallel2', 'parallel.search', 'multi_tool_use'])('Q31 %s is no wrapper', async (name) => {
    expect((await plan([wire(name, { calls: entries })])).planned).toMatchObject([{ action: 'reject' }])
  })
})

describe('arguments that are checked asynchronously', () => {
  const never = tool('slow', { schema: { '~standard': { version: 1, vendor: 'own', validate: () => new Promise(() => {}) } } })

  it('H28 H29 a check that is never done is over when the time of an attempt is, or the run', async () => {
    const controller = new AbortController()
    expect(await prepareArguments({ ...never, timeoutMs: 5 }, '{}', { timeoutMs: 60_000, signal: controller.signal })).toEqual({
      ok: false,
      problem: { code: 'tool_timeout', message: 'Tool `slow` was not run: checking its arguments timed out after 5 ms.' },
    })
    const pending = prepareArguments(never, '{}', { timeoutMs: 60_000, signal: controller.signal })
    controller.abort()
    expect(await pending).toMatchObject({ ok: false, problem: { code: 'tool_cancelled' } })
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })
})

describe('what is done with a call', () => {
  it('runs, in the order of the response, with all that was made ready', async () => {
    const search = tool('search')
    const { planned, prepared, calls } = await plan([wire('search', { q: 2 }, 'b'), wire('search', { q: 1 }, 'a')], { tools: [search] })
    expect(planned).toEqual([
      { id: 'b', name: 'search', rawArguments: '{"q":2}', args: { q: 2 }, action: 'run', effect: 'read' },
      { id: 'a', name: 'search', rawArguments: '{"q":1}', args: { q: 1 }, action: 'run', effect: 'read' },
    ])
    expect(prepared.get('a')).toEqual({ tool: search, args: { q: 1 }, input: { q: 1 } })
    expect(calls).toEqual([wire('search', { q: 2 }, 'b'), wire('search', { q: 1 }, 'a')])
    expect(JSON.parse(JSON.stringify(planned))).toEqual(planned)
  })

  it('is the caller’s where the tool has no `execute`; its effect is unsafe unless it says otherwise', async () => {
    const client = defineTool({ name: 'confirm', description: '' })
    expect((await plan([wire('confirm')], { tools: [client] })).planned).toMatchObject([{ action: 'client', effect: 'unsafe' }])
  })

  it('H33 waits for an approval where one is needed', async () => {
    const tools = [tool('pay', { approval: true }), tool('search')]
    expect((await plan([wire('pay'), wire('search')], { tools })).planned.map(({ approval }) => approval)).toEqual([true, undefined])
  })

  it('H35 whether one is needed is not asked of arguments that don’t fit', async () => {
    const needsApproval = vi.fn(async () => true as const)
    const tools = [tool('pay', { approval: true, parameters: { type: 'object', required: ['sum'] } })]
    const { planned } = await plan([wire('pay'), wire('pay', '{'), wire('nope'), wire('pay', { sum: 1 })], { tools, needsApproval })
    expect(planned.map(({ action, approval }) => [action, approval])).toEqual([
      ['reject', undefined],
      ['reject', undefined],
      ['reject', undefined],
      ['run', true],
    ])
    expect(needsApproval).toHaveBeenCalledTimes(1)
  })

  it('H15 is refused when the response was cut, even a call that looks whole', async () => {
    const { planned, prepared } = await plan([wire('search', { q: 1 }), wire('nope'), wire('search', '{"q":')], { finishReason: 'length' })
    expect(planned.map(({ refusal }) => refusal?.code)).toEqual(['tool_call_truncated', 'tool_call_truncated', 'tool_call_truncated'])
    expect(planned[0]?.refusal?.text).toContain('truncated')
    expect(prepared.size).toBe(0)
  })

  it.each<[FinishReason]>([['stop'], ['tool_calls'], ['content_filter'], ['refusal']])(
    'Q7 runs whatever the finish reason says: %s',
    async (finishReason) => {
      expect((await plan([wire('search')], { finishReason })).planned).toMatchObject([{ action: 'run' }])
    },
  )

  it('S3-13 H10 H13 is refused in words when its arguments can’t be read or don’t fit; the others are not', async () => {
    const tools = [tool('search', { parameters: { type: 'object', properties: { q: { type: 'string' } } } })]
    const { planned } = await plan([wire('search', '{"q":'), wire('search', '[]'), wire('search', { q: 7 }), wire('search', { q: 'x' })], {
      tools,
    })
    expect(planned.map(({ refusal }) => refusal?.code)).toEqual([
      'tool_call_truncated',
      'invalid_arguments_json',
      'invalid_arguments',
      undefined,
    ])
    expect(planned[2]).toMatchObject({ args: { q: 7 }, rawArguments: '{"q":7}' })
    expect(planned[0]).not.toHaveProperty('args')
  })

  it('H18 any list of calls gets as many plans, in order, with ids of their own', async () => {
    const name = fc.constantFrom('search', 'get_time', 'nope', 'functions.search', '', 'multi tool')
    const json = fc.oneof(fc.json(), fc.string(), fc.constant('{}'))
    const call = fc.tuple(name, json, fc.constantFrom('', 'a', 'a_2', 'b')).map(([called, args, id]) => wire(called, args, id))
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 8 }), async (list) => {
        const { calls, planned, prepared } = await plan(list)
        expect(planned.map(({ rawArguments }) => rawArguments)).toEqual(list.map((given) => given.function.arguments))
        expect(calls.map(({ id }) => id)).toEqual(planned.map(({ id }) => id))
        expect(new Set(planned.map(({ id }) => id)).size).toBe(list.length)
        for (const { id, action, refusal } of planned) {
          expect(prepared.has(id)).toBe(action !== 'reject')
          expect(refusal === undefined).toBe(action !== 'reject')
        }
      }),
    )
  })
})

describe.each(nativeModes)('$name', (mode) => {
  it('Q30 Q31 in a run: repaired and opened calls are executed, their repairs are in the records, and the history is valid', async () => {
    await using set = await stage(
      mode,
      [
        {
          toolCalls: [
            {
              id: 'w',
              name: 'parallel',
              arguments: {
                tool_uses: [
                  { recipient_name: 'functions.look', parameters: { at: 1 } },
                  { recipient_name: 'look', parameters: { at: 2 } },
                ],
              },
            },
            { id: 'x', name: 'LOOK', arguments: { at: 3 } },
          ],
        },
        'done',
      ],
      { tools: [tool('look')] },
    )
    const result = await set.run()
    expect(result.toolCalls.map(({ tool: name, args, outcome }) => [name, args, outcome])).toEqual([
      ['look', { at: 1 }, 'ok'],
      ['look', { at: 2 }, 'ok'],
      ['look', { at: 3 }, 'ok'],
    ])
    expect(result.toolCalls.map(({ repairs }) => repairs?.length)).toEqual([2, 1, 1])
  })
})
