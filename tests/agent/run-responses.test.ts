import { EventEmitter } from 'node:events'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunEvent } from '../../src/core/events.ts'
import { createLogger } from '../../src/core/logger.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { EventLog } from '../../src/ui/web/event-log.ts'
import { type NodeResponse, pipeToNode } from '../../src/ui/web/pipe-to-node.ts'
import type { ResponseFormat } from '../../src/ui/web/response-format.ts'
import { serveFetch } from '../fetch-server.ts'
import { timersLeft } from '../hazards/waiting.ts'

const logger = createLogger({ level: 'silent' })
const add = defineTool({
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})
const refund = defineTool({ name: 'refund', description: 'Pays back.', approval: true, execute: () => 'paid' })

interface Frame {
  id: number | undefined
  event: string
  data: Record<string, unknown>
}

function framesOf(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1]
      const id = field('id')
      return { id: id === undefined ? undefined : Number(id), event: field('event') ?? '', data: JSON.parse(field('data') ?? 'null') }
    })
}

const read = async (response: Response) => framesOf(await response.text())
const textIn = (frames: readonly Frame[]) => frames.flatMap(({ event, data }) => (event === 'TEXT_DELTA' ? [data.text] : [])).join('')

/** A run that has written a text and continues when it is released. */
function heldRun() {
  const held = Promise.withResolvers<void>()
  const model = scriptedModel([{ chunks: ['one ', 'two ', held.promise, 'three'] }])
  const run = new AgentRunner({ model }).stream('count')
  return { run, go: () => held.resolve() }
}

/** Reads until so much text has come. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, part: string): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes(part)) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`Expected ${part}, got ${text}`)
    text += decoder.decode(value, { stream: true })
  }
  return text
}

function bodyOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (response.body === null) throw new Error('Expected a body')
  return response.body.getReader()
}

afterEach(() => {
  vi.useRealTimers()
})

describe('run.toResponse()', () => {
  it('sends every event with its number as id, then the result, without what is only for the program', async () => {
    const model = scriptedModel([{ text: 'Look: ', toolCalls: [{ name: 'add', args: { a: 2, b: 3 } }] }, 'It is 5.'])
    const events: string[] = []
    const runner = new AgentRunner({ model, tools: [add] })
    runner.bus.onAny((name) => events.push(name))
    const response = runner.stream('2 + 3?').toResponse()
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('cache-control')).toContain('no-store')
    const frames = await read(response)
    expect(frames.at(-1)).toMatchObject({
      event: 'RESULT',
      id: undefined,
      data: { stopReason: 'answered', output: 'It is 5.', pending: [] },
    })
    expect(Object.keys(frames.at(-1)?.data ?? {}).sort()).toEqual(['iterations', 'output', 'pending', 'runId', 'stopReason', 'usage'])
    expect(textIn(frames)).toBe('Look: It is 5.')
    const ids = frames.slice(0, -1).map(({ id }) => id ?? 0)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    expect(ids.at(-1)).toBe(events.length)
    expect(frames.map(({ event }) => event)).toEqual(expect.arrayContaining(['RUN_START', 'TOOL_CALL_START', 'TOOL_CALL_END', 'RUN_END']))
  })

  it('has the pending items of a paused run, but not its state', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'refund' }] }])
    const text = await new AgentRunner({ model, tools: [refund] }).stream('pay').toResponse().text()
    expect(framesOf(text).at(-1)?.data).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'approval', tool: 'refund' }] })
    expect(text).not.toContain('"state"')
    expect(text).not.toContain('"messages"')
  })

  it('has no state of an agent inside a call, in any event', async () => {
    const inner = new AgentRunner({
      model: scriptedModel([{ text: 'of the inner run', toolCalls: [{ name: 'refund' }] }]),
      tools: [refund],
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'helper', args: { task: 'pay' } }] }])
    const text = await new AgentRunner({ model, tools: [asTool(inner, { name: 'helper', description: 'Helps.' })] })
      .stream('pay')
      .toResponse()
      .text()
    expect(text).not.toContain('state')
    expect(text).not.toContain('of the inner run')
    expect(framesOf(text).at(-1)?.data).toMatchObject({
      pending: [{ kind: 'approval', tool: 'refund', path: [{ agent: 'helper' }] }],
    })
  })

  it('continues after `lastEventId`, during the run and after it', async () => {
    const { run, go } = heldRun()
    const first = bodyOf(run.toResponse({ onDisconnect: 'continue' }))
    const seen = framesOf(await readUntil(first, 'two '))
    await first.cancel()
    const last = seen.at(-1)?.id ?? 0
    const later = run.toResponse({ lastEventId: String(last) })
    go()
    const rest = await read(later)
    expect(rest[0]?.id).toBeGreaterThan(last)
    expect(textIn([...seen, ...rest])).toBe('one two three')
    expect(textIn(await read(run.toResponse({ lastEventId: last })))).toBe(textIn(rest))
    const whole = await read(run.toResponse({ lastEventId: null }))
    expect(whole.map(({ event }) => event)).toEqual([...new Set([...seen, ...rest].map(({ event }) => event))])
  })

  it.each(['', 'abc', '-1', '1e9', '999999999999999999999'])(
    'a `last-event-id` that is no number of an event is no place: %j',
    async (given) => {
      const run = new AgentRunner({ model: scriptedModel(['hi']) }).stream('hi')
      expect((await read(run.toResponse({ lastEventId: given }))).map(({ event }) => event)[0]).toBe('RUN_START')
    },
  )

  it('aborts the run if the client leaves, unless it is to continue', async () => {
    const { run } = heldRun()
    await using server = await serveFetch(() => run.toResponse())
    const client = new AbortController()
    const reader = bodyOf(await fetch(server.url, { signal: client.signal }))
    await readUntil(reader, 'two ')
    client.abort()
    expect(await run.result).toMatchObject({ stopReason: 'aborted', text: 'one two ' })

    const other = heldRun()
    const detached = bodyOf(other.run.toResponse({ onDisconnect: 'continue' }))
    await readUntil(detached, 'two ')
    await detached.cancel()
    other.go()
    expect(await other.run.result).toMatchObject({ stopReason: 'answered' })
  })

  it('aborts the run if the last of several clients leaves', async () => {
    const { run, go } = heldRun()
    const [one, two] = [bodyOf(run.toResponse()), bodyOf(run.toResponse())]
    await readUntil(one, 'two ')
    await one.cancel()
    go()
    expect(await readUntil(two, 'RESULT')).toContain('three')
    expect((await run.result).stopReason).toBe('answered')
  })

  it('disconnects a client that reads nothing and has reached the limit, with a reason', async () => {
    const pieces = Array.from({ length: 6_000 }, () => 'x'.repeat(1_000))
    const tick = defineTool({ name: 'tick', description: 'Ticks.', execute: () => 'tock' })
    const held = Promise.withResolvers<void>()
    const turn = { chunks: ['a', held.promise, ...pieces], toolCalls: [{ name: 'tick' }] }
    const run = new AgentRunner({ model: scriptedModel([turn, 'done']), tools: [tick] }).stream('go')
    const reader = bodyOf(run.toResponse())
    await readUntil(reader, 'TEXT_DELTA')
    held.resolve()
    expect((await run.result).stopReason).toBe('answered')
    const text = await readUntil(reader, 'DROPPED')
    expect(text.length).toBeLessThan(1_000_000)
    expect(framesOf(text).at(-1)).toMatchObject({ event: 'DROPPED', data: { reason: 'the reader is too slow' } })
    expect((await reader.read()).done).toBe(true)
    const frames = await read(run.toResponse())
    expect(frames[0]).toMatchObject({ event: 'GAP', data: { from: 1 } })
    expect(frames.at(-1)?.event).toBe('RESULT')
  })

  it('sends a comment if nothing else is sent, and disconnects a client that reads nothing for too long', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    const { run } = heldRun()
    const reader = bodyOf(run.toResponse({ heartbeatMs: 1_000, stallMs: 3_000 }))
    await readUntil(reader, 'two ')
    vi.advanceTimersByTime(1_000)
    expect(await readUntil(reader, ': keep-alive')).toBe(': keep-alive\n\n')
    const stalled = run.toResponse({ heartbeatMs: 1_000, stallMs: 3_000 })
    await reader.cancel()
    // Nobody reads it, and comments fill what may lie ready.
    vi.advanceTimersByTime(10_000_000)
    await expect(stalled.text()).rejects.toThrow('taken nothing for too long')
    expect((await run.result).stopReason).toBe('aborted')
    expect(await timersLeft()).toBe(0)
  })

  it('has the meaning of an error’s code, and nothing of its message', async () => {
    const error = new Error('secret detail')
    const run = () => new AgentRunner({ logger, model: scriptedModel([{ error }]) }).stream('hi')
    const text = await run().toResponse().text()
    expect(framesOf(text).at(-1)?.data).toMatchObject({
      stopReason: 'model_error',
      error: { code: 'provider_error', message: 'The provider answered with an error.' },
    })
    expect(text).not.toContain('secret')
    const told = await read(run().toResponse({ errorText: (thrown) => `Sorry: ${thrown instanceof Error ? thrown.message : ''}` }))
    expect(told.at(-1)?.data).toMatchObject({ error: { message: expect.stringMatching(/^Sorry: .*secret detail/) } })
  })

  it('reports a run that could not start, and one whose error is thrown', async () => {
    const runner = new AgentRunner({ logger, model: scriptedModel([{ error: new Error('no') }]) })
    const refused = await read(runner.stream('hi', { maxIterations: 0 }).toResponse())
    expect(refused).toMatchObject([{ event: 'RESULT', data: { error: { code: 'invalid_option' }, output: '' } }])
    const thrown = await read(runner.stream('hi', { throwOnError: true }).toResponse())
    expect(thrown.at(-1)?.data).toMatchObject({ stopReason: 'model_error', error: { code: 'provider_error' } })
  })

  it('sends what `select` returns, and continues counting', async () => {
    const model = scriptedModel([{ reasoning: 'hm', text: 'hi' }])
    const select = (event: RunEvent) => (event.type === 'REASONING_DELTA' ? undefined : event)
    const frames = await read(new AgentRunner({ model }).stream('hi').toResponse({ select }))
    expect(frames.map(({ event }) => event)).not.toContain('REASONING_DELTA')
    expect(textIn(frames)).toBe('hi')
    expect(frames.at(-2)).toMatchObject({ event: 'RUN_END', id: expect.any(Number) })
  })

  it('is broken off if a function of the caller throws; the run and other responses continue', async () => {
    const warnings: string[] = []
    const warned = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`)
    process.on('warning', warned)
    onTestFinished(() => void process.off('warning', warned))
    const fail = () => {
      throw new Error('no')
    }
    const run = new AgentRunner({ model: scriptedModel(['hi']) }).stream('hi')
    const [selected, other, told] = [run.toResponse({ select: fail }), run.toResponse(), run.toResponse({ errorText: fail })]
    expect(await read(selected)).toMatchObject([{ event: 'DROPPED', data: { reason: 'the response could not be written' } }])
    const format: ResponseFormat = { open: () => ({ event: fail, gap: fail, end: fail, broken: fail }) }
    expect(await run.toResponse({ format }).text()).toBe('')
    expect([(await read(other)).at(-1)?.event, (await read(told)).at(-1)?.event, (await run.result).stopReason]).toEqual([
      'RESULT',
      'RESULT',
      'answered',
    ])
    await expect.poll(() => warnings).toEqual(['ToolloopResponseFailure: no', 'ToolloopResponseFailure: no'])
  })

  it('a tool may report anything', async () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    const report = defineTool({
      name: 'report',
      description: 'Reports.',
      execute: (_args, { progress }) => {
        for (const update of [10n, circle, undefined, () => 1]) progress(update as never)
      },
    })
    const run = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'report' }] }, 'done']), tools: [report] }).stream('go')
    const frames = await read(run.toResponse())
    expect(frames.flatMap(({ event, data }) => (event === 'TOOL_PROGRESS' ? [data.update] : []))).toHaveLength(4)
    expect(frames.at(-1)?.data).toMatchObject({ stopReason: 'answered', output: 'done' })
  })

  it('a format that needs the beginning is told if it is gone', async () => {
    const pieces = Array.from({ length: 5_000 }, () => 'x'.repeat(1_000))
    const run = new AgentRunner({ model: scriptedModel([{ chunks: pieces }]) }).stream('go')
    await Promise.all([run.toResponse({ onDisconnect: 'continue' }).text(), run.result])
    const format: ResponseFormat = {
      open: () => ({
        event: () => 'event\n',
        gap: () => undefined,
        end: () => 'end\n',
        broken: (reason, lastId) => `${reason} ${lastId}\n`,
      }),
    }
    expect(await run.toResponse({ format }).text()).toBe('the beginning is no longer kept 0\n')
  })

  it('refuses invalid options and a run that is iterated; and a run that is sent can’t be iterated', async () => {
    const stream = () => new AgentRunner({ model: scriptedModel(['hi']) }).stream('hi')
    const [sent, iterated] = [stream(), stream()]
    expect(() => sent.toResponse({ onDisconnect: 'stop' as 'abort' })).toThrow(
      "Expected `onDisconnect` to be 'abort' or 'continue', got `\"stop\"`",
    )
    expect(() => sent.toResponse({ heartbeatMs: 0 })).toThrow('heartbeatMs')
    expect(() => sent.toResponse({ lastEventID: 1 } as object)).toThrow('did you mean `lastEventId`?')
    const response = sent.toResponse()
    expect(() => sent[Symbol.asyncIterator]()).toThrow(TypeError)
    await response.text()
    for await (const _event of iterated) expect(() => iterated.toResponse()).toThrow(TypeError)
  })
})

describe('EventLog', () => {
  const meta = { runId: 'run_1', time: 0, iteration: 1 }
  const text = (said: string): RunEvent => ({ type: 'TEXT_DELTA', text: said, meta })

  it('joins adjacent pieces of one text, from any place in it', () => {
    const log = new EventLog({ characters: 4_000_000 })
    for (const piece of ['a', 'b', 'c']) log.append(text(piece))
    log.append({ type: 'REASONING_DELTA', text: 'd', meta })
    expect([0, 1, 2, 3, 4].map((place) => log.after(place))).toMatchObject([
      { id: 3, event: { text: 'abc' } },
      { id: 3, event: { text: 'bc' } },
      { id: 3, event: { text: 'c' } },
      { id: 4, event: { type: 'REASONING_DELTA' } },
      undefined,
    ] as object[])
  })

  it('keeps the newest entries within its limit, each found by its number', () => {
    const log = new EventLog({ characters: 10_000 })
    for (let n = 1; n <= 5_000; n++) log.append({ type: 'TOOL_PROGRESS', tool: 'dig', update: n, meta: { ...meta, toolCallId: 'c' } })
    expect(log.lastId).toBe(5_000)
    expect(log.firstId).toBeGreaterThan(4_900)
    for (let id = log.firstId; id <= 5_000; id++) expect(log.after(id - 1)).toMatchObject({ id, event: { update: id } })
    expect(log.after(0)?.id).toBe(log.firstId)
  })

  it('keeps no more events than its limit, pieces of one text included', () => {
    const log = new EventLog({ events: 1_000, characters: 4_000_000 })
    for (let n = 1; n <= 10_000; n++) log.append(text('a'))
    expect(log.lastId - log.firstId).toBeLessThan(1_000)
    expect(log.lastId - log.firstId).toBeGreaterThan(400)
    expect([...log.allAfter(0)].map(({ id }) => id).at(-1)).toBe(10_000)
  })

  it('returns the JSON of an event unchanged, and no pieces of a broken-off response to later readers', () => {
    const log = new EventLog({ characters: 4_000_000 })
    const start = { type: 'MODEL_START', model: 'm', messages: 1, tools: 0, meta } as never as RunEvent
    log.append(start, '{"type":"MODEL_START", "meta":{"runId":"run_1"}}')
    log.append(text('wrong'))
    log.append({ type: 'MODEL_RETRY', discards: true, meta } as never as RunEvent)
    log.append(text('right'))
    expect([...log.allAfter(0)].map(({ id, data }) => [id, JSON.parse(data).text])).toEqual([
      [1, undefined],
      [3, undefined],
      [4, 'right'],
    ])
    expect(log.after(0)?.data).toBe('{"type":"MODEL_START", "meta":{"runId":"run_1"}}')
    expect([1, 2].map((id) => log.after(id)?.id)).toEqual([3, 3])
    // Stored and read again, nothing is missing.
    const again = new EventLog({ characters: 4_000_000 })
    again.fill([...log.eachAfter(0)], 4)
    expect([again.firstId, [...again.allAfter(0)].map(({ id }) => id)]).toEqual([1, [1, 3, 4]])
    expect([...log.eachAfter(2)].map(({ id, type }) => `${id} ${type}`)).toEqual(['3 MODEL_RETRY', '4 TEXT_DELTA'])
  })
})

describe('pipeToNode', () => {
  /** A response of Node.js that takes as much as it is let. */
  class SlowResponse extends EventEmitter implements NodeResponse {
    destroyed = false
    isEnded = false
    readonly written: string[] = []
    writeHead(status: number): void {
      this.written.push(String(status))
    }
    write(chunk: Uint8Array): boolean {
      this.written.push(new TextDecoder().decode(chunk))
      return false
    }
    end(): void {
      this.isEnded = true
    }
    destroy(): void {
      this.destroyed = true
      this.emit('close')
    }
  }

  it('waits for a slow client, and leaves no listener behind', async () => {
    let pulls = 0
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          if (++pulls > 3) controller.close()
          else controller.enqueue(new TextEncoder().encode(`chunk ${pulls}`))
        },
      },
      { highWaterMark: 0 },
    )
    const to = new SlowResponse()
    const piped = pipeToNode(new Response(body), to)
    await expect.poll(() => to.written).toEqual(['200', 'chunk 1'])
    expect(pulls).toBe(1)
    for (let n = 0; n < 3; n++) {
      await expect.poll(() => to.listenerCount('drain')).toBe(1)
      to.emit('drain')
    }
    await piped
    expect(to.written).toEqual(['200', 'chunk 1', 'chunk 2', 'chunk 3'])
    expect(to.isEnded).toBe(true)
    expect(to.eventNames()).toEqual([])
  })

  it('aborts the run if a client leaves while it is waited for', async () => {
    const { run } = heldRun()
    const to = new SlowResponse()
    const piped = pipeToNode(run, to)
    await expect.poll(() => to.listenerCount('drain')).toBe(1)
    to.destroy()
    await piped
    expect((await run.result).stopReason).toBe('aborted')
    expect(to.eventNames()).toEqual([])
  })

  it('aborts the run if the client left earlier, and disconnects a client if its run breaks off', async () => {
    const { run } = heldRun()
    const gone = new SlowResponse()
    gone.destroyed = true
    await pipeToNode(run, gone)
    expect((await run.result).stopReason).toBe('aborted')
    const to = new SlowResponse()
    await pipeToNode(new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('broken')) })), to)
    expect(to.destroyed).toBe(true)
  })

  it('passes on status, headers and every cookie', async () => {
    await using server = await serveFetch(() => {
      const response = new Response('hi', { status: 201, headers: { 'x-mine': 'yes' } })
      response.headers.append('set-cookie', 'a=1')
      response.headers.append('set-cookie', 'b=2')
      return response
    })
    const response = await fetch(server.url)
    expect([response.status, response.headers.get('x-mine'), response.headers.getSetCookie(), await response.text()]).toEqual([
      201,
      'yes',
      ['a=1', 'b=2'],
      'hi',
    ])
  })
})
