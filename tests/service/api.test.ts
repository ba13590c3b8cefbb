import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { configSchema } from '../../src/service/config/config-schema.ts'
import { checkOf } from '../../src/service/http/check-schema.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import type { JsonSchema } from '../../src/tools/tool.ts'
import { countingTool } from '../hazards/tools.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { openSocket } from './raw-http.ts'
import { allFrames, configFile, framesOf, json, startService, token } from './start-service.ts'

interface Operation {
  summary: string
  security?: unknown[]
  requestBody?: { content: { 'application/json': { schema: JsonSchema } } }
  responses: Record<string, { content?: Record<string, { schema: JsonSchema }> }>
}
interface OpenApi {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: { Error: JsonSchema } }
}

describe('/openapi.json', () => {
  it('has valid schemas, including that of the configuration', async () => {
    const { ask } = await startService({ model: scriptedModel([]) })
    const document = (await (await ask('/openapi.json')).json()) as OpenApi
    const contents = Object.values(document.paths)
      .flatMap((path) => Object.values(path))
      .flatMap(({ requestBody, responses }) => [requestBody, ...Object.values(responses)])
      .flatMap((part) => Object.values(part?.content ?? {}))
      .map(({ schema }) => schema)
      .filter(({ $ref }) => $ref === undefined)
    const { $schema: _, $id: __, ...configuration } = configSchema
    const schemas = [...contents, ...Object.values(document.components.schemas), configuration]
    expect(schemas.length).toBeGreaterThan(20)
    const ajv = new Ajv2020({ strict: false })
    for (const schema of schemas) expect([ajv.validateSchema(schema), ajv.errors]).toEqual([true, null])
  })

  it('has every route with its responses, and the service sends no others', async () => {
    const model = scriptedModel([
      ...Array.from({ length: 5 }, () => 'hi'),
      { text: 'x', hang: true },
      { toolCalls: [{ name: 'ask' }] },
      'ok',
    ])
    const { file } = await configFile('model: demo\n')
    const options = { model, modelIsFixed: true, configFile: file, tools: [countingTool('look').tool] }
    const { ask, post, url, service } = await startService(options)
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi
    expect(document.openapi).toBe('3.1.0')
    const seen = new Set<string>()
    const check = async (response: Response, method: string, path: string) => {
      seen.add(`${method} ${path}`)
      const operation = document.paths[path]?.[method]
      const { content = {} } = operation?.responses[response.status] ?? operation?.responses.default ?? {}
      const type = response.headers.get('content-type')?.split(';')[0] ?? ''
      if (response.status === 204) return void expect(operation?.responses[204]).toBeDefined()
      expect([method, path, response.status, Object.keys(content).includes(type)]).toEqual([method, path, response.status, true])
      if (type === 'text/event-stream') return void (await response.body?.cancel())
      const text = await response.text()
      if (type !== 'application/json') return
      const schema = response.ok ? content[type]?.schema : document.components.schemas.Error
      expect([method, path, checkOf(schema ?? {})(JSON.parse(text))]).toEqual([method, path, []])
    }
    const ok = [{ role: 'user', content: 'x' }]
    await check(await post('/v1/chat/completions', { model: 'toolloop', messages: ok }), 'post', '/v1/chat/completions')
    await check(await post('/v1/chat/completions', { model: 'toolloop', messages: ok, stream: true }), 'post', '/v1/chat/completions')
    await check(await post('/v1/chat/completions', { model: 'toolloop' }), 'post', '/v1/chat/completions')
    const asked = await post('/v1/responses', { model: 'toolloop', input: 'x' })
    const { id: responseId } = await json(asked.clone())
    await check(asked, 'post', '/v1/responses')
    await check(await post('/v1/responses', { model: 'toolloop', input: 'x', stream: true }), 'post', '/v1/responses')
    await check(await post('/v1/responses', { model: 'toolloop' }), 'post', '/v1/responses')
    await check(await ask(`/v1/responses/${responseId}`), 'get', '/v1/responses/{id}')
    const input = '/v1/responses/{id}/input_items'
    await check(await ask(`/v1/responses/${responseId}/input_items`), 'get', input)
    await check(await post(`/v1/responses/${responseId}/cancel`, {}), 'post', '/v1/responses/{id}/cancel')
    await check(await ask(`/v1/responses/${responseId}`, { method: 'DELETE' }), 'delete', '/v1/responses/{id}')
    await check(await post('/v1/runs', { input: 'x' }), 'post', '/v1/runs')
    const started = await post('/v1/runs', { input: 'x', background: true, session: 's' })
    const { id } = await json(started.clone())
    await check(started, 'post', '/v1/runs')
    for (const path of [
      '/v1/models',
      '/v1/runs',
      '/v1/sessions',
      '/v1/tools',
      '/healthz',
      '/readyz',
      '/metrics',
      '/openapi.json',
      '/admin/api/config',
      '/admin/api/config/schema',
      '/admin/api/state',
      '/admin/api/feed',
      '/admin/api/overview',
      '/admin/api/tools',
    ])
      await check(await ask(path), 'get', path)
    await check(await ask('/v1/models/toolloop'), 'get', '/v1/models/{id}')
    await check(await ask(`/v1/runs/${id}`), 'get', '/v1/runs/{id}')
    await check(await ask(`/v1/runs/${id}/events`), 'get', '/v1/runs/{id}/events')
    await check(await ask(`/v1/runs/${id}/recording`), 'get', '/v1/runs/{id}/recording')
    await check(await post(`/v1/runs/${id}/messages`, { input: 'y' }), 'post', '/v1/runs/{id}/messages')
    await check(await post(`/v1/runs/${id}/cancel`, {}), 'post', '/v1/runs/{id}/cancel')
    const tools = [{ type: 'function', function: { name: 'ask' } }]
    const paused = await json(post('/v1/runs', { input: 'x', tools }))
    await check(await ask('/admin/api/state'), 'get', '/admin/api/state')
    const decisions = paused.pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, result: 1 }))
    await check(await post(`/v1/runs/${paused.id}/decisions`, { decisions }), 'post', '/v1/runs/{id}/decisions')
    await check(await post('/admin/api/providers/test', { model: 'demo' }), 'post', '/admin/api/providers/test')
    await check(await ask('/admin/api/skills'), 'get', '/admin/api/skills')
    await check(await post('/admin/api/tools/look/calls', { arguments: {}, approved: true }), 'post', '/admin/api/tools/{name}/calls')
    await check(await post('/admin/api/sign-in', { code: service.signInLink(url).split('/').at(-1) }), 'post', '/admin/api/sign-in')
    await check(await ask('/admin/api/session', { method: 'DELETE' }), 'delete', '/admin/api/session')
    const put = { method: 'PUT', body: '{"config":{"model":"demo"}}', headers: { 'content-type': 'application/json', 'if-match': '*' } }
    await check(await ask('/admin/api/config', put), 'put', '/admin/api/config')
    const chat = { id: 'c', messages: [{ role: 'user', parts: [{ type: 'text', text: 'x' }] }] }
    await check(await post('/ui/chat', chat), 'post', '/ui/chat')
    await check(await post('/ui/chat', {}), 'post', '/ui/chat')
    await check(await post('/agui', { threadId: 't', runId: 'r', messages: [{ id: '1', role: 'user', content: 'x' }] }), 'post', '/agui')
    for (const front of ['/ui/chat', '/agui']) {
      await check(await ask(`${front}/none/stream`), 'get', `${front}/{thread}/stream`)
      await check(await post(`${front}/none/stop`, {}), 'post', `${front}/{thread}/stop`)
    }
    // Switched off here; `mcp.test.ts` has what it answers.
    await check(await post('/mcp', {}), 'post', '/mcp')
    for (const method of ['GET', 'DELETE']) await check(await ask('/mcp', { method }), method.toLowerCase(), '/mcp')
    await check(await ask('/.well-known/oauth-protected-resource/mcp'), 'get', '/.well-known/oauth-protected-resource/mcp')
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    )
    expect([...seen].sort()).toEqual(documented.sort())
    const ids = Object.values(document.paths).flatMap((operations) =>
      Object.values(operations).map((operation) => (operation as { operationId?: string }).operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('administration', () => {
  it('the state has models, tools, runs and pending items', async () => {
    const { file } = await configFile('model: fast\nmodels: { fast: demo }\ntools: { builtin: [calculate], approval: [calculate] }\n')
    const { ask, post } = await startService({ configFile: file })
    await post('/v1/runs', { input: 'call calculate with {"expression": "1+1"}' })
    const state = await (await ask('/admin/api/state')).json()
    expect(state).toMatchObject({
      draining: false,
      models: [
        { name: 'toolloop', provider: 'demo', model: 'demo' },
        { name: 'fast', provider: 'demo', model: 'demo' },
      ],
      tools: [{ function: { name: 'calculate', parameters: { type: 'object' } }, effect: 'read', approval: 'always' }],
      runs: [{ status: 'waiting', stopReason: 'paused' }],
      pending: [{ kind: 'approval', tool: 'calculate', args: { expression: '1+1' }, runId: expect.stringMatching(/^run_/) }],
      config: { file, reloads: 0, lastError: null, needsRestart: [] },
    })
  })

  it('the state has the providers with a key, and never the key', async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    for (const name of ['OPENAI_API_KEY', 'GOOGLE_API_KEY', 'INHOUSE_KEY', 'VLLM_API_KEY']) vi.stubEnv(name, '')
    vi.stubEnv('GEMINI_API_KEY', 'AIza-of-gemini')
    const { file } = await configFile(
      `model: openai/gpt-5.2
models:
  a: google/gemini-3.5-flash
  b: vllm/qwen3
  c: { provider: keyless, model: m, apiKey: '\${SOME_API_KEY}' }
  d: demo
providers:
  inhouse: { driver: openai, baseURL: 'https://llm.example.com/v1', apiKeyEnv: INHOUSE_KEY }
  keyless: { driver: openai, baseURL: 'https://llm.example.com/v1' }
`,
    )
    const { ask } = await startService({ configFile: file, env: { SOME_API_KEY: 'sk-1234567890abcdef' } })
    const state = await (await ask('/admin/api/state')).json()
    expect(state).toHaveProperty('providers', [
      { name: 'openai', keyEnv: 'OPENAI_API_KEY', hasKey: false },
      { name: 'google', keyEnv: 'GEMINI_API_KEY', hasKey: true },
      { name: 'vllm', keyEnv: 'VLLM_API_KEY', hasKey: null },
      { name: 'keyless', keyEnv: null, hasKey: true },
      { name: 'demo', keyEnv: null, hasKey: null },
      { name: 'inhouse', keyEnv: 'INHOUSE_KEY', hasKey: false },
    ])
  })

  it('the feed has the events of all runs, live and from the reader’s position', async () => {
    const { ask, post } = await startService({ model: scriptedModel(['one', 'two']) })
    await post('/v1/runs', { input: 'x' })
    const feed = framesOf(await ask('/admin/api/feed'))
    const seen = []
    let last = ''
    for await (const { event, id = '' } of feed) {
      seen.push(event)
      last = id
      if (event === 'RUN_END') break
    }
    expect(seen[0]).toBe('RUN_START')
    await post('/v1/runs', { input: 'y' })
    for await (const { id, event, data } of framesOf(await ask('/admin/api/feed', { headers: { 'last-event-id': last } }))) {
      expect([id, event]).toEqual([String(Number(last) + 1), 'RUN_START'])
      expect(JSON.parse(data).meta.runId).toMatch(/^run_/)
      break
    }
  })

  it('a provider is tested with one question, and a failure is reported', async () => {
    await using good = await startStrictProvider({ script: ['ready', 'ready'] })
    await using bad = await startStrictProvider({ faults: [{ status: 401 }] })
    await using dead = await startStrictProvider({ script: [{ text: '', hang: true }] })
    const { post } = await startService({})
    const test = async ({ baseURL }: { baseURL: string }, more = {}) =>
      (await post('/admin/api/providers/test', { model: { provider: 'custom', model: 'm', baseURL }, ...more })).json()
    expect(await test(good)).toMatchObject({ ok: true, provider: 'custom', text: 'ready' })
    expect(await test(bad)).toMatchObject({ ok: false, error: { code: 'unauthorized' } })
    expect(await test(dead, { timeoutMs: 1_000 })).toMatchObject({ ok: false, error: { code: 'timeout' } })
    expect(await test({ baseURL: 'http://127.0.0.1:1/v1' })).toMatchObject({ ok: false, error: { code: 'connection_failed' } })
    expect(await (await post('/admin/api/providers/test', { model: 'nowhere/x' })).json()).toMatchObject({
      ok: false,
      error: { code: 'unknown_provider' },
    })
    // A section of a provider can be tried before it is saved; where it holds a key, nothing is sent.
    const mine = { driver: 'openai', baseURL: good.baseURL, apiKeyOptional: true }
    const unsaved = async (section: object) =>
      (await post('/admin/api/providers/test', { model: 'mine/m', providers: { mine: section } })).json()
    expect(await unsaved(mine)).toMatchObject({ ok: true, provider: 'mine' })
    expect(await unsaved({ ...mine, apiKeyEnv: 'sk-proj-0123456789abcdefghijklmnop' })).toMatchObject({ ok: false })
    expect([good, bad, dead].map(({ requests }) => requests.length)).toEqual([2, 1, 1])
  })

  it('a model of the configuration is tested with its key, and asked once', async () => {
    await using provider = await startStrictProvider({ script: ['ready'], faults: [{}, { status: 500 }] })
    const { file } = await configFile(
      `model: demo
models:
  keyed: { provider: custom, model: m, baseURL: '${provider.baseURL}', apiKey: '\${MY_API_KEY}' }
providers:
  mine: { driver: openai, baseURL: '${provider.baseURL}', apiKeyOptional: true }
`,
    )
    const { post } = await startService({ configFile: file, env: { MY_API_KEY: 'sk-abcdefghijklmnopqrstuvwx' } })
    const test = async (model: unknown) => (await post('/admin/api/providers/test', { model })).json()
    expect(await test('keyed')).toMatchObject({ ok: true, text: 'ready' })
    expect(provider.requests[0]?.headers.authorization).toBe('Bearer sk-abcdefghijklmnopqrstuvwx')
    expect(await test('mine/m')).toMatchObject({ ok: false, error: { code: 'provider_error' } })
    expect(provider.requests).toHaveLength(2)
    const settings = { provider: 'custom', model: 'm', baseURL: provider.baseURL, apiKey: `\${MY_API_KEY}` }
    await test(settings)
    expect(provider.requests[2]?.headers.authorization).toBe('Bearer sk-abcdefghijklmnopqrstuvwx')
  })

  it('metrics count events', async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: 'look' }, { name: 'not_there' }], usage: { inputTokens: 7, outputTokens: 3 } },
      { text: 'done', usage: { inputTokens: 2, outputTokens: 1 } },
    ])
    const { post, ask } = await startService({ model, tools: [countingTool('look').tool] })
    await post('/v1/runs', { input: 'x' })
    const metrics = await (await ask('/metrics')).text()
    for (const line of [
      'toolloop_runs_total{model="toolloop",kind="run",stop_reason="answered"} 1',
      'toolloop_tool_calls_total{tool="look",outcome="ok"} 1',
      'toolloop_tool_calls_total{tool="of a client",outcome="rejected"} 1',
      'toolloop_tokens_total{model="toolloop",direction="input"} 9',
      'toolloop_run_duration_seconds_count{model="toolloop",kind="run"} 1',
      'toolloop_runs_running 0',
      'toolloop_http_requests_total{route="/v1/runs",method="POST",status="200"} 1',
    ])
      expect(metrics).toContain(`${line}\n`)
    // Every sample belongs to a metric that was announced.
    for (const line of metrics.split('\n')) expect(line).toMatch(/^$|^# (HELP|TYPE) \w+ .|^\w+(\{(\w+="[^"]*",?)+\})? [\d.e+-]+$/)
  })
})

it('a model that is not set up is reported as a problem of the service, and nothing of the run is stored', async () => {
  const key = process.env.OPENAI_API_KEY
  delete process.env.OPENAI_API_KEY
  try {
    const { post, ask } = await startService({ model: createModel('openai/gpt-5.2') })
    const refused = await post('/v1/runs', { input: 'x' })
    expect(refused.status).toBe(500)
    expect(await json(refused)).toMatchObject({ error: { code: 'missing_api_key', message: expect.stringContaining('OPENAI_API_KEY') } })
    expect((await json(ask('/v1/runs'))).data).toEqual([])
  } finally {
    if (key !== undefined) process.env.OPENAI_API_KEY = key
  }
})

describe('stored runs', () => {
  it('are the latest, limited by number and age', async () => {
    const { file } = await configFile('service: { keepRuns: { count: 3 } }\n')
    const { post, ask } = await startService({ configFile: file, model: scriptedModel((_request, index) => `answer ${index}`) })
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push((await json(post('/v1/runs', { input: 'x' }))).id)
    expect((await json(ask('/v1/runs'))).data.map(({ id }) => id)).toEqual(ids.slice(2).reverse())
    expect((await ask(`/v1/runs/${ids[0]}`)).status).toBe(404)
    expect((await json(ask('/v1/runs?limit=1'))).data).toHaveLength(1)
  })
})

describe('shutting down', () => {
  it('lets runs finish, refuses new ones, then ends the rest with a reason', async () => {
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ before: held.promise, text: 'finished' }])
    const { service, url, ask, post, listening } = await startService({ model })
    const begun = new Promise((resolve) => service.bus.on('MODEL_START', resolve))
    const asked = json(post('/v1/runs', { input: 'x' }))
    await begun
    const feed = allFrames(await ask('/admin/api/feed'))
    const closed = listening.close(5_000)
    const refused = await post('/v1/runs', { input: 'y' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect((await fetch(`${url}/readyz`)).status).toBe(503)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/readyz`, { method: 'HEAD' })).status).toBe(503)
    // What there is can be asked for to the last.
    const { data } = await json(ask('/v1/runs'))
    expect(await json(ask(`/v1/runs/${data[0].id}`))).toMatchObject({ status: 'running' })
    held.resolve()
    expect(await asked).toMatchObject({ output: 'finished' })
    await closed
    expect((await feed).at(-1)).toEqual({ event: 'CLOSE', data: '{"reason":"the service is shutting down"}' })
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })

  it('aborts runs that don’t finish in time; their callers get the partial result', async () => {
    const { service, post, listening } = await startService({ model: scriptedModel([{ text: 'so far', hang: true }]) })
    const said = new Promise((resolve) => service.bus.on('TEXT_DELTA', resolve))
    const asked = json(post('/v1/runs', { input: 'x' }))
    await said
    await listening.close(1)
    expect(await asked).toMatchObject({ status: 'ended', stopReason: 'aborted' })
  })

  it('does not wait for connections that never send anything', async () => {
    const { url, listening } = await startService({})
    const silent = openSocket(url)
    const half = openSocket(url)
    half.socket.write(
      `POST /v1/runs HTTP/1.1\r\nhost: ${new URL(url).host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`,
    )
    await new Promise((resolve) => silent.socket.on('connect', resolve))
    await listening.close(0)
    await Promise.all([silent.closed, half.closed])
  })
})
