import { expect, it } from 'vitest'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { startService } from '../service/start-service.ts'
import { keepContext, startTracing } from './tracing.ts'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

it('a request of the service continues the caller’s trace, with its run below it', async () => {
  using _context = keepContext()
  await using tracing = startTracing()
  const { post, ask } = await startService({ model: scriptedModel(['Hello.']), telemetry: telemetry({ tracer: tracing.tracer }) })
  await (await post('/v1/runs', { input: 'go' }, { traceparent, tracestate: 'vendor=1' })).text()
  await (await ask('/healthz')).text()
  await (await post('/v1/runs', { nothing: true }, { traceparent: 'no trace' })).text()
  const [refused] = tracing.spans().slice(-1)
  expect(refused?.parentSpanContext).toBeUndefined()
  expect(refused?.attributes).toMatchObject({ 'http.request.method': 'POST', 'http.route': '/v1/runs', 'http.response.status_code': 400 })
  const run = tracing.span('invoke_agent')
  const request = tracing.spans().find((span) => span.spanContext().spanId === run.parentSpanContext?.spanId)
  expect(request?.name).toBe('POST /v1/runs')
  expect(request?.parentSpanContext).toMatchObject({ traceId: traceparent.slice(3, 35), spanId: traceparent.slice(36, 52), isRemote: true })
  expect(request?.spanContext().traceState?.get('vendor')).toBe('1')
  // A probe has no span.
  expect(
    tracing
      .spans()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['POST /v1/runs', 'POST /v1/runs', 'chat scripted-model', 'invoke_agent'])
})
