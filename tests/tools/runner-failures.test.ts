import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { defineTool } from '../../src/tools/tool.ts'
import { hostileValues } from '../hostile-values.ts'
import { leastCpuMs } from '../reference-pace.ts'
import { bench, listenersOf } from './call-bench.ts'

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
  ])('S0-16 H23 shows its message to the model: %s', async (thrown, content) => {
    expect((await failing(thrown).run('fail')).message.content).toBe(content)
  })

  it('shows the model neither the stack nor this machine’s folders', async () => {
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

  it('keeps text that only looks like a stack line or a folder', async () => {
    const cwd = process.cwd()
    const text = `Meet me\n  at noon, or\n\tat 12:30:00 sharp\nhttps://example.com${cwd}/x ${cwd}.bak ${cwd}ish x${cwd}/y`
    expect((await failing(new Error(text)).run('fail')).message.content).toBe(
      text.replace('\n\tat 12:30:00 sharp', '\n\tat 12:30:00 sharp'),
    )
  })

  it('H22 has a long message capped like a result', async () => {
    const { run } = failing(new Error('x'.repeat(1_000_000)))
    const { content } = (await run('fail', {}, { maxResultBytes: 77 })).message
    expect(content).toBe(`${'x'.repeat(20)}\n\n(… 999970 of 1000000 bytes cut here …)\n\n${'x'.repeat(10)}`)
  })

  it('has a hostile message read quickly', async () => {
    for (const unit of ['\n', ' ', '\n ', '\n at ', ':1', '\n at :1:1x', process.cwd()]) {
      const { run } = failing(new Error(unit.repeat(Math.ceil(300_000 / unit.length))))
      expect(await leastCpuMs(1_000, () => run('fail')), JSON.stringify(unit)).toBeLessThan(1_000)
    }
  })

  it('H16 is logged without the secrets of its arguments', async () => {
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
        stack: expect.stringMatching(/^Error: refused \[redacted\] with pin \[redacted\] and note\n\s+at .*runner-failures\.test\.ts/),
      },
    })
    expect(JSON.stringify(warnings())).not.toMatch(/hunter22|123456/)
  })

  it('H37 is not affected by a logger that throws', async () => {
    const broken = () => {
      throw new Error('disk full')
    }
    const logger = { debug: broken, info: broken, warn: broken, error: broken }
    expect((await failing(new Error('broken')).run('fail', {}, { logger })).end.outcome).toBe('failed')
  })
})

describe('retries', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** A tool that records the start of each attempt, and fails the first `failures` times. */
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

  it('repeat a failed attempt after a delay that doubles, up to 5 s, with the same key', async () => {
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

  it('return the last failure', async () => {
    const { tool, attempts } = flaky(9, 2)
    const { run } = bench([tool])
    const running = run('flaky')
    await vi.runAllTimersAsync()
    expect((await running).end).toEqual({ outcome: 'failed', code: 'tool_failed', content: 'failure 3', attempts: 3 })
    expect(attempts).toHaveLength(3)
  })

  it('are off by default', async () => {
    const { tool, attempts } = flaky(9, 0)
    expect((await bench([tool]).run('flaky')).end).toMatchObject({ outcome: 'failed', attempts: 1 })
    expect(attempts).toHaveLength(1)
  })

  it('H28 repeat a timed-out attempt with a new signal; the late result of the first one is dropped', async () => {
    const gates: { resolve(value: string): void; signal: AbortSignal }[] = []
    const tool = defineTool({
      name: 'slow',
      description: '',
      effect: 'idempotent',
      retries: 1,
      timeoutMs: 100,
      execute: (_args, { signal }) => {
        const { promise, resolve } = Promise.withResolvers<string>()
        gates.push({ resolve, signal })
        return promise
      },
    })
    const { run, lateResults } = bench([tool])
    const running = run('slow')
    await vi.advanceTimersByTimeAsync(300)
    expect(gates.map(({ signal }) => signal.aborted)).toEqual([true, false])
    gates[0]?.resolve('first, late')
    await vi.advanceTimersByTimeAsync(0)
    gates[1]?.resolve('second')
    expect((await running).end).toEqual({ outcome: 'ok', content: 'second', value: 'second', attempts: 2 })
    expect(lateResults()).toBe(1)
  })

  it('H30 end immediately if the signal is aborted during the delay', async () => {
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

  it('do not repeat invalid arguments', async () => {
    const { tool } = flaky(0, 5, { parameters: { type: 'object', required: ['x'] } })
    expect((await bench([tool]).run('flaky')).end).toMatchObject({ outcome: 'rejected', code: 'invalid_arguments' })
  })
})
