import { convertGenAISpanAttributesToOpenInferenceSpanAttributes as toOpenInference } from '@arizeai/openinference-genai'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Budget } from '../../src/agent/limits/budget.ts'
import { handoff } from '../../src/agent/sub-agents/handoff.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { createAgentRunner } from '../../src/backends/index.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { connectMcpServers } from '../../src/tools/mcp/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { modes } from '../hazards/modes.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { resultTexts, stage } from '../hazards/stage.ts'
import { call, countingTool } from '../hazards/tools.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'
import { listed, odd } from '../tools/mcp/open-tools.ts'
import { keepContext, startTracing } from './tracing.ts'

failOnUnhandledRejections()

const usage = { inputTokens: 40, outputTokens: 10 }
const failing = defineTool({
  name: 'fail',
  description: 'Fails.',
  parameters: { type: 'object' },
  execute: () => {
    throw new RangeError('No such row')
  },
})

function agent(turns: Parameters<typeof scriptedModel>[0], options: Omit<RunnerOptions, 'model'> = {}) {
  return new AgentRunner({ model: scriptedModel(turns), logger: recordingLogger().logger, ...options })
}

describe.each(modes)('spans: $name', (mode) => {
  it('calls of one turn, including a failed one, a failed request and its retry are read by OpenInference', async () => {
    await using tracing = startTracing()
    const script = [
      { toolCalls: [call('look', { n: 1 }), call('fail', {}), call('look', { n: 2 })], usage },
      { text: 'Done.', usage },
    ]
    await using on = await stage(mode, script, {
      tools: [countingTool('look').tool, failing],
      instructions: 'Be brief.',
      faults: [{ status: 503 }],
      settings: { maxRetries: 1 },
      telemetry: telemetry({ tracer: tracing.tracer, meter: tracing.meter, content: true }),
    })
    const result = await on.run('Look it up.')
    expect(result.stopReason).toBe('answered')
    const tree = tracing
      .tree()
      .replaceAll(/ \((?:call=\S+ ?)?(?:in=\d+ out=\d+ ?)?/g, ' (')
      .replaceAll(/call=\S+ /g, '')
    const { model } = on.runner.model
    expect(tree.split('\n').toSorted()).toEqual(
      [
        'trace 1',
        '  invoke_agent (finish=stop ended=answered)',
        `    chat ${model} (finish=tool_call retries=1)`,
        '      * toolloop.retry',
        '    execute_tool look (outcome=ok)',
        '    execute_tool fail (outcome=failed error=tool_failed)',
        '      * exception: No such row',
        '    execute_tool look (outcome=ok)',
        `    chat ${model} (finish=stop)`,
      ].toSorted(),
    )
    const asked = tracing.spans().filter(({ kind }) => kind === SpanKind.CLIENT)
    expect(asked).toHaveLength(2)
    for (const span of asked) expect(span.attributes).toMatchObject({ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model })
    expect(asked.every(({ attributes }) => (attributes['gen_ai.request.stream'] === true) === mode.streaming)).toBe(true)
    // Counted as the driver counts it.
    expect(asked.map(({ attributes }) => attributes['gen_ai.usage.input_tokens'])).toEqual(
      result.steps.map((step) => step.usage?.inputTokens),
    )
    const read = toOpenInference(asked[0]?.attributes ?? {})
    expect(read).toMatchObject({
      'openinference.span.kind': 'LLM',
      'llm.model_name': expect.any(String),
      'llm.input_messages.0.message.role': 'system',
      'llm.input_messages.1.message.role': 'user',
      'llm.token_count.prompt': result.steps[0]?.usage?.inputTokens,
    })
    expect(Object.values(read ?? {})).toContain('look')
  })
})

it.each(['native', 'langchain'] as const)('spans: the %s loop, streamed or not', async (backend) => {
  for (const stream of [true, false]) {
    await using tracing = startTracing()
    const inner = agent(['Seven.'], { tools: [], name: 'inner' })
    const runner = await createAgentRunner({
      backend,
      model: scriptedModel([
        { toolCalls: [call('look', { n: 1 }), call('fail', {}), call('ask', { task: 'x' })], usage },
        { text: 'Done.', usage },
      ]),
      tools: [countingTool('look').tool, failing, asTool(inner, { name: 'ask', description: 'Asks.' })],
      logger: recordingLogger().logger,
      stream,
      telemetry: telemetry({ tracer: tracing.tracer, content: true }),
    })
    expect((await runner.run('go')).stopReason).toBe('answered')
    const tree = tracing.tree().replaceAll(/ \((?:call=\S+ ?)?(?:in=\d+ out=\d+ ?)?/g, ' (')
    expect(tree.split('\n')).toEqual([
      'trace 1',
      '  invoke_agent (finish=stop ended=answered)',
      '    chat scripted-model (finish=tool_call)',
      '    execute_tool look (outcome=ok)',
      '    execute_tool fail (outcome=failed error=tool_failed)',
      '      * exception: No such row',
      '    execute_tool ask (outcome=ok)',
      '      invoke_agent inner (finish=stop ended=answered)',
      '        chat scripted-model (finish=stop)',
      '    chat scripted-model (finish=stop)',
    ])
    for (const span of tracing.spans()) expect(toOpenInference(span.attributes)).toHaveProperty(['openinference.span.kind'])
  }
})

describe('the parents of spans', () => {
  it('a span that a tool makes is below its call, and one of a run inside it is below that', async () => {
    using _context = keepContext()
    await using tracing = startTracing()
    const { tracer } = tracing
    const inner = agent(['Seven.'], { name: 'inner' })
    const count = defineTool({
      name: 'count',
      description: 'Counts.',
      execute: (_args, ctx) =>
        tracer.startActiveSpan('select', async (span) => {
          const { output } = await inner.run('count', { parent: ctx })
          span.end()
          return output
        }),
    })
    const outer = agent([{ toolCalls: [call('count', {})] }, 'Seven it is.'], {
      tools: [count],
      name: 'outer',
      telemetry: telemetry({ tracer }),
    })
    await tracer.startActiveSpan('GET /', async (span) => {
      await outer.run('How many?')
      span.end()
    })
    expect(tracing.tree().replaceAll(/ \(.*\)/g, '')).toBe(
      [
        'trace 1',
        '  GET /',
        '    invoke_agent outer',
        '      chat scripted-model',
        '      execute_tool count',
        '        select',
        '          invoke_agent inner',
        '            chat scripted-model',
        '      chat scripted-model',
      ].join('\n'),
    )
  })

  it('spans are the same with and without listeners; nested agents are below their call even without a context manager', async () => {
    const traceOf = async (isWatched: boolean) => {
      await using tracing = startTracing()
      // Both calls ask this model at the same time, in either order.
      const inner = agent(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Seven.' : { toolCalls: [call('look', {})] }), {
        tools: [countingTool('look').tool],
      })
      const outer = agent([{ toolCalls: [call('research', { task: 'a' }), call('research', { task: 'b' })] }, 'Done.'], {
        tools: [asTool(inner, { name: 'research', description: 'Researches.' })],
        telemetry: telemetry({ tracer: tracing.tracer }),
      })
      if (!isWatched) await outer.run('go')
      else for await (const _event of outer.stream('go'));
      const names = tracing.spans().map(({ name }) => name)
      expect(new Set(tracing.spans().map((span) => span.spanContext().traceId)).size).toBe(1)
      expect(names.filter((name) => name === 'invoke_agent research')).toHaveLength(2)
      return tracing
        .tree()
        .replaceAll(/call=\S+ /g, '')
        .split('\n')
        .toSorted()
    }
    expect(await traceOf(true)).toEqual(await traceOf(false))
  })

  it('a run that another process resumes after a crash or a wait continues the trace of the first', async () => {
    await using tracing = startTracing()
    const kept = new MemoryRuns()
    const crashed = Promise.withResolvers<void>()
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
    const process = (turn: number, hangs: boolean) => {
      const journal = memoryJournal(kept)
      const slow = defineTool({
        name: 'slow',
        description: 'Takes long.',
        effect: 'read',
        execute: () => {
          if (!hangs) return 'done'
          crashed.resolve()
          return new Promise(() => {})
        },
      })
      const turns = [{ toolCalls: [call('slow', {})] }, { toolCalls: [call('pay', {})] }, 'Paid.'].slice(turn)
      return { journal, runner: agent(turns, { tools: [slow, pay], journal, telemetry: telemetry({ tracer: tracing.tracer }) }) }
    }
    const first = process(0, true)
    first.runner.run('go', { runId: 'run_1' }).catch(() => {})
    await crashed.promise
    await first.journal.close()
    const second = process(1, false)
    const [recovered] = await second.runner.recover()
    expect(recovered).toMatchObject({ runId: 'run_1' })
    const pending = (await second.runner.resume('run_1')).pending
    await second.journal.close()
    const third = process(2, false)
    const decisions = pending.map((item) => ({ ...item, approved: true as const, by: { user: 'boss' } }))
    const result = await third.runner.resume('run_1', { decisions })
    expect(result.output).toBe('Paid.')
    await third.journal.close()
    const spans = tracing.spans()
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1)
    expect(spans.filter(({ attributes }) => attributes['toolloop.run.resumed'] === true).length).toBeGreaterThanOrEqual(2)
    const by = { 'toolloop.decision.by': '{"user":"boss"}' }
    expect(tracing.span('execute_tool pay').attributes).toMatchObject({ 'toolloop.tool.decided': 'approval', ...by })
  })

  it('a run that is resumed in another trace stays in its own and links to that trace', async () => {
    using _context = keepContext()
    await using tracing = startTracing()
    const ask = defineTool({ name: 'ask', description: 'Asks.', approval: true, execute: () => 'yes' })
    const open = (turns: Parameters<typeof scriptedModel>[0]) =>
      agent(turns, { tools: [ask], telemetry: telemetry({ tracer: tracing.tracer }) })
    const paused = await tracing.tracer.startActiveSpan('POST /runs', async (span) => {
      const result = await open([{ toolCalls: [call('ask', {})] }]).run('go')
      span.end()
      return result
    })
    await tracing.tracer.startActiveSpan('POST /decisions', async (span) => {
      const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
      await open(['Done.']).resume(paused.state, { decisions })
      span.end()
    })
    const later = tracing.spans().find(({ attributes }) => attributes['toolloop.run.resumed'] === true)
    expect(later?.spanContext().traceId).toBe(tracing.span('POST /runs').spanContext().traceId)
    expect(later?.links.map(({ context }) => context.spanId)).toEqual([tracing.span('POST /decisions').spanContext().spanId])
  })

  it('a call of an MCP tool is one span, and its server receives it', async () => {
    await using tracing = startTracing()
    const tools = await connectMcpServers({ odd: odd({ tools: [listed('meta')] }) }, { logger: recordingLogger().logger })
    try {
      const runner = agent([{ toolCalls: [call('odd__meta', {})] }, 'Done.'], { tools, telemetry: telemetry({ tracer: tracing.tracer }) })
      const [told = ''] = resultTexts(await runner.run('go'))
      const span = tracing.span('execute_tool odd__meta')
      const { traceId, spanId } = span.spanContext()
      expect(JSON.parse(told)).toMatchObject({ traceparent: `00-${traceId}-${spanId}-01` })
      expect(span.attributes).toMatchObject({
        'mcp.method.name': 'tools/call',
        'network.transport': 'pipe',
        'mcp.protocol.version': expect.stringMatching(/^20/),
      })
      expect(tracing.spans()).toHaveLength(4)
    } finally {
      await tools.close()
    }
  })
})

describe('events of a span', () => {
  it('include a guardrail, a handoff, a call that did not run, and the run’s session', async () => {
    await using tracing = startTracing()
    const billing = agent(['You owe nothing.'])
    const sessions = memorySessions()
    const runner = agent(
      [{ toolCalls: [{ id: 'look', name: 'look', args: '{"n": 1,}' }] }, { toolCalls: [call('hand_off_to_billing', {})] }],
      {
        tools: [countingTool('look').tool, handoff(billing, { name: 'billing', description: 'Money.' })],
        guardrails: [{ name: 'polite', output: ({ text }) => (text.includes('owe') ? { replace: 'All is well.' } : undefined) }],
        sessions,
        telemetry: telemetry({ tracer: tracing.tracer }),
      },
    )
    const { output } = await runner.run('What do I owe?', { session: 'chat-1' })
    expect(output).toBe('All is well.')
    const run = tracing.span('invoke_agent')
    expect(run.events.map(({ name, attributes }) => [name, attributes])).toMatchObject([
      ['toolloop.call_not_run', { 'gen_ai.tool.name': 'look', 'error.type': 'invalid_arguments_json' }],
      ['toolloop.handoff', { 'gen_ai.agent.name': 'billing' }],
      ['toolloop.guardrail', { 'toolloop.guardrail.name': 'polite', 'toolloop.guardrail.verdict': 'replace' }],
    ])
    for (const { attributes } of tracing.spans()) expect(attributes['gen_ai.conversation.id']).toBe('chat-1')
  })

  it('include the repairs of a call that was written as text', async () => {
    await using tracing = startTracing()
    const add = defineTool({
      name: 'add',
      description: 'Adds.',
      parameters: { type: 'object', properties: { n: { type: 'integer' } } },
      execute: ({ n }) => n,
    })
    const text = '<tool_action name="add"><n>1</n></tool_action>'
    const model = scriptedModel([text, 'Done.'], { capabilities: { nativeTools: false } })
    const runner = new AgentRunner({
      model,
      tools: [add],
      logger: recordingLogger().logger,
      telemetry: telemetry({ tracer: tracing.tracer }),
    })
    const { toolCalls } = await runner.run('go')
    expect(tracing.span('execute_tool add').attributes['toolloop.tool.repairs']).toEqual(toolCalls[0]?.repairs)
    expect(toolCalls[0]?.repairs?.length).toBeGreaterThan(0)
  })
})

describe('how a run ended', () => {
  it('a failed request: its error as an event, and the run’s', async () => {
    await using tracing = startTracing()
    const model = scriptedModel([
      () => {
        throw new Error('out of order')
      },
    ])
    const { stopReason } = await new AgentRunner({
      model,
      logger: recordingLogger().logger,
      telemetry: telemetry({ tracer: tracing.tracer }),
    }).run('go')
    expect(stopReason).toBe('model_error')
    for (const name of ['chat scripted-model', 'invoke_agent']) {
      const { status, attributes } = tracing.span(name)
      expect(status.code).toBe(SpanStatusCode.ERROR)
      expect(attributes['error.type']).toBe('provider_error')
    }
    expect(tracing.span('chat scripted-model').events).toMatchObject([
      { name: 'exception', attributes: { 'exception.message': 'out of order' } },
    ])
  })

  it('a request that a budget refuses is not a failure, in its span or in the metrics', async () => {
    await using tracing = startTracing()
    const { tracer, meter } = tracing
    const budget = new Budget({ tokens: 10 })
    const { stopReason } = await agent(['never said'], { budget, telemetry: telemetry({ tracer, meter }) }).run('go')
    expect(stopReason).toBe('budget')
    const { status, attributes, events } = tracing.span('chat scripted-model')
    expect([status.code, attributes['error.type'], events.map(({ name }) => name)]).toEqual([
      SpanStatusCode.UNSET,
      undefined,
      ['toolloop.not_sent'],
    ])
    const metrics = await tracing.metrics()
    expect(metrics.find(({ descriptor }) => descriptor.name === 'gen_ai.client.inference.duration')?.dataPoints ?? []).toEqual([])
    const requests = metrics.find(({ descriptor }) => descriptor.name === 'gen_ai.invoke_agent.inference_calls')
    expect(requests?.dataPoints[0]?.value).toMatchObject({ sum: 0 })
  })

  it('work that throws at once is started once', async () => {
    await using tracing = startTracing()
    const { logger, records } = recordingLogger()
    let begun = 0
    const next = () => {
      begun++
      throw new Error('at once')
    }
    const request = { method: 'GET', route: '/', path: '/', headers: new Headers(), logger }
    await expect(telemetry({ tracer: tracing.tracer }).aroundHttpRequest(request, next)).rejects.toThrow('at once')
    expect([begun, records]).toEqual([1, []])
  })

  it('F7 an answer that was cut off: its stop reason and finish reason, and no error', async () => {
    await using tracing = startTracing()
    await agent([{ text: 'Half', finishReason: 'length' }], { telemetry: telemetry({ tracer: tracing.tracer }) }).run('go')
    const [run] = tracing.spans().filter(({ name }) => name === 'invoke_agent')
    expect(run?.attributes).toMatchObject({ 'toolloop.stop_reason': 'truncated', 'gen_ai.response.finish_reasons': ['length'] })
    expect(run?.status.code).toBe(SpanStatusCode.UNSET)
  })

  it('a budget, an abort, a call that did not run', async () => {
    await using tracing = startTracing()
    const { tracer } = tracing
    const looping = { toolCalls: [call('look', {}), call('nothing', {})], usage }
    const runner = agent([looping, looping, looping], { tools: [countingTool('look').tool], telemetry: telemetry({ tracer }) })
    await runner.run('go', { limits: { tokens: 60 } })
    const [budget] = tracing.spans().filter(({ name }) => name === 'invoke_agent')
    expect(budget?.attributes).toMatchObject({
      'toolloop.stop_reason': 'budget',
      'gen_ai.usage.input_tokens': 80,
      'toolloop.iterations': 2,
    })
    expect(budget?.status.code).toBe(SpanStatusCode.UNSET)
    expect(budget?.events.map(({ name, attributes }) => [name, attributes?.['gen_ai.tool.name']])).toEqual([
      ['toolloop.call_not_run', 'nothing'],
      ['toolloop.call_not_run', 'nothing'],
    ])
    const gone = new AbortController()
    const leave = defineTool({ name: 'leave', description: 'Leaves.', execute: () => gone.abort(new Error('closed')) })
    await agent([{ toolCalls: [call('leave', {})] }], { tools: [leave], telemetry: telemetry({ tracer }) }).run('go', {
      signal: gone.signal,
    })
    const aborted = tracing.spans().at(-1)
    expect(aborted?.attributes).toMatchObject({ 'toolloop.stop_reason': 'aborted', 'error.type': 'aborted' })
  })
})
