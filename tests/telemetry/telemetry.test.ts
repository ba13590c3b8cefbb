import { type ContextManager, context, type Tracer } from '@opentelemetry/api'
import { type Sampler, SamplingDecision, TracerProvider } from '@opentelemetry/sdk-trace'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { type TelemetryOptions, telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { call } from '../hazards/tools.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { startTracing } from './tracing.ts'

failOnUnhandledRejections()

const usage = { inputTokens: 40, outputTokens: 10 }
const login = defineTool({
  name: 'login',
  description: 'Logs in.',
  parameters: { type: 'object', properties: { pin: { type: 'string' } } },
  secrets: ['pin'],
  execute: ({ pin }) => `in with ${pin}`,
})

async function runWith(options: TelemetryOptions) {
  const { logger, records } = recordingLogger()
  const model = scriptedModel([
    { toolCalls: [call('login', { pin: 'sesame-77' })], usage },
    { text: 'You are in.', usage },
  ])
  const runner = new AgentRunner({ model, tools: [login], instructions: 'Be kind.', logger, name: 'door', telemetry: telemetry(options) })
  return { result: await runner.run('Let me in.', { temperature: 0.5 }), records }
}

describe('the contents of spans', () => {
  it('exclude the conversation unless it is asked for; then include it without secrets', async () => {
    await using quiet = startTracing()
    await runWith({ tracer: quiet.tracer })
    const all = JSON.stringify(quiet.spans().map(({ attributes, events }) => [attributes, events]))
    for (const said of ['Let me in', 'Be kind', 'You are in', 'sesame']) expect(all).not.toContain(said)
    await using open = startTracing()
    await runWith({ tracer: open.tracer, content: true })
    const told = JSON.stringify(open.spans().map(({ attributes }) => attributes))
    for (const said of ['Let me in', 'Be kind', 'You are in', 'in with [redacted]']) expect(told).toContain(said)
    expect(told).not.toContain('sesame')
    expect(open.span('execute_tool login').attributes['gen_ai.tool.call.arguments']).toBe('{"pin":"[redacted]"}')
  })

  it('exclude a secret once it is known, even from earlier messages', async () => {
    await using tracing = startTracing()
    const model = scriptedModel([{ toolCalls: [call('login', { pin: 'open-sesame' })] }, 'In.'])
    const runner = new AgentRunner({ model, tools: [login], telemetry: telemetry({ tracer: tracing.tracer, content: true }) })
    await runner.run('The pin is open-sesame.')
    const told = tracing
      .spans()
      .filter(({ name }) => name.startsWith('chat'))
      .map(({ attributes }) => attributes['gen_ai.input.messages'])
    expect(told).toEqual([expect.stringContaining('The pin is open-sesame.'), expect.stringContaining('The pin is [redacted].')])
    expect(told[1]).not.toContain('sesame')
  })

  it('include the names of agent, model and tool for a sampler', async () => {
    const seen: unknown[] = []
    const sampler: Sampler = {
      shouldSample: (_context, _traceId, name, _kind, attributes) => {
        seen.push([name, attributes])
        return { decision: SamplingDecision.NOT_RECORD }
      },
      toString: () => 'none',
    }
    const { result } = await runWith({ tracer: new TracerProvider({ sampler }).getTracer('tests') })
    expect(result.output).toBe('You are in.')
    expect(seen).toMatchObject([
      ['invoke_agent door', { 'gen_ai.agent.name': 'door', 'gen_ai.request.model': 'scripted-model', 'gen_ai.request.temperature': 0.5 }],
      ['chat scripted-model', { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'scripted' }],
      ['execute_tool login', { 'gen_ai.tool.name': 'login', 'gen_ai.tool.type': 'function' }],
      ['chat scripted-model', {}],
    ])
  })
})

describe('metrics', () => {
  const namesOf = async (semconv: '1.37' | 'latest') => {
    await using tracing = startTracing()
    await runWith({ tracer: tracing.tracer, meter: tracing.meter, semconv })
    return tracing.metrics()
  }

  it('have the newest names, in the buckets of the conventions', async () => {
    const found = await namesOf('latest')
    const byName = new Map(found.map((metric) => [metric.descriptor.name, metric]))
    expect([...byName.keys()].toSorted()).toEqual([
      'gen_ai.client.inference.duration',
      'gen_ai.client.inference.time_per_output_chunk',
      'gen_ai.client.inference.time_to_first_chunk',
      'gen_ai.client.inference.usage.input_tokens',
      'gen_ai.client.inference.usage.output_tokens',
      'gen_ai.execute_tool.duration',
      'gen_ai.invoke_agent.duration',
      'gen_ai.invoke_agent.inference_calls',
      'gen_ai.invoke_agent.tool_calls',
    ])
    const boundaries = (name: string) => {
      const value = byName.get(name)?.dataPoints[0]?.value
      return typeof value === 'object' && 'buckets' in value ? value.buckets.boundaries : undefined
    }
    const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
    expect(boundaries('gen_ai.client.inference.duration')).toEqual(seconds)
    expect(boundaries('gen_ai.client.inference.time_per_output_chunk')).toEqual(seconds)
    expect(boundaries('gen_ai.execute_tool.duration')).toEqual(seconds)
    expect(boundaries('gen_ai.invoke_agent.duration')?.at(-1)).toBe(409.6)
    expect(boundaries('gen_ai.invoke_agent.tool_calls')).toEqual([1, 2, 4, 8, 16, 32, 64, 128])
    expect(Object.fromEntries(found.map(({ descriptor }) => [descriptor.name, descriptor.unit]))).toEqual({
      'gen_ai.client.inference.duration': 's',
      'gen_ai.client.inference.time_per_output_chunk': 's',
      'gen_ai.client.inference.time_to_first_chunk': 's',
      'gen_ai.client.inference.usage.input_tokens': '{token}',
      'gen_ai.client.inference.usage.output_tokens': '{token}',
      'gen_ai.execute_tool.duration': 's',
      'gen_ai.invoke_agent.duration': 's',
      'gen_ai.invoke_agent.inference_calls': '{call}',
      'gen_ai.invoke_agent.tool_calls': '{call}',
    })
    expect(byName.get('gen_ai.client.inference.usage.input_tokens')?.dataPoints).toMatchObject([
      { value: 80, attributes: { 'gen_ai.provider.name': 'scripted', 'gen_ai.request.model': 'scripted-model' } },
    ])
  })

  it.each([
    ['what passes between its pieces', 'abc', true, 2],
    ['of very many pieces, evenly', 'x'.repeat(500), true, 8],
    ['of a single piece, nothing', 'a', true, 0],
    ['of one that comes whole, nothing', 'abc', false, 0],
  ])('a response: %s', async (_, text, stream, count) => {
    await using tracing = startTracing()
    const { logger } = recordingLogger()
    const model = scriptedModel([{ chunks: [...text] }])
    const { tracer, meter } = tracing
    await new AgentRunner({ model, logger, stream, telemetry: telemetry({ tracer, meter }) }).run('go')
    const found = (await tracing.metrics()).find(({ descriptor }) => descriptor.name.endsWith('.time_per_output_chunk'))
    const [point] = found?.dataPoints ?? []
    expect(point?.value ?? { count: 0 }).toMatchObject({ count })
    const first = tracing.span('chat scripted-model').attributes['gen_ai.response.time_to_first_chunk']
    if (stream) expect(first).toBeGreaterThan(0)
    else expect(first).toBeUndefined()
    if (count > 0) expect(point?.attributes).toMatchObject({ 'gen_ai.operation.name': 'chat', 'gen_ai.response.model': 'scripted-model' })
  })

  it('of a response that broke off and is requested again count from its start', async () => {
    await using tracing = startTracing()
    const { logger } = recordingLogger()
    const said = scriptedModel(['abcdefgh'])
    const model: ChatModel = {
      provider: said.provider,
      model: said.model,
      capabilities: said.capabilities,
      generate: (request, sink) => {
        for (const piece of 'lost') sink?.text?.(piece)
        expect(sink?.restart?.()).toBe(true)
        return said.generate(request, sink)
      },
    }
    const { tracer, meter } = tracing
    await new AgentRunner({ model, logger, telemetry: telemetry({ tracer, meter }) }).run('go')
    const found = (await tracing.metrics()).find(({ descriptor }) => descriptor.name.endsWith('.time_per_output_chunk'))
    expect(found?.dataPoints[0]?.value).toMatchObject({ count: 1 })
  })

  it('F21 of one that is requested again after a part was shown count from its start too', async () => {
    await using tracing = startTracing()
    const script = [{ text: 'lo', fault: { cutAfterBytes: 'content' as const } }, 'abcdefgh']
    await using provider = await startStrictProvider({ script })
    const model = createModel({ provider: 'custom', model: 'm', baseURL: provider.baseURL, maxRetries: 1, maxRetryDelayMs: 1 })
    const { tracer, meter } = tracing
    const runner = new AgentRunner({ model, telemetry: telemetry({ tracer, meter }) })
    runner.on('TEXT_DELTA', () => {})
    const result = await runner.run('go')
    expect(result).toMatchObject({ output: 'abcdefgh', steps: [{ retries: 1 }] })
    const found = (await tracing.metrics()).find(({ descriptor }) => descriptor.name.endsWith('.time_per_output_chunk'))
    expect(found?.dataPoints[0]?.value).toMatchObject({ count: 1 })
    expect(tracing.span('chat m').events.map(({ name }) => name)).toEqual(['toolloop.retry'])
  })

  it('have the names of version 1.37', async () => {
    const found = await namesOf('1.37')
    expect(found.map(({ descriptor }) => descriptor.name).toSorted()).toEqual([
      'gen_ai.client.operation.duration',
      'gen_ai.client.token.usage',
      'gen_ai.server.time_to_first_token',
    ])
    const kinds = found.flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => attributes['gen_ai.token.type']))
    expect(kinds.toSorted()).toEqual(['input', 'output', undefined, undefined])
  })
})

/** Every property is a function that throws. */
function broken<T extends object>(): T {
  return new Proxy({} as T, {
    get: () => () => {
      throw new Error('broken')
    },
  })
}

describe('telemetry that fails', () => {
  const good: Tracer = new TracerProvider().getTracer('tests')
  const brokenSpans: Tracer = { ...broken<Tracer>(), startSpan: () => broken(), startActiveSpan: good.startActiveSpan }

  it.each([
    ['a tracer', { tracer: broken<Tracer>() }],
    ['spans', { tracer: brokenSpans }],
    ['a meter', { tracer: good, meter: broken<NonNullable<TelemetryOptions['meter']>>() }],
    ['an exporter', { tracer: new TracerProvider({ spanProcessors: [broken()] }).getTracer('tests'), content: true }],
  ])('%s: the run is the same as without telemetry, and the failure is logged once', async (_what, options) => {
    const { result, records } = await runWith(options)
    expect(result).toMatchObject({ stopReason: 'answered', output: 'You are in.', toolCalls: [{ outcome: 'ok' }] })
    expect(records.filter(({ message }) => message.startsWith('telemetry failed'))).toHaveLength(1)
  })

  it('spans that throw don’t affect metrics', async () => {
    await using tracing = startTracing()
    await runWith({ tracer: brokenSpans, meter: tracing.meter })
    await using whole = startTracing()
    await runWith({ tracer: good, meter: whole.meter })
    const measured = async ({ metrics }: typeof tracing) => (await metrics()).map(({ descriptor }) => descriptor.name).toSorted()
    expect(await measured(tracing)).toEqual(await measured(whole))
  })

  it.each(['before', 'after'])('a context manager that throws %s starting the work: the work is started once', async (when) => {
    const manager: ContextManager = {
      ...broken<ContextManager>(),
      active: () => {
        throw new Error('broken')
      },
      with: (_context, work, thisArg, ...args) => {
        if (when === 'after') work.call(thisArg as never, ...args)
        throw new Error('broken')
      },
      bind: (_context, target) => target,
      enable: () => manager,
      disable: () => manager,
    }
    context.setGlobalContextManager(manager)
    try {
      const { result } = await runWith({ tracer: good })
      expect(result).toMatchObject({ stopReason: 'answered', iterations: 2, toolCalls: [{ attempts: 1 }] })
    } finally {
      context.disable()
    }
  })

  it('refuses invalid options', () => {
    expect(() => telemetry({ contents: true } as never)).toThrow(/contents/)
    expect(() => telemetry({ semconv: '1.0' as never })).toThrow(/'latest' or '1.37'/)
    expect(() => telemetry({ meter: { createHistogram: () => {} } as never })).toThrow(/`meter`/)
    expect(() => new AgentRunner({ model: scriptedModel([]), telemetry: {} as never })).toThrow(/toolloop\/telemetry/)
    expect(() => new AgentRunner({ model: scriptedModel([]), name: '' })).toThrow(/`name`/)
  })
})
