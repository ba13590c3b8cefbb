import { getEventListeners } from 'node:events'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import type { Logger } from '../../src/log.ts'
import type { Json, ToolCall } from '../../src/messages.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { type ToolCallEnvironment, ToolRunner } from '../../src/tools/runner.ts'
import { type AnyTool, ask, BaseTool, defineTool, type ToolContext } from '../../src/tools/tool.ts'
import { hostileValues } from '../hostile-values.ts'

interface LogRecord {
  level: string
  fields: Record<string, unknown>
  message: string
}

function recordingLogger(): { logger: Logger; records: LogRecord[] } {
  const records: LogRecord[] = []
  const at = (level: string) => (fields: object, message: string) => void records.push({ level, fields: { ...fields }, message })
  return { logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, records }
}

type Environment = Omit<ToolCallEnvironment, 'toolCallId'>

/** A tool runner of its own, what it logs, and a way to call a tool of it. */
function bench(tools: AnyTool[], more: Partial<Environment> = {}) {
  const { logger, records } = recordingLogger()
  const controller = new AbortController()
  const environment: Environment = {
    context: undefined,
    signal: controller.signal,
    runId: 'run_1',
    iteration: 3,
    idempotencyKey: 'run_1/3.tool.0',
    timeoutMs: 1_000,
    maxResultBytes: 65_536,
    logger,
    ...more,
  }
  const runner = new ToolRunner(new ToolRegistry(tools))
  const call = (name: string, args: Json | string = {}): ToolCall => ({
    id: 'call_1',
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  })
  const run = (name: string, args: Json | string = {}, over: Partial<Environment> = {}) =>
    runner.run(call(name, args), { ...environment, ...over })
  return { runner, run, call, environment, controller, records, warnings: () => records.filter(({ level }) => level === 'warn') }
}

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})

describe('a call', () => {
  it('S3-15 S2-7 is parsed, validated, executed, and becomes a tool message', async () => {
    const { run } = bench([add])
    expect(await run('add', { a: 1, b: 2 })).toEqual({
      message: { role: 'tool', content: '3', toolCallId: 'call_1', name: 'add' },
      end: { outcome: 'ok', content: '3', value: 3, attempts: 1 },
    })
  })

  it('S3-13 H10 that can’t be read is not run, and its message says why', async () => {
    const execute = vi.fn(() => 'ran')
    const { run } = bench([defineTool({ name: 'any', description: '', parameters: { type: 'object' }, execute })])
    for (const [raw, code] of [
      ['{"a": 1', 'tool_call_truncated'],
      ['nonsense', 'invalid_arguments_json'],
      ['null', 'invalid_arguments_json'],
      ['[]', 'invalid_arguments_json'],
      ['"{}"', 'invalid_arguments_json'],
    ]) {
      const { message, end } = await run('any', String(raw))
      expect(end).toEqual({ outcome: 'rejected', code, content: message.content })
      expect(message).toMatchObject({ role: 'tool', toolCallId: 'call_1', name: 'any', isError: true })
      expect(message.content).toMatch(/^Arguments of tool `any` could not be read: /)
    }
    expect(execute).not.toHaveBeenCalled()
  })

  it('S3-15 H13 that does not fit is not run; the parsed arguments are there', async () => {
    const { run } = bench([add])
    expect((await run('add', { a: '1' })).end).toMatchObject({
      outcome: 'rejected',
      code: 'invalid_arguments',
      args: { a: '1' },
      content:
        'Invalid arguments for tool `add`: arguments: missing required `b`; `a`: expected number, got string "1". Correct them and call it again.',
    })
  })

  it('H17 of a tool that is not there names those that are', async () => {
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

  it('of a tool without `execute` is not run here, and does not pass for having run', async () => {
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

  it('S0-30 of a BaseTool runs with its own `this`, `toContent` too', async () => {
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

  it('finds tools that come and go', async () => {
    const registry = new ToolRegistry()
    const runner = new ToolRunner(registry)
    const { call, environment } = bench([])
    expect((await runner.run(call('add', { a: 1, b: 1 }), environment)).end.outcome).toBe('rejected')
    registry.register(add)
    expect((await runner.run(call('add', { a: 1, b: 1 }), environment)).end.outcome).toBe('ok')
  })
})

describe('what a tool is given', () => {
  it('its arguments and all there is to know of the call', async () => {
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

  it('no answer where none was given, but null where null was', async () => {
    const seen: boolean[] = []
    const { run } = bench([defineTool({ name: 'look', description: '', execute: (_args, ctx) => void seen.push('answer' in ctx) })])
    await run('look')
    await run('look', {}, { answer: null })
    expect(seen).toEqual([false, true])
  })

  it('what its schema made of the arguments', async () => {
    const tool = defineTool({
      name: 'when',
      description: '',
      parameters: z.object({ at: z.string().transform((text) => new Date(text)), n: z.number().default(7) }),
      execute: ({ at, n }) => [at.getTime(), n],
    })
    expect((await bench([tool]).run('when', { at: '1970-01-01T00:00:01Z' })).end).toMatchObject({ value: [1000, 7] })
  })

  it('arguments of its own: what it does to them reaches neither the record nor the next attempt', async () => {
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

  it('S4-8 onStart comes once, immediately before the function, with the arguments', async () => {
    const order: unknown[] = []
    const tool = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, execute: () => void order.push('runs') })
    const { run } = bench([tool], { onStart: (args) => order.push(args) })
    await run('look', { q: 1 })
    await run('look', 'broken')
    expect(order).toEqual([{ q: 1 }, 'runs'])
  })
})

describe('what comes back', () => {
  const returning = (value: unknown, more: object = {}) =>
    bench([defineTool({ name: 'give', description: '', execute: () => value, ...more })]).run('give')

  it('H21 the value for the app, its text for the model', async () => {
    const value = new Map([['a', 1n]])
    const { end, message } = await returning(value)
    expect(end).toMatchObject({ outcome: 'ok' })
    expect(end.outcome === 'ok' && end.value).toBe(value)
    expect(message.content).toBe('{"a":"1"}')
  })

  it.each(hostileValues().filter(([name]) => !/then|proxy whose traps|revoked/.test(name)))('H21 anything: %s', async (_, value) => {
    const { end, message } = await returning(value)
    expect(end.outcome).toBe('ok')
    expect(message.content).not.toBe('')
    expect(message.isError).toBeUndefined()
  })

  it.each(hostileValues())('H21 H23 anything that is looked at for a `then`, and anything in a list: %s', async (_, value) => {
    expect(['ok', 'failed']).toContain((await returning(value)).end.outcome)
    expect((await returning([value])).end.outcome).toBe('ok')
  })

  it('H22 is capped, and what is too long to show is not kept either', async () => {
    const { run } = bench([defineTool({ name: 'give', description: '', execute: () => 'x'.repeat(50_000_000) })], { maxResultBytes: 300 })
    const { end, message } = await run('give')
    expect(end).toMatchObject({ outcome: 'ok', value: undefined })
    expect(message.content).toBe(`${'x'.repeat(200)}\n\n(… 49999700 of 50000000 bytes cut here …)\n\n${'x'.repeat(100)}`)
  })

  it('`toContent` says what the model sees: a text, or parts', async () => {
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
  ])('H21 `toContent` of next to nothing: %j', async (content, shown) => {
    expect((await returning(5, { toContent: () => content })).message.content).toBe(shown)
  })

  it.each([undefined, null, 7, {}, Promise.resolve('late')])('`toContent` that returns no content: %s', async (content) => {
    expect((await returning(5, { toContent: () => content })).end).toMatchObject({
      outcome: 'failed',
      code: 'tool_failed',
      content: expect.stringMatching(/^Expected `toContent` of tool `give` to return a text or an array of parts, got `/),
    })
  })

  it('`toContent` that throws: the call has failed, but the tool, which did its work, is not run again', async () => {
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

  it('`ask` ends the call with a question', async () => {
    const question = { about: { really: true }, schema: { type: 'boolean' } }
    const { end, message } = await returning(ask(question), { retries: 3 })
    expect(end).toEqual({ outcome: 'question', question, attempts: 1 })
    expect(message).toEqual({ role: 'tool', content: '{"really":true}', toolCallId: 'call_1', name: 'give' })
  })

  it('H24 the message does not change with the value', async () => {
    const value = { list: [1] }
    const { message } = await returning(value)
    value.list.push(2)
    expect(message.content).toBe('{"list":[1]}')
  })
})

describe('a tool that fails', () => {
  const failing = (thrown: unknown, how: 'throws' | 'rejects' = 'throws') =>
    bench([
      defineTool({
        name: 'fail',
        description: '',
        execute: () => {
          if (how === 'rejects') return Promise.reject(thrown)
          throw thrown
        },
      }),
    ])

  it.each([
    ...hostileValues().map(([name, value]) => [name, value] as const),
    ['an Error', new Error('broken')] as const,
    ['an empty text', ''] as const,
    ['white space', ' \n '] as const,
  ])('H23 may throw or reject with anything: %s', async (_, thrown) => {
    for (const how of ['throws', 'rejects'] as const) {
      const { run, warnings } = failing(thrown, how)
      const { end, message } = await run('fail')
      expect(end).toEqual({ outcome: 'failed', code: 'tool_failed', content: message.content, attempts: 1 })
      expect(String(message.content).trim()).not.toBe('')
      expect(message.isError).toBe(true)
      expect(warnings()).toHaveLength(1)
    }
  })

  it.each<[unknown, string]>([
    [new Error('no such place'), 'no such place'],
    [undefined, 'failed without saying why'],
    ['just text', 'just text'],
    [{ code: 7 }, '{"code":7}'],
    [new Error(''), 'Error'],
    ['', 'The tool failed without saying why.'],
  ])('S0-16 H23 its message is what the model is told: %s', async (thrown, content) => {
    expect((await failing(thrown).run('fail')).message.content).toBe(content)
  })

  it('tells the model neither the stack nor this machine’s folders', async () => {
    const cwd = process.cwd()
    const home = homedir()
    const inner = new Error('inner')
    const { run } = failing(
      new Error(
        `${inner.stack}\nCan't open '${join(cwd, 'data/x.txt')}' nor ${join(home, '.config')} in ${cwd}.\nSee file://${cwd}/a.ts:3`,
      ),
    )
    const { content } = (await run('fail')).message
    expect(content).toBe("Error: inner\nCan't open 'data/x.txt' nor .config in ..\nSee a.ts:3")
  })

  it('leaves alone what only looks like a stack line or a folder', async () => {
    const cwd = process.cwd()
    const text = `Meet me\n  at noon, or\n\tat 12:30:00 sharp\nhttps://example.com${cwd}/x ${cwd}.bak ${cwd}ish x${cwd}/y`
    expect((await failing(new Error(text)).run('fail')).message.content).toBe(
      text.replace('\n\tat 12:30:00 sharp', '\n\tat 12:30:00 sharp'),
    )
  })

  it('H22 a long message is capped like a result', async () => {
    const { run } = failing(new Error('x'.repeat(1_000_000)))
    const { content } = (await run('fail', {}, { maxResultBytes: 30 })).message
    expect(content).toBe(`${'x'.repeat(20)}\n\n(… 999970 of 1000000 bytes cut here …)\n\n${'x'.repeat(10)}`)
  })

  it('a message made to be slow to read is not', async () => {
    for (const unit of ['\n', ' ', '\n ', '\n at ', ':1', '\n at :1:1x', process.cwd()]) {
      const { run } = failing(new Error(unit.repeat(Math.ceil(300_000 / unit.length))))
      const start = performance.now()
      await run('fail')
      expect(performance.now() - start, JSON.stringify(unit)).toBeLessThan(5_000)
    }
  })

  it('H16 is logged with everything but the secrets of its arguments', async () => {
    const tool = defineTool({
      name: 'login',
      description: '',
      parameters: { type: 'object' },
      secrets: ['pin'],
      execute: () => {
        throw new Error('refused hunter22 with pin 123456 and note')
      },
    })
    const { run, warnings } = bench([tool])
    await run('login', { password: 'hunter22', deep: { pin: 123456 }, note: 'note' })
    expect(warnings()).toHaveLength(1)
    expect(warnings()[0]).toMatchObject({
      message: 'tool call failed',
      fields: {
        tool: 'login',
        toolCallId: 'call_1',
        runId: 'run_1',
        outcome: 'failed',
        attempt: 1,
        code: 'tool_failed',
        error: 'refused [redacted] with pin [redacted] and note',
        stack: expect.stringMatching(/^Error: refused \[redacted\] with pin \[redacted\] and note\n\s+at .*runner\.test\.ts/),
      },
    })
    expect(JSON.stringify(warnings())).not.toMatch(/hunter22|123456/)
  })

  it('H37 a logger that throws changes nothing', async () => {
    const broken = () => {
      throw new Error('disk full')
    }
    const logger = { debug: broken, info: broken, warn: broken, error: broken }
    expect((await failing(new Error('broken')).run('fail', {}, { logger })).end.outcome).toBe('failed')
  })
})

describe('time', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each([
    [undefined, 1_000],
    [250, 250],
  ])('S1-23 S3-12 the limit is the environment’s, unless the tool has its own: %s', async (timeoutMs, limit) => {
    const tool = defineTool({
      name: 'slow',
      description: '',
      execute: () => new Promise(() => {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
    const { run, warnings } = bench([tool])
    const running = run('slow')
    let settled = false
    void running.then(() => {
      settled = true
    })
    await vi.advanceTimersByTimeAsync(limit - 1)
    expect(settled).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await running).toEqual({
      message: { role: 'tool', content: `Tool \`slow\` timed out after ${limit} ms.`, toolCallId: 'call_1', name: 'slow', isError: true },
      end: { outcome: 'timeout', code: 'tool_timeout', content: `Tool \`slow\` timed out after ${limit} ms.`, attempts: 1 },
    })
    expect(warnings()).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('S1-24 H28 on timeout the tool’s signal is aborted, with the reason', async () => {
    let signal: AbortSignal | undefined
    const tool = defineTool({
      name: 'slow',
      description: '',
      execute: (_args, ctx) => {
        signal = ctx.signal
        return new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
      },
    })
    const { run, controller } = bench([tool])
    const running = run('slow')
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await running).end.outcome).toBe('timeout')
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ name: 'TimeoutError', message: 'Tool `slow` timed out after 1000 ms.' })
    expect(controller.signal.aborted).toBe(false)
  })

  it('H28 a tool in time leaves no timer and no listener, and its signal is not aborted', async () => {
    let signal: AbortSignal | undefined
    const { run, controller } = bench([defineTool({ name: 'fast', description: '', execute: (_args, ctx) => void (signal = ctx.signal) })])
    for (let i = 0; i < 100; i++) await run('fast')
    expect(vi.getTimerCount()).toBe(0)
    expect(listenersOf(controller.signal)).toBe(0)
    expect(signal?.aborted).toBe(false)
  })

  it.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, 2 ** 31])(
    'a limit of %d ms is a long time, not a short one',
    async (timeoutMs) => {
      const { promise, resolve } = Promise.withResolvers<string>()
      const { run } = bench([defineTool({ name: 'slow', description: '', execute: () => promise })])
      const running = run('slow', {}, { timeoutMs })
      await vi.advanceTimersByTimeAsync(60_000)
      resolve('at last')
      expect((await running).end).toMatchObject({ outcome: 'ok', value: 'at last' })
    },
  )

  it('H28 H29 a deaf tool is left behind; what comes late is dropped and counted, a rejection too', async () => {
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    let calls = 0
    const tool = defineTool({ name: 'deaf', description: '', execute: () => gates[calls++]?.promise })
    const { run, runner } = bench([tool])
    const running = [run('deaf'), run('deaf'), run('deaf')]
    await vi.advanceTimersByTimeAsync(500)
    gates[2]?.resolve('in time')
    await vi.advanceTimersByTimeAsync(500)
    expect((await Promise.all(running)).map(({ end }) => end.outcome)).toEqual(['timeout', 'timeout', 'ok'])
    expect(runner.lateResults).toBe(0)
    gates[0]?.resolve('late')
    gates[1]?.reject(new Error('late'))
    await vi.advanceTimersByTimeAsync(0)
    expect(runner.lateResults).toBe(2)
  })

  it('a failure that is not late is not counted as late', async () => {
    const tool = defineTool({
      name: 'fail',
      description: '',
      execute: async () => {
        throw new Error('at once')
      },
    })
    const { run, runner } = bench([tool])
    await run('fail')
    expect(runner.lateResults).toBe(0)
  })

  it('a schema that is never done checking is over time, too', async () => {
    const never = z.object({ n: z.number().refine(() => new Promise<boolean>(() => {})) })
    const { run, controller } = bench([defineTool({ name: 'slow', description: '', parameters: never, execute: () => 'ran' })])
    const running = run('slow', { n: 1 })
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await running).end).toMatchObject({ outcome: 'timeout', code: 'tool_timeout', attempts: 0 })
    const second = run('slow', { n: 1 })
    controller.abort()
    expect((await second).end).toMatchObject({ outcome: 'cancelled', attempts: 0 })
    expect([vi.getTimerCount(), listenersOf(controller.signal)]).toEqual([0, 0])
  })
})

describe('the end of the run', () => {
  it('S3-14 H30 a call that has not started is not started', async () => {
    const execute = vi.fn(() => 'ran')
    const onStart = vi.fn()
    const { run, controller } = bench([defineTool({ name: 'any', description: '', execute })], { onStart })
    controller.abort(new Error('over'))
    expect(await run('any')).toEqual({
      message: {
        role: 'tool',
        content: 'Tool `any` was cancelled: the run ended before it finished.',
        toolCallId: 'call_1',
        name: 'any',
        isError: true,
      },
      end: {
        outcome: 'cancelled',
        code: 'tool_cancelled',
        content: 'Tool `any` was cancelled: the run ended before it finished.',
        attempts: 0,
      },
    })
    expect([execute.mock.calls.length, onStart.mock.calls.length]).toEqual([0, 0])
  })

  it('H29 a call under way is left behind at once, whether or not its tool listens', async () => {
    const reason = new Error('over')
    for (const listens of [true, false]) {
      const started = Promise.withResolvers<AbortSignal>()
      const tool = defineTool({
        name: 'slow',
        description: '',
        execute: (_args, { signal }) => {
          started.resolve(signal)
          return new Promise((_, reject) => {
            if (listens) signal.addEventListener('abort', () => reject(signal.reason))
          })
        },
      })
      const { run, controller, warnings } = bench([tool])
      const running = run('slow')
      const signal = await started.promise
      controller.abort(reason)
      expect((await running).end).toMatchObject({ outcome: 'cancelled', code: 'tool_cancelled', attempts: 1 })
      expect([signal.aborted, signal.reason]).toEqual([true, reason])
      expect(listenersOf(controller.signal)).toBe(0)
      expect(warnings()).toEqual([])
    }
  })

  it('H28 the result of a call left behind is counted when it comes', async () => {
    const gate = Promise.withResolvers<string>()
    const { run, runner, controller } = bench([defineTool({ name: 'deaf', description: '', execute: () => gate.promise })])
    const running = run('deaf')
    await Promise.resolve()
    controller.abort()
    expect((await running).end.outcome).toBe('cancelled')
    gate.resolve('late')
    await gate.promise
    await Promise.resolve()
    expect(runner.lateResults).toBe(1)
  })

  it('H32 a thousand calls under one signal leave no listener on it', async () => {
    const { run, controller } = bench([add])
    await Promise.all(Array.from({ length: 1000 }, (_, a) => run('add', { a, b: 1 })))
    expect(listenersOf(controller.signal)).toBe(0)
  })
})

describe('retries', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** A tool that notes when each attempt begins, and fails the first `failures` times. */
  function flaky(failures: number, retries: number, more: object = {}) {
    const attempts: { at: number; attempt: number; key: string }[] = []
    const start = Date.now()
    const tool = defineTool({
      name: 'flaky',
      description: '',
      retries,
      ...more,
      execute: (_args, { attempt, idempotencyKey }) => {
        attempts.push({ at: Date.now() - start, attempt, key: idempotencyKey })
        if (attempts.length <= failures) throw new Error(`failure ${attempt}`)
        return 'done'
      },
    })
    return { tool, attempts }
  }

  it('a failed attempt is made again after a wait that doubles, up to 5 s, under the same key', async () => {
    const { tool, attempts } = flaky(7, 7)
    const onStart = vi.fn()
    const { run, warnings } = bench([tool], { onStart })
    const running = run('flaky')
    await vi.runAllTimersAsync()
    expect((await running).end).toEqual({ outcome: 'ok', content: 'done', value: 'done', attempts: 8 })
    expect(attempts.map(({ at }) => at)).toEqual([0, 200, 600, 1400, 3000, 6200, 11_200, 16_200])
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(new Set(attempts.map(({ key }) => key))).toEqual(new Set(['run_1/3.tool.0']))
    expect(warnings().map(({ fields }) => fields.attempt)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(onStart).toHaveBeenCalledTimes(1)
  })

  it('the last failure is the result', async () => {
    const { tool, attempts } = flaky(9, 2)
    const { run } = bench([tool])
    const running = run('flaky')
    await vi.runAllTimersAsync()
    expect((await running).end).toEqual({ outcome: 'failed', code: 'tool_failed', content: 'failure 3', attempts: 3 })
    expect(attempts).toHaveLength(3)
  })

  it('by default there is none', async () => {
    const { tool, attempts } = flaky(9, 0)
    expect((await bench([tool]).run('flaky')).end).toMatchObject({ outcome: 'failed', attempts: 1 })
    expect(attempts).toHaveLength(1)
  })

  it('H28 an attempt over its time is made again with a new signal; the late result of the first is not that of the second', async () => {
    const gates: { resolve(value: string): void; signal: AbortSignal }[] = []
    const tool = defineTool({
      name: 'slow',
      description: '',
      retries: 1,
      timeoutMs: 100,
      execute: (_args, { signal }) => {
        const { promise, resolve } = Promise.withResolvers<string>()
        gates.push({ resolve, signal })
        return promise
      },
    })
    const { run, runner } = bench([tool])
    const running = run('slow')
    await vi.advanceTimersByTimeAsync(300)
    expect(gates.map(({ signal }) => signal.aborted)).toEqual([true, false])
    gates[0]?.resolve('first, late')
    await vi.advanceTimersByTimeAsync(0)
    gates[1]?.resolve('second')
    expect((await running).end).toEqual({ outcome: 'ok', content: 'second', value: 'second', attempts: 2 })
    expect(runner.lateResults).toBe(1)
  })

  it('H30 an abort during the wait ends it at once', async () => {
    const { tool, attempts } = flaky(9, 5)
    const { run, controller } = bench([tool])
    const running = run('flaky')
    await vi.advanceTimersByTimeAsync(250)
    controller.abort()
    await vi.advanceTimersByTimeAsync(0)
    expect((await running).end).toMatchObject({ outcome: 'cancelled', attempts: 2 })
    expect(attempts).toHaveLength(2)
    expect([vi.getTimerCount(), listenersOf(controller.signal)]).toEqual([0, 0])
  })

  it('arguments that don’t fit are not tried again', async () => {
    const { tool } = flaky(0, 5, { parameters: { type: 'object', required: ['x'] } })
    expect((await bench([tool]).run('flaky')).end).toMatchObject({ outcome: 'rejected', code: 'invalid_arguments' })
  })
})

describe('progress', () => {
  it('is published while the call runs', async () => {
    const seen: Json[] = []
    const tool = defineTool({
      name: 'work',
      description: '',
      execute: async (_args, { progress }) => {
        progress({ done: 1 })
        await undefined
        progress({ done: 2 })
      },
    })
    await bench([tool], { onProgress: (update) => seen.push(update) }).run('work')
    expect(seen).toEqual([{ done: 1 }, { done: 2 }])
    expect((await bench([tool]).run('work')).end.outcome).toBe('ok')
  })

  it.each(['ended', 'failed', 'timed out', 'aborted'])('H28 what comes after the call has %s is dropped', async (how) => {
    const seen: Json[] = []
    let report = (_update: Json): void => {}
    const started = Promise.withResolvers<void>()
    const tool = defineTool({
      name: 'work',
      description: '',
      timeoutMs: how === 'timed out' ? 1 : 10_000,
      execute: (_args, { progress }) => {
        report = progress
        progress('during')
        started.resolve()
        if (how === 'failed') throw new Error('failed')
        return how === 'ended' ? 'done' : new Promise(() => {})
      },
    })
    const { run, controller } = bench([tool], { onProgress: (update) => seen.push(update) })
    const running = run('work')
    await started.promise
    if (how === 'aborted') controller.abort()
    await running
    report('after')
    expect(seen).toEqual(['during'])
  })
})
