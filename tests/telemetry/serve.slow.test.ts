import { expect, it } from 'vitest'
import { ConfigError } from '../../src/service/config/config-error.ts'
import { createService } from '../../src/service/index.ts'
import { startCli } from '../cli/start-cli.ts'
import { tempFolder } from '../cli/temp-folder.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startCollector } from './collector.ts'

const [traceId, caller] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']

it('toolloop serve exports as configured: requests in the caller’s trace and runs below them, all of them sent at SIGTERM', {
  timeout: 60_000,
}, async () => {
  await using collector = await startCollector()
  const yaml = `telemetry:\n  endpoint: ${collector.url}\n  headers: { authorization: 'Bearer \${OTLP_TOKEN}' }\nlogging: { level: debug }\n`
  const cwd = await tempFolder({ 'toolloop.yaml': yaml })
  const env = { TOOLLOOP_TOKEN: 'test-token-operator', OTLP_TOKEN: 'collector-key-4711', OTEL_SERVICE_NAME: 'desk' }
  const cli = startCli(['serve', '--port', '0'], { cwd, env, input: null })
  let out = ''
  cli.child.stdout.on('data', (piece) => {
    out += piece
  })
  await cli.prints('Admin page:')
  const [, url = ''] = /Listening on (\S+)/.exec(out) ?? []
  const headers = {
    authorization: `Bearer ${env.TOOLLOOP_TOKEN}`,
    'content-type': 'application/json',
    traceparent: `00-${traceId}-${caller}-01`,
  }
  const body = JSON.stringify({ input: 'What is 17 * 23?' })
  expect(await (await fetch(`${url}/v1/runs`, { method: 'POST', headers, body })).json()).toMatchObject({
    result: { stopReason: 'answered' },
  })
  const shown = await (await fetch(`${url}/admin/api/config`, { headers })).text()
  cli.child.kill('SIGTERM')
  const { code, stderr } = await cli.finished
  expect(code).toBe(0)
  const spans = collector.spans().filter(({ name }) => name !== 'GET /admin/api/config')
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]))
  const named = (name: string) => spans.find((span) => span.name.startsWith(name))
  expect(named('POST /v1/runs')).toMatchObject({ parentSpanId: caller, kind: 2, resource: { 'service.name': 'desk' } })
  expect(named('invoke_agent')?.parentSpanId).toBe(named('POST')?.spanId)
  expect(named('execute_tool')?.parentSpanId).toBe(named('invoke_agent')?.spanId)
  expect(named('chat')?.attributes).not.toHaveProperty('gen_ai.input.messages')
  expect(collector.metrics().map(({ name }) => name)).toContain('gen_ai.invoke_agent.duration')
  expect(new Set(collector.received.map((one) => one.headers.authorization))).toEqual(new Set([`Bearer ${env.OTLP_TOKEN}`]))
  expect(stderr + shown).not.toContain(env.OTLP_TOKEN)
})

it('an invalid section is reported as one, and nothing is served', async () => {
  const { logger } = recordingLogger()
  const service = createService({ config: { telemetry: { endpoint: 'ftp://x' } }, env: {}, logger })
  await expect(service.ready).rejects.toThrow(ConfigError)
  await expect(service.ready).rejects.toThrow(
    '/telemetry Expected `telemetry.endpoint` to be an address that begins with http:// or https://',
  )
  await service.drain(0)
})
