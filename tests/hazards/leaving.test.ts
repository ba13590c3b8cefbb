import { getEventListeners } from 'node:events'
import { beforeEach, describe, expect, it } from 'vitest'
import { Event, type RunEvent } from '../../src/core/events.ts'
import { driverModes, streamingModes } from './modes.ts'
import { stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

const usage = { inputTokens: 20, outputTokens: 5 }

failOnUnhandledRejections()

describe.each(driverModes)('leaving a stream: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  it.each(['break', 'throw', 'return'] as const)('H31 a consumer that leaves the stream (%s) aborts the run', async (how) => {
    await using on = await stage(
      mode,
      [
        { toolCalls: [call('look')], usage },
        { text: 'and so on', hang: true },
      ],
      { tools: [countingTool('look').tool] },
    )
    const { signal } = new AbortController()
    const stream = on.runner.stream('go', { signal })
    const leave = async () => {
      for await (const event of stream) {
        if (event.type !== Event.TOOL_CALL_END) continue
        if (how === 'break') break
        if (how === 'throw') throw new Error('enough')
        return
      }
    }
    if (how === 'throw') await expect(leave()).rejects.toThrow('enough')
    else await leave()
    const result = await stream.result
    expect(result).toMatchObject({ stopReason: 'aborted', usage: { totalTokens: 25 } })
    await on.check(result)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('H31 a consumer that leaves while it waits for the next event ends the run immediately', async () => {
    for (const read of ['events', 'text'] as const) {
      await using on = await stage(mode, [{ hang: true }])
      const stream = on.runner.stream('go')
      const iterator = (read === 'text' ? stream.text : stream)[Symbol.asyncIterator]()
      let waiting: Promise<IteratorResult<RunEvent | string>> = iterator.next()
      if (read === 'events') {
        expect(await waiting).toMatchObject({ value: { type: Event.RUN_START } })
        expect(await iterator.next()).toMatchObject({ value: { type: Event.MODEL_START } })
        waiting = iterator.next()
      }
      await on.provider.waitForRequest(1)
      expect(await iterator.return?.()).toMatchObject({ done: true })
      expect(await waiting).toMatchObject({ done: true })
      expect(await stream.result).toMatchObject({ stopReason: 'aborted' })
      expect(await on.provider.waitForEnd(1)).toMatchObject({ aborted: true })
      expect(await iterator.next()).toMatchObject({ done: true })
    }
  })

  it('H31 a consumer that leaves before it has read anything', async () => {
    for (const read of ['events', 'text'] as const) {
      await using on = await stage(mode, [{ hang: true }])
      const stream = on.runner.stream('go')
      await (read === 'text' ? stream.text : stream)[Symbol.asyncIterator]().return?.()
      expect(await stream.result).toMatchObject({ stopReason: 'aborted' })
    }
  })

  it('H31 a stream that nobody reads still has a result', async () => {
    await using on = await stage(mode, [{ text: 'x', toolCalls: [call('look')] }, 'done'], { tools: [countingTool('look').tool] })
    const result = await on.runner.stream('go').result
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    await on.check(result)
  })

  it('H31 a run that can’t start: the stream and the result both report it, and neither has to be awaited', async () => {
    await using on = await stage(mode, ['never'])
    const refused = { code: 'invalid_option' }
    on.runner.stream('go', { maxIterations: 0 })
    const stream = on.runner.stream('go', { maxIterations: 0 })
    await expect(Array.fromAsync(stream)).rejects.toMatchObject(refused)
    await expect(stream.result).rejects.toMatchObject(refused)
    await expect(Array.fromAsync(on.runner.stream('go', { maxIterations: 0 }).text)).rejects.toMatchObject(refused)
    expect(on.requests()).toEqual([])
  })

  it('H31 a stream can be read once', async () => {
    await using on = await stage(mode, ['done'])
    const stream = on.runner.stream('go')
    expect((await Array.fromAsync(stream.text)).join('')).toBe('done')
    expect(() => stream[Symbol.asyncIterator]()).toThrow(TypeError)
    expect(() => stream.text[Symbol.asyncIterator]()).toThrow(TypeError)
  })
})

describe.each(streamingModes)('leaving a stream: $name', (mode) => {
  it('H31 text shown before the consumer left is kept', async () => {
    await using on = await stage(mode, [{ text: 'Half a sentence', hang: true }])
    const stream = on.runner.stream('go')
    let shown = ''
    for await (const text of stream.text) {
      shown += text
      if (shown.length >= 8) break
    }
    const result = await stream.result
    expect(result.stopReason).toBe('aborted')
    expect(result.output.startsWith(shown)).toBe(true)
    await on.check(result)
  })
})
