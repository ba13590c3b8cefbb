import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { eventsOf as allEventsOf } from '../../src/agent/runner/run-stream.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { ModelError } from '../../src/core/errors.ts'
import { Event, type EventName, type RunEvent } from '../../src/core/events.ts'
import { createLogger } from '../../src/core/logger.ts'
import { fallbackModel } from '../../src/models/combined/fallback.ts'
import { memoryJournal } from '../../src/testing/memory-journal.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { nativeModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { stage } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const quiet = () => recordingLogger().logger
const metadata = { tenant: 't1', user: { id: 17 } }

async function eventsOf(turns: Parameters<typeof scriptedModel>[0], options: Omit<RunnerOptions, 'model'>) {
  const stream = new AgentRunner({ model: scriptedModel(turns), logger: quiet(), ...options }).stream('go')
  const events = await Array.fromAsync(stream)
  return { events, result: await stream.result, hidden: [...stream.hidden] }
}

function only<K extends EventName>(events: readonly RunEvent[], type: K): Extract<RunEvent, { type: K }>[] {
  return events.filter((event): event is Extract<RunEvent, { type: K }> => event.type === type)
}

describe('metadata and time', () => {
  it('H36 are in the meta of every event, including pieces and nested runs', async () => {
    const before = Date.now()
    const inside = new AgentRunner({ model: scriptedModel(['Seven.']), logger: quiet() })
    const research = asTool(inside, { name: 'research', description: 'Finds out.', forwardEvents: true })
    const { events } = await eventsOf([{ text: 'Let me see.', toolCalls: [call('research', { task: 'x' })] }, 'Done.'], {
      tools: [research],
      metadata,
    })
    expect(new Set(events.map(({ type }) => type))).toContain('TEXT_DELTA')
    expect(events.some(({ meta }) => meta.parentRunId !== undefined)).toBe(true)
    let last = before
    for (const { meta } of events) {
      expect(meta.metadata).toEqual(metadata)
      expect(Object.isFrozen(meta.metadata)).toBe(true)
      expect(meta.time).toBeGreaterThanOrEqual(last)
      last = meta.time
    }
    expect(last).toBeLessThanOrEqual(Date.now())
  })

  it('H34 survive a pause and a journal: the resuming process reports the same', async () => {
    const pay = defineTool({ name: 'pay', description: 'pays', approval: true, execute: () => 'paid' })
    const turns = () => [{ toolCalls: [call('pay')] }, 'Done.']
    for (const journal of [undefined, memoryJournal()]) {
      const seen: unknown[] = []
      const options = { tools: [pay], logger: quiet(), ...(journal === undefined ? {} : { journal }) }
      const paused = await new AgentRunner({ model: scriptedModel(turns()), ...options }).run('go', { metadata })
      const next = new AgentRunner({ model: scriptedModel(['Done.']), ...options })
      next.bus.onAny((_name, _payload, meta) => void seen.push(meta.metadata))
      const state = journal === undefined ? JSON.parse(JSON.stringify(paused.state)) : paused.runId
      const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
      expect(await next.resume(state, { decisions })).toMatchObject({ stopReason: 'answered' })
      expect(seen.length).toBeGreaterThan(3)
      for (const one of seen) expect(one).toEqual(metadata)
    }
  })

  it('are limited JSON; the run’s own takes precedence over the runner’s', async () => {
    const circle: { self?: object } = {}
    circle.self = circle
    for (const wrong of [[1], 'me', null, circle, { n: 1n }, { text: 'x'.repeat(20_000) }])
      expect(() => new AgentRunner({ model: scriptedModel([]), metadata: wrong as never })).toThrow('`metadata` to be a JSON object')
    const runner = new AgentRunner({ model: scriptedModel(['a']), metadata: { of: 'runner' }, logger: quiet() })
    const seen: unknown[] = []
    runner.on(Event.RUN_END, (_payload, meta) => void seen.push(meta.metadata))
    await runner.run('go', { metadata })
    expect(seen).toEqual([metadata])
  })
})

describe('events of a call', () => {
  it('H16 END has arguments, outcome, value and bytes, without secrets', async () => {
    const login = defineTool({
      name: 'login',
      description: 'logs in',
      parameters: { type: 'object' },
      secrets: ['pin'],
      toContent: () => 'Willkommen, Käthe',
      execute: ({ pin }) => ({ user: 'ann', note: `with ${String(pin)}`, at: new Date(0), size: 5n }),
    })
    const { events } = await eventsOf([{ toolCalls: [call('login', { user: 'ann', pin: 'swordfish', password: 'hunter22' })] }, 'Done.'], {
      tools: [login],
    })
    const [end] = only(events, 'TOOL_CALL_END')
    expect(end).toMatchObject({
      args: { user: 'ann', pin: '[redacted]', password: '[redacted]' },
      outcome: 'ok',
      value: { user: 'ann', note: 'with [redacted]', at: '1970-01-01T00:00:00.000Z', size: '5n' },
      bytes: 18,
    })
    expect(JSON.stringify(end)).not.toMatch(/swordfish|hunter22/)
  })

  it('leave out values that are too long, and can always be written as JSON', async () => {
    const circle: { self?: object } = {}
    circle.self = circle
    const values = [circle, new Uint8Array(10_000_000), Array.from({ length: 100_000 }, (_, n) => n), 'x'.repeat(70_000), undefined]
    const { events } = await eventsOf(
      [{ toolCalls: values.map((_value, n) => call('look', { n, text: n === 0 ? 'x'.repeat(70_000) : '' })) }, 'Done.'],
      { tools: [{ ...countingTool('look', (args: unknown) => values[(args as { n: number }).n]).tool, toContent: () => 'short' }] },
    )
    const ends = only(events, 'TOOL_CALL_END')
    expect(ends.map(({ args }) => args === undefined)).toEqual([true, false, false, false, false])
    expect(ends.map(({ value }) => value)).toEqual([undefined, '[10000000 bytes]', undefined, undefined, undefined])
    expect(() => JSON.stringify(events)).not.toThrow()
  })

  it('H16 REJECTED has the outcome, and no secret in arguments or error; a listener learns what was hidden', async () => {
    const parameters = { type: 'object', properties: { pin: { type: 'number' } }, required: ['pin'] } as const
    const login = defineTool({ name: 'login', description: 'logs in', parameters, secrets: ['pin'], execute: () => 'ok' })
    const { events, hidden } = await eventsOf(
      [{ toolCalls: [call('login', { pin: 'swordfish' }), call('login', '{"pin": "hunter2'), call('gone', { x: 1 })] }, 'Done.'],
      { tools: [login] },
    )
    const rejected = only(events, 'TOOL_CALL_REJECTED')
    expect(rejected).toMatchObject([
      { args: { pin: '[redacted]' }, outcome: 'rejected', errorCode: 'invalid_arguments' },
      { args: '[redacted] (16 characters that are not a JSON object)', errorCode: 'tool_call_truncated', outcome: 'truncated' },
      { args: '{"x":1}', outcome: 'rejected', errorCode: 'tool_not_found' },
    ])
    expect(JSON.stringify(rejected)).not.toMatch(/swordfish|hunter2/)
    expect(hidden).toContain('swordfish')
  })

  it('name their call in each piece of arguments, whether or not its start is listened for', async () => {
    const turns = [{ toolCalls: [call('look', { n: 1 }, 'one'), call('look', { n: 2 }, 'two')], interleave: true }, 'Done.']
    const runner = new AgentRunner({ model: scriptedModel(turns), tools: [countingTool('look').tool], logger: quiet() })
    const pieces: Record<string, string> = {}
    runner.on(Event.TOOL_INPUT_DELTA, ({ id, json }) => {
      pieces[id] = (pieces[id] ?? '') + json
    })
    await runner.run('go')
    expect(pieces).toEqual({ one: '{"n":1}', two: '{"n":2}' })
  })
})

describe('events of a request', () => {
  it.each(nativeModes.slice(0, 3))('H39 $name: MODEL_RETRY says why and when, and MODEL_END also ends a failed request', async (mode) => {
    await using on = await stage(mode, ['Done.'], { faults: [{ status: 503 }], settings: { maxRetries: 1 } } as never)
    const events = await Array.fromAsync(on.runner.stream('go'))
    const [retry] = only(events, 'MODEL_RETRY')
    expect(retry).toMatchObject({
      errorCode: 'provider_error',
      error: expect.any(String),
      delayMs: expect.any(Number),
      meta: { iteration: 1 },
    })
    expect(only(events, 'MODEL_END')).toMatchObject([{ finishReason: 'stop' }])
    await using broken = await stage(mode, ['never'], { faults: [{ status: 401 }] } as never)
    const failed = await Array.fromAsync(allEventsOf(broken.runner.stream('go')))
    expect(only(failed, 'MODEL_END')).toMatchObject([
      { finishReason: 'error', errorCode: 'unauthorized', meta: { iteration: 1, durationMs: expect.any(Number) } },
    ])
  })

  it('also report a fallback model, an empty response, and an abort', async () => {
    const error = new ModelError('unauthorized', 'no such key', { provider: 'a', retryable: false })
    const model = fallbackModel([scriptedModel([{ error }]), scriptedModel([{ text: '' }, 'Done.'], { model: 'second' })])
    const stream = new AgentRunner({ model, logger: quiet() }).stream('go')
    const events = await Array.fromAsync(stream)
    expect(only(events, 'MODEL_RETRY').map(({ model: next, errorCode }) => [next, errorCode])).toEqual([
      ['second', 'unauthorized'],
      ['scripted-model', 'empty_response'],
    ])
    const hanging = new AgentRunner({ model: scriptedModel([{ text: 'Once', hang: true }]), logger: quiet() })
    const ends: unknown[] = []
    hanging.on(Event.MODEL_END, ({ finishReason, errorCode }) => void ends.push([finishReason, errorCode]))
    const controller = new AbortController()
    hanging.on(Event.TEXT_DELTA, () => controller.abort())
    await hanging.run('go', { signal: controller.signal })
    expect(ends).toEqual([['error', 'aborted']])
  })
})

describe('the log', () => {
  function logged(level: 'debug' | 'warn') {
    const lines: Record<string, unknown>[] = []
    const logger = createLogger({ level, destination: { write: (line) => void lines.push(JSON.parse(line)) } })
    return { logger, lines }
  }
  const look = defineTool({
    name: 'look',
    description: 'looks',
    execute: (_args, { logger }) => {
      logger.warn({ found: 3 }, 'looked')
      logger.error(new Error('odd') as never, 'thought')
      return 'seen'
    },
  })
  const turns = () => [{ toolCalls: [call('look', {}, 'c1'), call('gone', {}, 'c2')] }, 'Done.']

  it('has every step at debug level, with run, tool and duration; a tool’s own records say whose they are', async () => {
    const { logger, lines } = logged('debug')
    const { runId } = await new AgentRunner({ model: scriptedModel(turns()), tools: [look], logger }).run('go')
    expect(lines.every((line) => line.runId === runId)).toBe(true)
    const duration = expect.any(Number)
    expect(lines).toMatchObject([
      { msg: 'run started', model: 'scripted-model' },
      { msg: 'model request ended', iteration: 1, finishReason: 'tool_calls', durationMs: duration },
      { msg: 'looked', tool: 'look', toolCallId: 'c1', found: 3 },
      { msg: 'thought', tool: 'look', toolCallId: 'c1', message: 'odd' },
      { msg: 'tool call was not run', tool: 'gone', toolCallId: 'c2', outcome: 'rejected' },
      { msg: 'tool call ended', tool: 'look', toolCallId: 'c1', outcome: 'ok', durationMs: duration },
      { msg: 'model request ended', iteration: 2, finishReason: 'stop', durationMs: duration },
      { msg: 'run ended', stopReason: 'answered', durationMs: duration },
    ])
  })

  it('has no steps at any other level, nor for a logger that does not reveal its level', async () => {
    const { logger, lines } = logged('warn')
    await new AgentRunner({ model: scriptedModel(turns()), tools: [look], logger }).run('go')
    expect(lines.map(({ msg }) => msg)).toEqual(['looked', 'thought'])
    const plain = recordingLogger()
    await new AgentRunner({ model: scriptedModel(turns()), tools: [look], logger: plain.logger }).run('go')
    expect(plain.records.map(({ message }) => message)).toEqual(['looked', 'thought'])
  })
})
