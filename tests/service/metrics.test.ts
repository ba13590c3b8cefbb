import { describe, expect, it } from 'vitest'
import { ModelError } from '../../src/core/errors.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { countingTool } from '../hazards/tools.ts'
import { readPrometheus, valueIn } from './read-prometheus.ts'
import { json, payTool, startService } from './start-service.ts'

const usage = { inputTokens: 7, outputTokens: 3, costUsd: 0.25 }
const openMetrics = 'application/openmetrics-text'

async function metricsOf(ask: (path: string, init?: RequestInit) => Promise<Response>, accept?: string) {
  const response = await ask('/metrics', accept === undefined ? {} : { headers: { accept } })
  const type = response.headers.get('content-type') ?? ''
  return { type, families: readPrometheus(await response.text(), type.startsWith(openMetrics) ? 'openmetrics' : 'text') }
}

describe('metrics of the service', () => {
  it('count the usage of a run that pauses and resumes once, and its executions twice', async () => {
    const { tool } = payTool()
    const model = scriptedModel([
      { toolCalls: [{ name: 'pay', arguments: { euros: 5 } }], usage },
      { text: 'Paid.', usage },
    ])
    const { post, ask } = await startService({ model, tools: [tool] })
    const { id, pending } = await json(post('/v1/runs', { input: 'x' }))
    const [{ toolCallId, fingerprint }] = pending
    const during = (await metricsOf(ask)).families
    expect(valueIn(during, 'toolloop_runs_waiting', {})).toBe(1)
    await json(post(`/v1/runs/${id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: true }] }))
    const { families } = await metricsOf(ask)
    const of = (name: string, labels = {}) => valueIn(families, `toolloop_${name}`, labels)
    expect([of('tokens_total', { direction: 'input' }), of('tokens_total', { direction: 'output' }), of('cost_usd_total')]).toEqual([
      14, 6, 0.5,
    ])
    expect([of('runs_total', { stop_reason: 'paused' }), of('runs_total', { stop_reason: 'answered' })]).toEqual([1, 1])
    expect([of('model_requests_total'), of('model_request_duration_seconds_count'), of('runs_waiting'), of('runs_running')]).toEqual([
      2, 2, 0, 0,
    ])
  })

  it('count failed requests by their error', async () => {
    const model = scriptedModel([
      () => {
        throw new ModelError('rate_limited', 'slow down', { provider: 'p', model: 'm', retryable: false })
      },
    ])
    const { post, ask } = await startService({ model })
    await (await post('/v1/runs', { input: 'x' })).text()
    const { families } = await metricsOf(ask)
    expect(valueIn(families, 'toolloop_model_failures_total', { error: 'rate_limited' })).toBe(1)
    expect(valueIn(families, 'toolloop_model_requests_total', { finish: 'error' })).toBe(1)
    expect(valueIn(families, 'toolloop_runs_total', { stop_reason: 'model_error' })).toBe(1)
  })

  it.each([
    [undefined, 'text/plain; version=0.0.4'],
    ['*/*', 'text/plain; version=0.0.4'],
    ['text/plain', 'text/plain; version=0.0.4'],
    // As Prometheus asks.
    [
      `${openMetrics};version=1.0.0;q=0.5,${openMetrics};version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2`,
      `${openMetrics}; version=1.0.0`,
    ],
    [`text/plain;q=0.9, ${openMetrics};q=0.1`, 'text/plain; version=0.0.4'],
    [`${openMetrics};q=0`, 'text/plain; version=0.0.4'],
  ])('are in the requested format: %s', async (accept, type) => {
    const { post, ask } = await startService({
      model: scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']),
      tools: [countingTool('look').tool],
    })
    await (await post('/v1/runs', { input: 'x' })).text()
    const told = await metricsOf(ask, accept)
    expect(told.type).toContain(type)
    expect(valueIn(told.families, 'toolloop_tool_calls_total', { tool: 'look', outcome: 'ok' })).toBe(1)
  })

  it('names of tools that come from clients and models get no series of their own', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `made_up_${at}`)
    const model = scriptedModel(names.flatMap((name) => [{ toolCalls: [{ name }] }, 'done']))
    const { post, ask } = await startService({ model })
    for (const name of names) {
      const tools = [{ type: 'function', function: { name: `client_${name}`, description: '', parameters: { type: 'object' } } }]
      await (await post('/v1/runs', { input: 'x', tools })).text()
    }
    const { families } = await metricsOf(ask)
    expect(families.get('toolloop_tool_calls_total')?.samples.map(({ labels }) => labels.tool)).toEqual(['of a client'])
  })
})
