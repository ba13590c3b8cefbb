import { describe, expect, it } from 'vitest'
import { type Hooks, ToolloopError } from '../../src/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { loopModes, type ModeScript } from './modes.ts'
import { comparable, resultTexts, stage } from './stage.ts'
import { call } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

function add(ran: unknown[]) {
  return defineTool({
    name: 'add',
    description: 'Adds.',
    parameters: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a', 'b'] },
    execute: ({ a, b }) => {
      ran.push([a, b])
      return a + b
    },
  })
}
const script = () => [{ toolCalls: [call('add', { a: 1, b: 2 }, 'call_1')] }, 'done']

describe.each(loopModes)('hooks: $name', (mode) => {
  async function runWith(hooks: readonly Hooks[] | undefined, more: object = {}) {
    const ran: unknown[] = []
    await using on = await stage(mode, script(), { tools: [add(ran)], ...(hooks === undefined ? {} : { hooks }), ...more })
    const result = await on.run()
    return { result, ran, log: on.log.map(({ message }) => message), events: on.events.map(({ name }) => name) }
  }

  it('H38 a hook that does nothing changes nothing', async () => {
    const plain = await runWith(undefined)
    const hooked = await runWith([{}, { beforeTool: () => undefined, afterTool: async () => undefined }])
    const withoutTimes = (result: typeof plain.result) => JSON.stringify(comparable(result), (key, value) => (/Ms$/.test(key) ? 0 : value))
    expect(withoutTimes(hooked.result)).toBe(withoutTimes(plain.result))
    expect(hooked.events).toEqual(plain.events)
  })

  it('H38 a hook refuses: nothing runs, the model learns why', async () => {
    const { result, ran } = await runWith([
      { beforeTool: () => ({ refuse: 'not today' }) },
      { beforeTool: () => ({ result: 'never asked' }) },
    ])
    expect(resultTexts(result)).toEqual(['The call to `add` was refused: not today'])
    expect(result.toolCalls).toMatchObject([{ outcome: 'denied', errorCode: 'tool_denied' }])
    expect(ran).toEqual([])
  })

  it('H38 hooks change arguments one after another; they are validated again', async () => {
    const addOne: Hooks = { beforeTool: ({ args }) => ({ args: { ...args, a: Number(args.a) + 1 } }) }
    const changed = await runWith([addOne, addOne])
    expect(changed.ran).toEqual([[3, 2]])
    expect(changed.result.toolCalls).toMatchObject([{ args: { a: 3, b: 2 }, repairs: ['arguments changed by a hook'] }])
    const wrong = await runWith([{ beforeTool: () => ({ args: { a: 'many' } }) }])
    expect(wrong.ran).toEqual([])
    expect(wrong.result.toolCalls).toMatchObject([{ outcome: 'rejected', errorCode: 'invalid_arguments' }])
  })

  it('H38 hooks answer for the tool, and replace results, the last hook first', async () => {
    const mark = (name: string): Hooks => ({ afterTool: ({ content }) => ({ content: `${name}(${String(content)})` }) })
    const { result, ran } = await runWith([mark('outer'), mark('inner'), { beforeTool: () => ({ result: { cached: 3 } }) }])
    expect(resultTexts(result)).toEqual(['outer(inner({"cached":3}))'])
    expect(ran).toEqual([])
  })

  it('H37 a hook that fails after the call, or changes its input, is logged once and skipped', async () => {
    const hooks: Hooks[] = [
      { name: 'rejects', afterTool: async () => Promise.reject(new Error('no')) },
      { name: 'deaf', afterTool: () => new Promise(() => {}) },
      {
        name: 'spoils',
        beforeTool: ({ args }) => {
          args.a = 1000
          return undefined
        },
      },
    ]
    const { result, ran, log } = await runWith(hooks, { toolTimeoutMs: 20 })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    expect(ran).toEqual([[1, 2]])
    expect(log).toEqual(['afterTool hook failed and was skipped', 'afterTool hook failed and was skipped'])
  })

  it.each<[string, Hooks['beforeTool']]>([
    [
      'throws',
      () => {
        throw new ToolloopError('aborted', 'no')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['never answers', () => new Promise(() => {})],
    ['returns something unknown', () => ({ refused: 'a typo' }) as never],
    ['returns false', () => false as never],
  ])('P1.2 H37 a `beforeTool` hook that %s refuses the call, and the run continues', async (_how, beforeTool) => {
    const { result, ran, log } = await runWith([{ beforeTool }], { toolTimeoutMs: 20 })
    expect(ran).toEqual([])
    expect(resultTexts(result)).toEqual(['The call to `add` was refused: the check itself failed'])
    expect(result).toMatchObject({ stopReason: 'answered', toolCalls: [{ outcome: 'denied', errorCode: 'tool_denied' }] })
    expect(log).toEqual(['beforeTool hook failed: the call is refused'])
  })

  it('P1.2 a `beforeTool` hook with `onFailure: skip` is skipped if it fails', async () => {
    const { result, ran, log } = await runWith([{ onFailure: 'skip', beforeTool: () => Promise.reject(new Error('no')) }])
    expect([result.stopReason, ran, log]).toEqual(['answered', [[1, 2]], ['beforeTool hook failed and was skipped']])
  })

  it('P1.2 an `afterTool` hook with `onFailure: refuse` withholds the result if it fails', async () => {
    const hook: Hooks = { name: 'mask', onFailure: 'refuse', afterTool: () => Promise.reject(new Error('no')) }
    const { result, ran, log } = await runWith([hook])
    expect(ran).toEqual([[1, 2]])
    expect(resultTexts(result)).toEqual(['The result was withheld by mask: the check itself failed'])
    expect(result.toolCalls[0]?.value).toBeUndefined()
    expect([result.stopReason, log]).toEqual(['answered', ['afterTool hook failed: the result is withheld']])
  })
})

describe.each(loopModes)('hooks around the model: $name', (mode) => {
  async function runWith(hooks: readonly Hooks[], turns: ModeScript = script(), more: object = {}) {
    const ran: unknown[] = []
    await using on = await stage(mode, turns, { tools: [add(ran), wipe], hooks, ...more })
    const result = await on.run('What is 1 + 2?')
    const bodies = on.provider.requests.map(({ body }) => JSON.stringify(body))
    return { result, ran, requests: on.requests(), bodies, log: on.log.map(({ message }) => message) }
  }
  const wipe = defineTool({ name: 'wipe', description: 'Wipes.', execute: () => 'wiped' })

  it('H38 beforeModel changes messages, tools and tool choice for one turn, each hook seeing the previous result; the conversation stays', async () => {
    const seen: string[][] = []
    const { result, requests, bodies } = await runWith([
      {
        beforeModel: ({ messages, iteration }) =>
          iteration === 1 ? { messages: [...messages, { role: 'user', content: 'Be quick.' }], tools: ['add'] } : undefined,
      },
      { beforeModel: ({ tools }) => void seen.push([...tools]) },
    ])
    expect(seen).toEqual([['add'], ['add', 'wipe']])
    expect(JSON.stringify(requests[0]?.messages)).toContain('Be quick.')
    expect(JSON.stringify(requests[1]?.messages)).not.toContain('Be quick.')
    expect(bodies[0]).not.toContain('Wipes.')
    expect(bodies[1]).toContain('Wipes.')
    expect(result.messages).toHaveLength(4)
  })

  it('H38 beforeModel selects another model for one turn; afterModel replaces the stored text', async () => {
    await using other = await mode.open(['I am the other one.'])
    const { result } = await runWith([
      { beforeModel: ({ iteration }) => (iteration === 2 ? { model: other.model } : undefined) },
      { afterModel: ({ text, toolCalls }) => (toolCalls.length === 0 ? { text: text.toUpperCase() } : undefined) },
    ])
    expect(result.output).toBe('I AM THE OTHER ONE.')
    expect(result.messages.at(-1)).toMatchObject({ content: 'I AM THE OTHER ONE.' })
  })

  it('H45 messages that a hook leaves in disorder are reordered before they are sent', async () => {
    const { result, requests } = await runWith([
      {
        beforeModel: ({ messages, iteration }) =>
          iteration === 2 ? { messages: messages.filter(({ role }) => role !== 'tool') } : undefined,
      },
    ])
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    expect(JSON.stringify(requests[1]?.messages)).toContain('No result was recorded')
  })

  it('H37 a hook that fails, or returns something invalid, is logged once and skipped', async () => {
    const hooks: Hooks[] = [
      { beforeModel: () => Promise.reject(new Error('no')) },
      { beforeModel: () => ({ tools: ['nothing like it'] }) },
      { beforeModel: () => ({ model: 'nobody/knows' }) },
      { beforeModel: () => new Promise(() => {}) },
      { afterModel: () => ({ text: 1 }) as never },
    ]
    const { result, log } = await runWith(hooks, ['done'], { toolTimeoutMs: 20 })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    expect(log.filter((message) => message.endsWith('hook failed and was skipped'))).toHaveLength(hooks.length)
  })

  it('P1.2 H37 a `beforeModel` hook with `onFailure: refuse` ends the run `refused` if it fails: nothing is sent', async () => {
    const hook: Hooks = { name: 'policy', onFailure: 'refuse', beforeModel: () => Promise.reject(new Error('no database')) }
    const { result, ran, requests, log } = await runWith([hook])
    const message = 'The run was stopped: the `beforeModel` hook `policy` failed, and its `onFailure` is `refuse`'
    expect(result).toMatchObject({ stopReason: 'refused', output: '', error: { code: 'hook_failed', message }, steps: [] })
    expect(result.error?.cause).toMatchObject({ message: 'no database' })
    expect([ran, requests]).toEqual([[], []])
    expect(log).toEqual(['beforeModel hook failed: the run ends'])
    const later = await runWith([
      { ...hook, beforeModel: ({ iteration }) => (iteration === 2 ? Promise.reject(new Error('no')) : undefined) },
    ])
    expect(later.result).toMatchObject({ stopReason: 'refused', iterations: 1, toolCalls: [{ outcome: 'ok' }] })
    expect(later.requests).toHaveLength(1)
  })

  it('P1.2 an `afterModel` hook with `onFailure: refuse` ends the run without the text if it fails', async () => {
    const hook: Hooks = { onFailure: 'refuse', afterModel: () => ({ text: 1 }) as never }
    const usage = { inputTokens: 3, outputTokens: 2 }
    const { result, requests, log } = await runWith([hook], [{ text: 'a secret', usage }])
    expect(result).toMatchObject({ stopReason: 'refused', output: '', error: { code: 'hook_failed' }, steps: [{ iteration: 1 }] })
    expect(result.usage.totalTokens).toBe(5)
    expect(JSON.stringify(result.messages)).not.toContain('a secret')
    expect([requests.length, log]).toEqual([1, ['afterModel hook failed: the run ends']])
  })
})
