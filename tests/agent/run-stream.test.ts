import { describe, expect, it } from 'vitest'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import { RunStream } from '../../src/agent/runner/run-stream.ts'
import type { EventTap } from '../../src/agent/types/event-tap.ts'
import type { RunResult } from '../../src/agent/types/options.ts'
import type { RunEvent } from '../../src/core/events.ts'
import { noUsage } from '../../src/core/messages.ts'

const meta = { runId: 'run_1', iteration: 1, time: 0 }
const text = (said: string): RunEvent => ({ type: 'TEXT_DELTA', text: said, meta })
const reasoning: RunEvent = { type: 'REASONING_DELTA', text: 'hm', meta }
const result: RunResult = {
  runId: 'run_1',
  output: '',
  text: '',
  messages: [],
  newMessages: [],
  stopReason: 'answered',
  usage: noUsage,
  iterations: 1,
  steps: [],
  toolCalls: [],
  pending: [],
}
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** A stream whose run is played by hand. */
function staged() {
  const ended = Promise.withResolvers<RunResult>()
  const run: { emit: EventTap['take']; tap?: EventTap; signal: AbortSignal } = { emit: () => {}, signal: AbortSignal.abort() }
  const stream = new RunStream(({ tap, left }) => {
    run.emit = (event) => tap.take(event)
    run.tap = tap
    run.signal = left
    return ended.promise
  }, new RunControl())
  return { stream, run, tap: () => run.tap, end: () => ended.resolve(result), fail: (error: unknown) => ended.reject(error) }
}

async function taken<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

describe('RunStream', () => {
  it('returns every event in order, including those before it was iterated, and ends with the run', async () => {
    const { stream, run, end } = staged()
    run.emit(text('a'))
    const all = taken(stream)
    run.emit(reasoning)
    await settle()
    run.emit(text('b'))
    end()
    expect(await all).toEqual([text('a'), reasoning, text('b')])
    expect(await stream.result).toBe(result)
    expect(run.signal.aborted).toBe(false)
  })

  it('requests every event, until it is read as text', async () => {
    const { stream, tap } = staged()
    expect(tap()?.wanted).toBeUndefined()
    const iterator = stream.text[Symbol.asyncIterator]()
    expect([...(tap()?.wanted ?? [])]).toEqual(['RUN_START', 'TEXT_DELTA'])
    await iterator.return?.()
    const other = staged()
    other.stream[Symbol.asyncIterator]()
    expect(other.tap()?.wanted).toBeUndefined()
  })

  it('joins what came before it is iterated: no text is lost, order and turns are kept', async () => {
    const { stream, run, end } = staged()
    const next = { runId: 'run_1', iteration: 2, time: 0 }
    const input = (index: number, json: string): RunEvent => ({ type: 'TOOL_INPUT_DELTA', index, id: 'c', json, meta })
    const report = (toolCallId: string, update: number): RunEvent => ({
      type: 'TOOL_PROGRESS',
      tool: 'work',
      update,
      meta: { ...meta, toolCallId },
    })
    const start: RunEvent = { type: 'TOOL_INPUT_START', index: 0, id: 'c', tool: 'work', meta }
    const events = [text('a'), text('b'), reasoning, reasoning, text('c'), { ...text('d'), meta: next }]
    const calls = [start, input(0, '{'), input(0, '"n"'), input(1, '[]'), input(0, ':1}')]
    const reports = [report('x', 1), report('y', 1), report('x', 2), report('y', 2), text('e'), report('x', 3)]
    for (const event of [...events, ...calls, ...reports]) run.emit(event)
    end()
    expect(await taken(stream)).toEqual([
      text('ab'),
      { ...reasoning, text: 'hmhm' },
      text('c'),
      { ...text('d'), meta: next },
      start,
      input(0, '{"n"'),
      input(1, '[]'),
      input(0, ':1}'),
      report('x', 3),
      report('y', 2),
      text('e'),
    ])
  })

  it('buffers nothing if only the result is awaited', async () => {
    const { stream, run, end } = staged()
    for (let n = 1; n <= 100_000; n++) {
      run.emit({ ...text('four'), meta })
      run.emit({ type: 'TOOL_PROGRESS', tool: 'work', update: n, meta: { ...meta, toolCallId: 'c' } })
    }
    end()
    expect(await stream.result).toBe(result)
    const report = { type: 'TOOL_PROGRESS', tool: 'work', update: 100_000, meta: { ...meta, toolCallId: 'c' } }
    expect(await taken(stream)).toEqual([text('four'), report, text('four'.repeat(99_999))])
  })

  it('`text` returns only the visible text', async () => {
    const { stream, run, end } = staged()
    const all = taken(stream.text)
    run.emit(text('a'))
    run.emit(reasoning)
    await settle()
    run.emit(text('b'))
    end()
    expect(await all).toEqual(['a', 'b'])
  })

  it('buffers many events for a slow consumer, and loses none', async () => {
    const { stream, run, end } = staged()
    const sent = Array.from({ length: 5_000 }, (_, i) => text(String(i)))
    const iterator = stream[Symbol.asyncIterator]()
    for (const event of sent.slice(0, 3_000)) run.emit(event)
    const seen: unknown[] = []
    for (let i = 0; i < 2_500; i++) seen.push((await iterator.next()).value)
    for (const event of sent.slice(3_000)) run.emit(event)
    end()
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) seen.push(next.value)
    expect(seen).toEqual(sent)
  })

  it('`text` that arrived while the consumer was busy is one piece', async () => {
    const { stream, run, end } = staged()
    const iterator = stream.text[Symbol.asyncIterator]()
    const first = iterator.next()
    for (const said of ['a', 'b', 'c']) run.emit(text(said))
    expect(await first).toEqual({ value: 'a', done: false })
    expect(await iterator.next()).toEqual({ value: 'bc', done: false })
    run.emit(text('d'))
    end()
    expect(await taken({ [Symbol.asyncIterator]: () => iterator })).toEqual(['d'])
  })

  it('has a result whether or not it is iterated', async () => {
    const { stream, run, end } = staged()
    run.emit(text('a'))
    end()
    expect(await stream.result).toBe(result)
    expect(await taken(stream)).toEqual([text('a')])
  })

  it.each([
    ['events and events', (stream: RunStream) => [stream, stream]],
    ['events and text', (stream: RunStream) => [stream, stream.text]],
    ['text and events', (stream: RunStream) => [stream.text, stream]],
    ['text and text', (stream: RunStream) => [stream.text, stream.text]],
  ] as const)('can be iterated once: %s', async (_, both) => {
    const { stream, end } = staged()
    end()
    const [first, second] = both(stream)
    await taken<unknown>(first as AsyncIterable<unknown>)
    await expect(taken(second as AsyncIterable<unknown>)).rejects.toThrow(
      'A RunStream can be iterated only once, as events, text or output',
    )
  })

  it('throws the reason if a run could not start, and so does its result', async () => {
    const { stream, fail } = staged()
    const error = new Error('not allowed')
    fail(error)
    await expect(stream.result).rejects.toBe(error)
    await expect(taken(stream)).rejects.toBe(error)
  })

  it('a run that could not start and that nobody reads is not an unhandled rejection', async () => {
    const { fail } = staged()
    fail(new Error('nobody looks'))
    await settle()
  })

  it('returns earlier events before a failure', async () => {
    const { stream, run, fail } = staged()
    const iterator = stream[Symbol.asyncIterator]()
    run.emit(text('a'))
    fail(new Error('broken'))
    expect(await iterator.next()).toEqual({ value: text('a'), done: false })
    await expect(iterator.next()).rejects.toThrow('broken')
    expect(await iterator.next()).toEqual({ value: undefined, done: true })
  })
})

describe('leaving', () => {
  it.each(['break', 'return', 'throw'])('H31 by %s aborts the run', async (how) => {
    const { stream, run, end } = staged()
    run.emit(text('a'))
    const watch = async () => {
      for await (const _ of stream) {
        if (how === 'break') break
        if (how === 'return') return
        throw new Error('the consumer’s own')
      }
    }
    await watch().catch((error: unknown) => expect(error).toMatchObject({ message: 'the consumer’s own' }))
    expect(run.signal.aborted).toBe(true)
    expect(run.signal.reason).toMatchObject({ name: 'AbortError', message: 'The consumer left the stream' })
    end()
    expect(await stream.result).toBe(result)
  })

  it('H31 the text aborts the run', async () => {
    const { stream, run } = staged()
    run.emit(text('a'))
    for await (const _ of stream.text) break
    expect(run.signal.aborted).toBe(true)
  })

  it('H31 before the first event was requested aborts the run', async () => {
    const { stream, run } = staged()
    await stream[Symbol.asyncIterator]().return?.()
    expect(run.signal.aborted).toBe(true)
  })

  it('H31 while waiting for an event aborts the run immediately, and settles the wait', async () => {
    const { stream, run } = staged()
    const iterator = stream[Symbol.asyncIterator]()
    const waiting = [iterator.next(), iterator.next()]
    expect(await iterator.return?.()).toEqual({ value: undefined, done: true })
    expect(run.signal.aborted).toBe(true)
    expect(await Promise.all(waiting)).toEqual([
      { value: undefined, done: true },
      { value: undefined, done: true },
    ])
  })

  it('H31 by cancelling a web stream over it aborts the run, also while it waits', async () => {
    const { stream, run } = staged()
    const reader = ReadableStream.from(stream.text).getReader()
    run.emit(text('a'))
    expect(await reader.read()).toEqual({ value: 'a', done: false })
    const waiting = reader.read()
    await reader.cancel()
    expect(run.signal.aborted).toBe(true)
    expect(await waiting).toEqual({ value: undefined, done: true })
  })

  it('after the run’s end aborts nothing', async () => {
    const { stream, run, end } = staged()
    run.emit(text('a'))
    run.emit(text('b'))
    end()
    await stream.result
    for await (const _ of stream) break
    expect(run.signal.aborted).toBe(false)
  })

  it('H31 drops what comes later, including a failure', async () => {
    const { stream, run, fail } = staged()
    run.emit(text('a'))
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    await iterator.return?.()
    run.emit(text('b'))
    fail(new Error('nobody looks'))
    await settle()
    expect(await iterator.next()).toEqual({ value: undefined, done: true })
  })

  it('several readers get the events in the order of their requests', async () => {
    const { stream, run, end } = staged()
    const iterator = stream.text[Symbol.asyncIterator]()
    const asked = [iterator.next(), iterator.next(), iterator.next()]
    for (const said of ['a', 'b']) run.emit(text(said))
    run.emit(reasoning)
    end()
    expect((await Promise.all(asked)).map(({ value }) => value)).toEqual(['a', 'b', undefined])
  })
})
