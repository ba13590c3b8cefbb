import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { context, trace } from '@opentelemetry/api'
import { expect, it, onTestFinished, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { type OtlpOptions, otlpTelemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { tempFolder } from '../cli/temp-folder.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'
import { type Answer, drip, quickly, startCollector } from './collector.ts'
import { readMetrics } from './read-otlp.ts'

failOnUnhandledRejections()

const query = defineTool({
  name: 'query',
  description: 'Asks the database.',
  execute: () =>
    trace.getTracer('pg', '1').startActiveSpan('SELECT', (span) => {
      span.setAttribute('db.rows', 7).setAttribute('db.share', 0.5).setAttribute('db.below', -1).setAttribute('db.done', true)
      span.end()
      return 'seven'
    }),
})

function setVariables(env: Readonly<Record<string, string>>) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
}

async function open({ env = {}, ...options }: OtlpOptions & { env?: Readonly<Record<string, string>> }) {
  setVariables(env)
  const { logger, records } = recordingLogger()
  const exported = await otlpTelemetry({ logger, ...options })
  onTestFinished(() => exported.close(0))
  const run = (text = 'go') =>
    new AgentRunner({
      name: 'clerk',
      model: scriptedModel([{ toolCalls: [{ name: 'query' }], usage: { inputTokens: 40, outputTokens: 10 } }, 'Seven.']),
      tools: [query],
      logger,
      ...(exported.telemetry === undefined ? {} : { telemetry: exported.telemetry }),
    }).run(text)
  return { ...exported, run, records }
}

it('spans and metrics arrive at a collector as OTLP, with spans of libraries below the calls they are made in', async () => {
  await using collector = await startCollector()
  const { run, close, records } = await open({ endpoint: `${collector.url}/`, headers: { authorization: 'Bearer secret' } })
  await run()
  await close()
  const spans = collector.spans()
  expect(spans.map(({ name, kind, scope }) => [name, kind, scope])).toEqual(
    expect.arrayContaining([
      ['invoke_agent clerk', 1, 'toolloop'],
      ['chat scripted-model', 3, 'toolloop'],
      ['execute_tool query', 1, 'toolloop'],
      ['SELECT', 1, 'pg'],
    ]),
  )
  const named = (name: string) => spans.find((span) => span.name === name)
  expect(named('SELECT')?.parentSpanId).toBe(named('execute_tool query')?.spanId)
  expect(named('SELECT')?.attributes).toEqual({ 'db.rows': 7, 'db.share': 0.5, 'db.below': -1, 'db.done': true })
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  const agent = named('invoke_agent clerk')
  expect(agent).toMatchObject({
    parentSpanId: '',
    resource: { 'service.name': 'toolloop' },
    attributes: { 'gen_ai.agent.name': 'clerk', 'gen_ai.response.finish_reasons': ['stop'] },
  })
  expect(Number((agent?.end ?? 0n) - (agent?.start ?? 0n))).toBeGreaterThan(0)
  expect(Math.abs(Number((agent?.end ?? 0n) / 1_000_000n) - Date.now())).toBeLessThan(60_000)
  const metrics = collector.metrics()
  const tokens = metrics.find(({ name }) => name === 'gen_ai.client.inference.usage.input_tokens')
  expect(tokens?.points[0]?.value).toBeGreaterThanOrEqual(40)
  const durations = metrics.find(({ name }) => name === 'gen_ai.execute_tool.duration')
  expect(durations).toMatchObject({ unit: 's', temporality: 2, points: [{ count: 1, attributes: { 'gen_ai.tool.name': 'query' } }] })
  const [{ buckets = [], bounds = [] } = {}] = durations?.points ?? []
  expect([buckets.length - bounds.length, buckets.reduce((sum, one) => sum + one, 0)]).toEqual([1, 1])
  expect(collector.received.map(({ headers }) => [headers['content-type'], headers.authorization])).toEqual(
    collector.received.map(() => ['application/x-protobuf', 'Bearer secret']),
  )
  expect(records.filter(({ level }) => level !== 'debug')).toEqual([])
})

it('the standard variables apply unless options are given', async () => {
  await using collector = await startCollector()
  const { run, close } = await open({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/base`,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b, x-other=c',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
      OTEL_SERVICE_NAME: 'shop',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
    },
  })
  await run()
  await close()
  expect(collector.spans()[0]?.resource).toMatchObject({ 'service.name': 'shop', 'deployment.environment.name': 'test' })
  const metrics = collector.received.find(({ path }) => path === '/base/v1/metrics')
  expect(metrics?.headers).toMatchObject({ 'content-encoding': 'gzip', 'x-key': 'a b', 'x-other': 'c' })
  const [first] = metrics === undefined ? [] : readMetrics(metrics)
  expect(first).toMatchObject({ name: 'gen_ai.client.inference.duration', temporality: 1, points: [{ count: 2 }] })
})

it('headers of the options replace those of the environment', async () => {
  await using collector = await startCollector()
  const { run, close } = await open({
    endpoint: collector.url,
    headers: { authorization: 'Bearer own' },
    env: { OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=other,x-more=1' },
  })
  await run()
  await close()
  expect(collector.received.map(({ headers }) => [headers.authorization, headers['x-more']])).toEqual(
    collector.received.map(() => ['Bearer own', '1']),
  )
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

it.skipIf(!hasOpenssl)('uses the certificates that the variables name', async () => {
  const folder = await tempFolder()
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  const own = { key: readFileSync(key), cert: readFileSync(cert) }
  await using collector = await startCollector(undefined, { ...own, ca: own.cert, requestCert: true, rejectUnauthorized: true })
  const { run, close, records } = await open({
    endpoint: collector.url,
    env: { OTEL_EXPORTER_OTLP_CERTIFICATE: cert, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: cert, OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: key },
  })
  await run()
  await close()
  // Metrics have no key.
  expect(collector.received.map(({ path }) => path)).toEqual(['/v1/traces'])
  const failures = records.filter(({ level }) => level === 'warn')
  expect(failures.map(({ message }) => message)).toEqual([expect.stringContaining(`metrics don't arrive at ${collector.url}/v1/metrics`)])
})

it.each([
  ['OTEL_SDK_DISABLED', { OTEL_SDK_DISABLED: 'true' }, []],
  ['OTEL_TRACES_EXPORTER', { OTEL_TRACES_EXPORTER: 'none' }, ['/v1/metrics']],
  ['OTEL_METRICS_EXPORTER', { OTEL_METRICS_EXPORTER: 'none' }, ['/v1/traces']],
  ['OTEL_TRACES_SAMPLER', { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, ['/v1/metrics']],
] as const)('%s switches off', async (_name, env, paths) => {
  await using collector = await startCollector()
  const { run, close } = await open({ endpoint: collector.url, env })
  await run()
  await close()
  expect(collector.received.map(({ path }) => path).toSorted()).toEqual(paths)
})

it.each([
  ['OTEL_EXPORTER_OTLP_PROTOCOL', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
  ['OTEL_TRACES_SAMPLER', { OTEL_TRACES_SAMPLER: 'jaeger_remote' }],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }],
])('refuses a value it can’t use: %s', async (name, env) => {
  setVariables(env)
  await expect(otlpTelemetry()).rejects.toMatchObject({ code: 'invalid_option', message: expect.stringContaining(name) })
  await expect(otlpTelemetry({ endpoint: 'ftp://here' })).rejects.toThrow('telemetry.endpoint')
})

it('restores what the process had before', async () => {
  const before = trace.getTracer('x').startSpan('before').isRecording()
  const { close } = await open({ endpoint: 'http://127.0.0.1:9' })
  expect(trace.getTracer('x').startSpan('during').isRecording()).toBe(true)
  await close(0)
  expect([before, trace.getTracer('x').startSpan('after').isRecording()]).toEqual([false, false])
  expect(context.active()).toBeDefined()
})

const refused = Buffer.from([0x0a, 0x0c, 0x08, 1, 0x12, 8, ...Buffer.from('too late')])

it.each<[name: string, reason: string, timeoutMs: number, answer: Answer]>([
  ['hangs', 'Request timed out', 50, () => {}],
  ['never ends its answer', 'Request timed out', 50, (response) => void response.writeHead(200).write('x')],
  // Less than the delay before another attempt, and far more than a broken connection takes.
  ['breaks off', 'socket hang up', 700, (response) => void response.destroy()],
  ['refuses', 'status 401: Unauthorized: no such key', 10_000, (response) => void response.writeHead(401).end('no such key')],
  ['sends elsewhere', 'status 307', 10_000, (response) => void response.writeHead(307, { location: '/other' }).end()],
  [
    'takes a part',
    'too late',
    10_000,
    (response) => void response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(refused),
  ],
])('a collector that %s affects no run and is logged once', async (_name, reason, timeoutMs, answer) => {
  await using collector = await startCollector(answer)
  const env = { ...quickly, OTEL_EXPORTER_OTLP_TIMEOUT: String(timeoutMs) }
  const { run, close, records } = await open({ endpoint: `${collector.url}?key=hidden`, env })
  const results = [await run(), await run(), await run()]
  expect(results.map(({ stopReason }) => stopReason)).toEqual(['answered', 'answered', 'answered'])
  await collector.arrived(1)
  await close(10_000)
  const told = records.filter(({ level, fields }) => level === 'warn' && 'reason' in fields)
  expect(told).toMatchObject([{ fields: { reason: expect.stringContaining(reason) } }])
  expect(JSON.stringify(records)).not.toContain('hidden')
})

it.each([
  [
    'quotes the key it refuses',
    'Bearer hcaik01j3QmZkPv8LrWyT5bNx',
    (response: ServerResponse) => void response.writeHead(401).end('unknown API key hcaik01j3QmZkPv8LrWyT5bNx'),
  ],
  ['can’t be sent its key', 'hcaik01j3QmZ\nkPv8LrWyT5bNx', (response: ServerResponse) => void response.end()],
])('the key of a collector that %s is in no log', async (_name, key, answer) => {
  await using collector = await startCollector(answer)
  const { run, close, records } = await open({ endpoint: collector.url, headers: { authorization: key }, env: quickly })
  await run()
  await close(300)
  expect(records.filter(({ level, fields }) => level === 'warn' && 'reason' in fields)).toHaveLength(1)
  expect(JSON.stringify(records)).not.toMatch(/kPv8LrWyT5bNx|hcaik01/)
})

it('an interval above the timers’ maximum is reduced to it', async () => {
  const timers = vi.spyOn(globalThis, 'setInterval')
  const { close } = await open({ endpoint: 'http://127.0.0.1:9', env: { OTEL_METRIC_EXPORT_INTERVAL: '2592000000' } })
  expect(timers.mock.calls.map(([, milliseconds]) => milliseconds)).toContain(2 ** 31 - 1)
  timers.mockRestore()
  await close(0)
})

it('a busy collector is retried when it says so', async () => {
  let asked = 0
  await using collector = await startCollector((response) => {
    asked++
    if (asked === 1) response.writeHead(503, { 'retry-after': new Date(0).toUTCString() }).end()
    else response.writeHead(200).end()
  })
  const { run, close, records } = await open({
    endpoint: collector.url,
    env: { OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_METRICS_EXPORTER: 'none' },
  })
  await run()
  await collector.arrived(2)
  await close()
  expect(records.filter(({ level }) => level === 'warn')).toEqual([])
})

it('limits the data that waits for a silent collector, and the time to close', async () => {
  await using collector = await startCollector(() => {})
  const env = { ...quickly, OTEL_EXPORTER_OTLP_TIMEOUT: '120000', OTEL_BSP_MAX_QUEUE_SIZE: '20', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10' }
  const { run, close, records } = await open({ endpoint: collector.url, env })
  for (let count = 0; count < 20; count++) await run()
  await close(100)
  const [{ fields } = { fields: {} }] = records.filter(({ fields }) => 'dropped' in fields)
  // Five spans per run: none has arrived.
  expect(fields).toEqual({ dropped: 100 })
})

it('a response that never ends loses the spans of its request, and no others', async () => {
  let asked = 0
  await using collector = await startCollector((response) => {
    asked++
    if (asked === 1) drip(response)
    else response.end()
  })
  // A run has five spans.
  const env = { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5', OTEL_BSP_EXPORT_TIMEOUT: '100', OTEL_METRICS_EXPORTER: 'none' }
  const { run, close, records } = await open({ endpoint: collector.url, env })
  await run()
  await expect.poll(() => records.filter(({ fields }) => 'reason' in fields)).toHaveLength(1)
  await run()
  await close()
  expect(records.filter(({ level }) => level === 'warn').map(({ fields }) => fields)).toEqual([
    { reason: 'no response within 100 ms' },
    { dropped: 5 },
  ])
  expect(collector.spans().filter(({ name }) => name.startsWith('invoke_agent'))).toHaveLength(2)
})

it('metrics for a silent collector wait in a limited number of requests', async () => {
  await using collector = await startCollector(() => {})
  const { run, close, records } = await open({
    endpoint: collector.url,
    env: { OTEL_METRIC_EXPORT_INTERVAL: '1', OTEL_TRACES_EXPORTER: 'none' },
  })
  await run()
  await expect.poll(() => records.map(({ fields }) => fields)).toContainEqual({ reason: 'too many requests wait' })
  await close(0)
})

it('a logger that throws stops no export', async () => {
  let asked = 0
  await using collector = await startCollector((response) => {
    asked++
    response.writeHead(asked === 1 ? 400 : 200).end()
  })
  const fail = () => {
    throw new Error('no space left')
  }
  const { run, close } = await open({ endpoint: collector.url, env: quickly, logger: { debug: fail, info: fail, warn: fail, error: fail } })
  await run()
  await collector.arrived(1)
  await run()
  await close()
  expect(collector.spans().filter(({ name }) => name.startsWith('invoke_agent'))).toHaveLength(2)
})

it('large spans are sent in requests of a limited size, and wait within a limited number of characters', async () => {
  await using collector = await startCollector()
  const { run, close, records } = await open({ endpoint: collector.url, content: true, env: { OTEL_METRICS_EXPORTER: 'none' } })
  // It is in two spans of its run. Nothing can be sent before the last one.
  for (let count = 0; count < 40; count++) await run('x'.repeat(300_000))
  await close()
  expect(Math.max(...collector.received.map(({ body }) => body.length))).toBeLessThan(700_000)
  const [{ fields } = { fields: {} }] = records.filter(({ fields }) => 'dropped' in fields)
  const sent = collector.spans().map(({ attributes }) => String(attributes['gen_ai.input.messages'] ?? '').length)
  expect(sent.reduce((sum, characters) => sum + characters, 0)).toBeGreaterThan(15_000_000)
  expect(sent.reduce((sum, characters) => sum + characters, 0)).toBeLessThan(16_000_000)
  expect(fields).toEqual({ dropped: 200 - sent.length })
})

it('without the SDK, the error names the packages to install', () => {
  const script = `
    import { registerHooks } from 'node:module'
    registerHooks({ resolve: (name, context, next) => {
      if (name.startsWith('@opentelemetry') && name !== '@opentelemetry/api') throw Object.assign(new Error('x'), { code: 'MODULE_NOT_FOUND' })
      return next(name, context)
    } })
    const { otlpTelemetry } = await import(${JSON.stringify(new URL('../../src/telemetry/index.ts', import.meta.url))})
    await otlpTelemetry().catch(({ code, message }) => console.log(JSON.stringify({ code, message })))`
  const told = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
  expect(told.code).toBe('missing_dependency')
  const [, install = ''] = told.message.split('npm install ')
  const { peerDependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const peers = Object.keys(peerDependencies).filter((name) => name.startsWith('@opentelemetry/') && name !== '@opentelemetry/api')
  expect(install.split(' ')).toEqual(peers)
})
