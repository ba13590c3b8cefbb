import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/core/messages.ts'
import { notFoundText } from '../../src/tools/call-texts.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { ask, BaseTool, defineTool, type ToolContext } from '../../src/tools/tool.ts'
import { ToolRunner } from '../../src/tools/tool-runner.ts'
import { hostileValues } from '../hostile-values.ts'
import { add, bench } from './call-bench.ts'

describe('ToolRunner', () => {
  it('S3-15 S2-7 parses, validates and executes a call, and returns a tool message', async () => {
    const { run } = bench([add])
    expect(await run('add', { a: 1, b: 2 })).toEqual({
      message: { role: 'tool', content: '3', toolCallId: 'call_1', name: 'add' },
      end: { outcome: 'ok', content: '3', value: 3, attempts: 1 },
    })
  })

  it('S3-13 H10 does not run a call that can’t be read, and says why', async () => {
    const execute = vi.fn(() => 'ran')
    const { run } = bench([defineTool({ name: 'any', description: '', parameters: { type: 'object' }, execute })])
    for (const [raw, code] of [
      ['{"a": 1', 'tool_call_truncated'],
      ['nonsense', 'invalid_arguments_json'],
      ['null', 'invalid_arguments_json'],
      ['[]', 'invalid_arguments_json'],
      ['"[]"', 'invalid_arguments_json'],
    ]) {
      const { message, end } = await run('any', String(raw))
      expect(end).toEqual({ outcome: 'rejected', code, content: message.content })
      expect(message).toMatchObject({ role: 'tool', toolCallId: 'call_1', name: 'any', isError: true })
      expect(message.content).toMatch(/^Arguments of tool `any` could not be read: /)
    }
    expect(execute).not.toHaveBeenCalled()
  })

  it('S3-15 H13 does not run an invalid call, and returns the parsed arguments', async () => {
    const { run } = bench([add])
    expect((await run('add', { a: '1' })).end).toMatchObject({
      outcome: 'rejected',
      code: 'invalid_arguments',
      args: { a: '1' },
      content:
        'Invalid arguments for tool `add`: arguments: missing required `b`; `a`: expected number, got string "1". Correct them and call it again.',
    })
  })

  it('names a hundred of very many tools, likely ones first', () => {
    const names = Array.from({ length: 10_000 }, (_, at) => (at === 9_999 ? 'create_invoice' : `tool_${at}`))
    const text = notFoundText('invoice.create', names)
    expect(text).toMatch(/^Tool not found: invoice\.create\. Available tools: create_invoice, tool_0, .*, tool_98 and 9900 more\.$/)
  })

  it('H17 names the available tools for an unknown one', async () => {
    const { run, runner } = bench([add, defineTool({ name: 'sub', description: '' })])
    expect((await run('mul')).message).toEqual({
      role: 'tool',
      content: 'Tool not found: mul. Available tools: add, sub.',
      toolCallId: 'call_1',
      name: 'mul',
      isError: true,
    })
    expect((await run('constructor')).end).toMatchObject({ outcome: 'rejected', code: 'tool_not_found' })
    expect(runner.notFound('x'.repeat(1_000_000)).length).toBeLessThan(400)
    expect(new ToolRunner(new ToolRegistry()).notFound('mul')).toBe('Tool not found: mul. No tools are available.')
  })

  it('does not run a tool without `execute`, or claim that it ran', async () => {
    const onStart = vi.fn()
    const { run } = bench([defineTool({ name: 'confirm', description: '' })], { onStart })
    expect((await run('confirm')).end).toEqual({
      outcome: 'rejected',
      code: 'tool_denied',
      content: 'Tool `confirm` is not run here: its caller runs it.',
      args: {},
    })
    expect(onStart).not.toHaveBeenCalled()
  })

  it('S0-30 calls a BaseTool’s `execute` and `toContent` with its own `this`', async () => {
    class Counter extends BaseTool {
      readonly name = 'counter'
      readonly description = ''
      readonly parameters = { type: 'object' }
      #count = 0
      execute() {
        return ++this.#count
      }
      toContent(value: number) {
        return `${value} of ${this.#count}`
      }
    }
    const { run } = bench([new Counter()])
    await run('counter')
    expect((await run('counter')).message.content).toBe('2 of 2')
  })

  it('finds tools that are added and removed', async () => {
    const registry = new ToolRegistry()
    const runner = new ToolRunner(registry)
    const { call, environment } = bench([])
    expect((await runner.run(call('add', { a: 1, b: 1 }), environment)).end.outcome).toBe('rejected')
    registry.register(add)
    expect((await runner.run(call('add', { a: 1, b: 1 }), environment)).end.outcome).toBe('ok')
  })
})

describe('execute', () => {
  it('receives its arguments and everything known about the call', async () => {
    const context = { user: 'ann' }
    let seen: { args: object; ctx: ToolContext } | undefined
    const tool = defineTool({
      name: 'look',
      description: '',
      parameters: { type: 'object' },
      execute: (args, ctx: ToolContext<{ user: string }>) => {
        seen = { args, ctx }
        return ctx.context.user
      },
    })
    const { run } = bench([tool], { context, answer: { yes: true } })
    expect((await run('look', { q: 1 })).end).toMatchObject({ value: 'ann' })
    expect(seen?.args).toEqual({ q: 1 })
    expect(seen?.ctx).toMatchObject({
      toolCallId: 'call_1',
      runId: 'run_1',
      iteration: 3,
      idempotencyKey: 'run_1/3.tool.0',
      attempt: 1,
      answer: { yes: true },
    })
    expect(seen?.ctx.context).toBe(context)
    expect(seen?.ctx.signal.aborted).toBe(false)
  })

  it('receives no answer if none was given, but null if null was', async () => {
    const seen: boolean[] = []
    const { run } = bench([defineTool({ name: 'look', description: '', execute: (_args, ctx) => void seen.push('answer' in ctx) })])
    await run('look')
    await run('look', {}, { answer: null })
    expect(seen).toEqual([false, true])
  })

  it('receives the transformed arguments', async () => {
    const tool = defineTool({
      name: 'when',
      description: '',
      parameters: z.object({ at: z.string().transform((text) => new Date(text)), n: z.number().default(7) }),
      execute: ({ at, n }) => [at.getTime(), n],
    })
    expect((await bench([tool]).run('when', { at: '1970-01-01T00:00:01Z' })).end).toMatchObject({ value: [1000, 7] })
  })

  it('receives a copy: its changes reach neither the record nor the next attempt', async () => {
    vi.useFakeTimers()
    try {
      const seen: Json[] = []
      const starts: object[] = []
      const tool = defineTool({
        name: 'greedy',
        description: '',
        parameters: { type: 'object', properties: { list: { type: 'array', items: { type: 'string' } } } },
        retries: 1,
        execute: ({ list }) => {
          seen.push(structuredClone(list ?? null))
          list?.splice(0)
          if (seen.length === 1) throw new Error('again')
          return 'done'
        },
      })
      const { run } = bench([tool], { onStart: (args) => starts.push(args) })
      const running = run('greedy', { list: ['a', 'b'] })
      await vi.advanceTimersByTimeAsync(200)
      expect((await running).end).toMatchObject({ outcome: 'ok', attempts: 2 })
      expect(seen).toEqual([
        ['a', 'b'],
        ['a', 'b'],
      ])
      expect(starts).toEqual([{ list: ['a', 'b'] }])
    } finally {
      vi.useRealTimers()
    }
  })

  it('S4-8 runs immediately after onStart, which is called once with the arguments', async () => {
    const order: unknown[] = []
    const tool = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, execute: () => void order.push('runs') })
    const { run } = bench([tool], { onStart: (args) => order.push(args) })
    await run('look', { q: 1 })
    await run('look', 'broken')
    expect(order).toEqual([{ q: 1 }, 'runs'])
  })
})

describe('the result of a call', () => {
  const returning = (value: unknown, more: object = {}) =>
    bench([defineTool({ name: 'give', description: '', execute: () => value, ...more })]).run('give')

  it('H21 has the value for the app and its text for the model', async () => {
    const value = new Map([['a', 1n]])
    const { end, message } = await returning(value)
    expect(end).toMatchObject({ outcome: 'ok' })
    expect(end.outcome === 'ok' && end.value).toBe(value)
    expect(message.content).toBe('{"a":"1"}')
  })

  it.each(hostileValues().filter(([name]) => !/then|proxy whose traps|revoked|a promise/.test(name)))(
    'H21 may be anything: %s',
    async (_, value) => {
      const { end, message } = await returning(value)
      expect(end.outcome).toBe('ok')
      expect(message.content).not.toBe('')
      expect(message.isError).toBeUndefined()
    },
  )

  it.each(hostileValues().filter(([name]) => name !== 'a promise'))(
    'H21 H23 may be anything that has a `then`, also in a list: %s',
    async (_, value) => {
      expect(['ok', 'failed']).toContain((await returning(value)).end.outcome)
      expect((await returning([value])).end.outcome).toBe('ok')
    },
  )

  it('H22 is capped, and a value too long to show is dropped', async () => {
    const { run } = bench([defineTool({ name: 'give', description: '', execute: () => 'x'.repeat(50_000_000) })], { maxResultBytes: 349 })
    const { end, message } = await run('give')
    expect(end).toMatchObject({ outcome: 'ok', value: undefined })
    expect(message.content).toBe(`${'x'.repeat(200)}\n\n(… 49999700 of 50000000 bytes cut here …)\n\n${'x'.repeat(100)}`)
  })

  it('is shown as `toContent` says: a text, or parts', async () => {
    expect((await returning(5, { toContent: (value: number) => `${value} apples` })).end).toMatchObject({ content: '5 apples', value: 5 })
    const parts = [
      { type: 'text', text: 'Here:' },
      { type: 'image', data: 'AA==', mediaType: 'image/png' },
    ]
    expect((await returning(5, { toContent: () => parts })).message.content).toEqual(parts)
  })

  it.each([
    ['', '(empty result)'],
    ['\ud800', '\ufffd'],
    [[], '(empty result)'],
  ])('H21 may be almost empty from `toContent`: %j', async (content, shown) => {
    expect((await returning(5, { toContent: () => content })).message.content).toBe(shown)
  })

  it.each([undefined, null, 7, {}, Promise.resolve('late')])('is a failure if `toContent` returns no content: %s', async (content) => {
    expect((await returning(5, { toContent: () => content })).end).toMatchObject({
      outcome: 'failed',
      code: 'tool_failed',
      content: expect.stringMatching(
        /^Expected `toContent` (of tool `give` to return a string or an array of parts, got `|to answer at once, got a promise)/,
      ),
    })
  })

  it('is a failure if `toContent` throws, and the tool, which succeeded, is not run again', async () => {
    const execute = vi.fn(() => 'done')
    const tool = defineTool({
      name: 'pay',
      description: '',
      retries: 3,
      execute,
      toContent: () => {
        throw new Error('can’t show it')
      },
    })
    const { run, warnings } = bench([tool])
    expect((await run('pay')).end).toEqual({ outcome: 'failed', code: 'tool_failed', content: 'can’t show it', attempts: 1 })
    expect(execute).toHaveBeenCalledTimes(1)
    expect(warnings()).toHaveLength(1)
  })

  it('is a question if the tool returns `ask`', async () => {
    const question = { about: { really: true }, schema: { type: 'boolean' } }
    const { end, message } = await returning(ask(question), { retries: 3 })
    expect(end).toEqual({ outcome: 'question', question, attempts: 1 })
    expect(message).toEqual({ role: 'tool', content: '{"really":true}', toolCallId: 'call_1', name: 'give' })
  })

  it('H24 is a message that does not change with the value', async () => {
    const value = { list: [1] }
    const { message } = await returning(value)
    value.list.push(2)
    expect(message.content).toBe('{"list":[1]}')
  })
})
