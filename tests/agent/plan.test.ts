import { describe, expect, it } from 'vitest'
import { planCalls } from '../../src/agent/plan.ts'
import type { JsonObject, ToolCall } from '../../src/messages.ts'
import { prepareArguments } from '../../src/tools/arguments.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { modes } from '../hazards/modes.ts'
import { stage } from '../hazards/stage.ts'

const tool = (name: string) =>
  defineTool({ name, description: name, parameters: { type: 'object' }, execute: (args: JsonObject) => `${name} ${JSON.stringify(args)}` })

function plan(names: string[], ...calls: { name: string; json?: string }[]) {
  const wire = calls.map(
    ({ name, json = '{}' }, index): ToolCall => ({ id: `id${index}`, type: 'function', function: { name, arguments: json } }),
  )
  return planCalls({
    calls: wire,
    finishReason: 'tool_calls',
    registry: new ToolRegistry(names.map(tool)),
    notFound: (name) => `Tool not found: ${name}`,
    withUniqueIds: (list) => [...list],
    prepare: prepareArguments,
    needsApproval: async () => false,
  })
}

describe('names', () => {
  it.each([
    ['functions.search', 'search'],
    ['function.search', 'search'],
    ['tools.search', 'search'],
    ['default_api:search', 'search'],
    ['search:0', 'search'],
    ['functions.search:3', 'search'],
    ['Search', 'search'],
    ['SEARCH', 'search'],
    ['web\\_search', 'web_search'],
    [' search ', 'search'],
  ])('Q30 %j is read as %s, and the repair is recorded', async (written, meant) => {
    const { planned, calls } = await plan(['search', 'web_search', 'other'], { name: written })
    expect(planned).toMatchObject([{ name: meant, action: 'run', repairs: [`name \`${written}\` read as \`${meant}\``] }])
    expect(calls[0]?.function.name).toBe(meant)
  })

  it('Q30 an exact name is no repair, and where two tools could be meant none is', async () => {
    const { planned } = await plan(['Search', 'SEARCH', 'x'], { name: 'Search' }, { name: 'search' }, { name: 'functions.search' })
    expect(planned).toMatchObject([{ name: 'Search', action: 'run' }, { action: 'reject' }, { action: 'reject' }])
    expect(planned[0]).not.toHaveProperty('repairs')
    expect(planned[1]?.refusal).toEqual({ code: 'tool_not_found', text: 'Tool not found: search' })
  })

  it.each(['searchx', 'my.search', 'search search', '', '__proto__', 'constructor', 'toString'])(
    'Q30 %j is not guessed at',
    async (name) => {
      const { planned, calls } = await plan(['search'], { name })
      expect(planned).toMatchObject([{ action: 'reject', refusal: { code: 'tool_not_found' } }])
      expect(calls[0]?.function.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    },
  )
})

describe('wrappers', () => {
  const uses = {
    tool_uses: [
      { recipient_name: 'functions.search', parameters: { q: 'a' } },
      { recipient_name: 'functions.nope', parameters: {} },
      { recipient_name: 'other', parameters: { n: 1 } },
    ],
  }

  it.each(['multi_tool_use.parallel', 'multi_tool_use_parallel', 'functions.multi_tool_use.parallel', 'parallel'])(
    'Q31 the calls wrapped in %s are opened',
    async (name) => {
      const { planned, calls } = await plan(['search', 'other'], { name, json: JSON.stringify(uses) })
      expect(planned.map(({ name: of, action }) => [of, action])).toEqual([
        ['search', 'run'],
        ['functions.nope', 'reject'],
        ['other', 'run'],
      ])
      expect(planned[0]).toMatchObject({
        args: { q: 'a' },
        repairs: [`unwrapped from \`${name}\``, 'name `functions.search` read as `search`'],
      })
      expect(new Set(calls.map(({ id }) => id)).size).toBe(3)
    },
  )

  it('Q31 the other form, and arguments as text', async () => {
    const json = JSON.stringify({ calls: [{ name: 'search', arguments: '{"q":"b"}' }] })
    expect((await plan(['search'], { name: 'parallel', json })).planned).toMatchObject([{ name: 'search', args: { q: 'b' } }])
  })

  it.each([
    ['a tool has that name', ['parallel', 'search'], 'parallel', JSON.stringify(uses), 'run'],
    ['it is not readable', ['search'], 'parallel', '{"tool_uses": [', 'reject'],
    ['it holds no calls', ['search'], 'parallel', '{"tool_uses": []}', 'reject'],
    ['an entry names nothing', ['search'], 'parallel', '{"tool_uses": [{"parameters": {}}]}', 'reject'],
    ['another name', ['search'], 'wrapper', JSON.stringify(uses), 'reject'],
  ])('Q31 nothing is opened where %s', async (_why, names, name, json, action) => {
    expect((await plan(names, { name, json })).planned).toMatchObject([{ name, action }])
  })
})

describe.each(modes)('$name', (mode) => {
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
