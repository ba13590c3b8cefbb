import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLogger } from '../../src/core/logger.ts'
import { RateLimiter } from '../../src/service/http/rate-limit.ts'
import { createService, hashToken, listen } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { openSocket, sendRaw } from './raw-http.ts'
import { allFrames, configFile, framesOf, json, startService, token } from './start-service.ts'

const asked = (url: string, headers: Record<string, string>, method = 'GET', path = '/v1/models') =>
  sendRaw(
    url,
    `${method} ${path} HTTP/1.1\n${Object.entries({ host: new URL(url).host, connection: 'close', ...headers })
      .map(([name, value]) => `${name}: ${value}\n`)
      .join('')}\n`,
  )
const statusOf = (response: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1])
const bearer = { authorization: `Bearer ${token}` }

describe('access', () => {
  it('needs a valid token, whatever is sent instead', async () => {
    const { url } = await startService({})
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      `Basic ${token}`,
      token,
      `Bearer ${token} ${token}`,
      `Bearer ${'x'.repeat(5_000)}`,
    ]) {
      for (const path of ['/v1/models', '/v1/runs', '/metrics', '/admin/api/state', '/admin/api/config', '/admin/api/feed']) {
        const response = await fetch(url + path, { headers: authorization === '' ? {} : { authorization } })
        expect([authorization, path, response.status]).toEqual([authorization, path, 401])
        expect(response.headers.get('www-authenticate')).toBe('Bearer')
      }
    }
  })

  it('a shared token can read what everybody may see, and nothing else', async () => {
    const env = { RUN: 'run-b7Kq2-token-xyz', METRICS: 'met-p4Wm9-token-xyz', ADMIN: 'adm-c8Xn3-token-xyz' }
    const tokens = [
      { name: 'app', roles: ['run' as const], env: 'RUN' },
      { name: 'prometheus', roles: ['metrics' as const], env: 'METRICS' },
      { name: 'ops', roles: ['admin' as const], env: 'ADMIN' },
    ]
    const { ask } = await startService({ config: { service: { mcp: true, auth: { tokens } } }, env })
    const status = async (path: string, bearer: string) => (await ask(path, { headers: { authorization: `Bearer ${bearer}` } })).status
    const statuses = (path: string) => Promise.all(Object.values(env).map((bearer) => status(path, bearer)))
    expect(await statuses('/metrics')).toEqual([403, 200, 200])
    expect(await statuses('/v1/runs')).toEqual([200, 403, 200])
    expect(await statuses('/v1/tools')).toEqual([200, 403, 200])
    expect(await statuses('/mcp')).toEqual([400, 403, 400])
    expect(await statuses('/admin/api/state')).toEqual([403, 403, 200])
  })

  it('needs a token on every path: other headers, other places for the token, other spellings of paths and methods', async () => {
    const { url, post } = await startService({ model: scriptedModel(['xyzzy']) })
    expect(await json(post('/v1/runs', { input: 'x' }))).toMatchObject({ output: 'xyzzy' })
    const host = { host: new URL(url).host, connection: 'close' }
    const tried = async (headers: Record<string, string>, path = '/v1/runs', method = 'GET') => {
      const response = await asked(url, headers, method, path)
      expect([headers, method, path, statusOf(response)]).toEqual([
        headers,
        method,
        path,
        expect.toSatisfy((status: number) => [204, 308, 400, 401, 403, 404, 405].includes(status)),
      ])
      expect(response).not.toMatch(/xyzzy|"object"|toolloop_|"config"/)
    }
    for (const name of [
      'x-api-key',
      'api-key',
      'proxy-authorization',
      'x-authorization',
      'token',
      'x-toolloop-token',
      'x-forwarded-authorization',
    ])
      for (const value of [token, `Bearer ${token}`]) await tried({ [name]: value })
    for (const name of ['token', 'authorization', 'toolloop.token', 'session']) await tried({ cookie: `${name}=${token}` })
    for (const query of ['token', 'access_token', 'api_key', 'key', 'authorization']) await tried({}, `/v1/runs?${query}=${token}`)
    for (const value of [
      `Bearer "${token}"`,
      `Bearer ${token},`,
      `Bearer ${token.toUpperCase()}`,
      `Bearer ${Buffer.from(token).toString('base64')}`,
      `Bearer ${hashToken(token)}`,
      `Bearer ${hashToken(token).slice('sha256:'.length)}`,
      `Bearer token=${token}`,
      `Bearer\t${token}`,
      `Bearer ${token}\u0000`,
      `Token ${token}`,
      `Basic ${Buffer.from(`operator:${token}`).toString('base64')}`,
      'Bearer null',
      'Bearer undefined',
      'Bearer [object Object]',
      'Bearer ../../token',
      "Bearer ' or 1=1 --",
    ])
      await tried({ authorization: value })
    for (const name of ['x-forwarded-user', 'x-remote-user', 'x-original-user', 'x-forwarded-for', 'x-real-ip', 'forwarded'])
      await tried({ [name]: name.includes('user') ? 'operator' : '127.0.0.1' })
    for (const name of ['x-original-url', 'x-rewrite-url', 'x-http-method-override'])
      for (const path of ['/healthz', '/v1/runs']) {
        const response = await asked(url, { [name]: name.endsWith('url') ? '/v1/runs' : 'OPTIONS' }, 'GET', path)
        expect(response).not.toContain('xyzzy')
        expect(statusOf(response)).toBe(path === '/healthz' ? 200 : 401)
      }
    for (const path of [
      '//v1/runs',
      '/v1//runs',
      '/V1/RUNS',
      '/v1/runs/',
      '/v1/runs%2f',
      '/v1/%72uns',
      '/%76%31/runs',
      '/v1/./runs',
      '/healthz/../v1/runs',
      '/healthz/..%2fv1/runs',
      '/admin/../v1/runs',
      '/v1/runs;a=b',
      '/v1/runs#healthz',
      '/v1/runs?x=/healthz',
      '/v1/runs%00',
      '\\v1\\runs',
      `${url}/v1/runs`,
      '/admin//api/state',
      '/admin/api/state/',
      '/admin/api%2fstate',
      '/admin/data/../api/state',
      '/admin/data/..%2fapi%2fstate',
      '/metrics/',
      '/METRICS',
      '/admin/api/config?file=index.html',
    ])
      await tried({}, path)
    for (const method of ['HEAD', 'OPTIONS', 'TRACE', 'POST', 'PUT', 'DELETE', 'PATCH', 'get', 'QUERY']) await tried({}, '/v1/runs', method)
    // Two of them are none of which is known which counts.
    const lines = (...all: string[]) =>
      Object.entries(host)
        .map(([name, value]) => `${name}: ${value}\n`)
        .concat(all.map((one) => `authorization: ${one}\n`))
    for (const two of [
      ['Bearer wrong', `Bearer ${token}`],
      ['', `Bearer ${token}`],
    ])
      expect(await sendRaw(url, `GET /v1/runs HTTP/1.1\n${lines(...two).join('')}\n`)).not.toContain('xyzzy')
  })

  it('a token with a role has that role, by its hash or its variable, and can’t see another’s runs', async () => {
    const { file } = await configFile(
      `service: { auth: { tokens: [{ name: a, roles: [run], hash: '${hashToken('of-a')}' }, { name: b, roles: [run], env: B_TOKEN }, { name: gone, roles: [admin], env: NOT_SET }] } }\n`,
    )
    const { url, ask, listening } = await startService({
      configFile: file,
      env: { B_TOKEN: 'token-of-user-b-1234' },
      model: scriptedModel(['hi']),
    })
    const as = (one: string) => ({ headers: { authorization: `Bearer ${one}`, 'content-type': 'application/json' } })
    const run = await json(fetch(`${url}/v1/runs`, { ...as('of-a'), method: 'POST', body: '{"input":"x"}' }))
    expect((await fetch(`${url}/v1/runs/${run.id}`, as('of-a'))).status).toBe(200)
    for (const path of ['', '/events'])
      expect((await fetch(`${url}/v1/runs/${run.id}${path}`, as('token-of-user-b-1234'))).status).toBe(404)
    for (const path of ['cancel', 'messages', 'decisions']) {
      const body =
        { cancel: '{}', messages: '{"input":"x"}', decisions: '{"decisions":[{"toolCallId":"a","fingerprint":"b","approved":true}]}' }[
          path
        ] ?? ''
      expect((await fetch(`${url}/v1/runs/${run.id}/${path}`, { ...as('token-of-user-b-1234'), method: 'POST', body })).status).toBe(404)
    }
    expect((await json(fetch(`${url}/v1/runs`, as('token-of-user-b-1234')))).data).toEqual([])
    expect((await fetch(`${url}/admin/api/state`, as('of-a'))).status).toBe(403)
    expect((await fetch(`${url}/v1/models`, as('undefined'))).status).toBe(401)
    expect((await ask(`/v1/runs/${run.id}`)).status).toBe(200)
    expect(listening.url).toBe(url)
  })

  it('a service without a configured token creates one, and then can’t be reached from outside', async () => {
    await expect(listen(createService({ env: {} }), { host: '0.0.0.0', port: 0 })).rejects.toThrow('a loopback address')
    const service = createService({ env: {} })
    expect(service.initialToken).toMatch(/^tl_[\w-]{43}$/)
    const head = { headers: { authorization: `Bearer ${service.initialToken}` } }
    expect((await service.fetch(new Request('http://localhost/v1/models', head))).status).toBe(200)
    await service.drain(0)
  })

  it('a program that mounts it sets the names by which it is reached', async () => {
    const service = createService({ env: {}, token, hosts: ['api.example.com'], origins: ['https://app.example'] })
    const status = async (host: string, more = {}) =>
      (await service.fetch(new Request(`https://${host}/v1/models`, { headers: { ...bearer, ...more } }))).status
    expect([
      await status('api.example.com'),
      await status('evil.example'),
      await status('localhost'),
      await status('api.example.com', { origin: 'https://app.example' }),
      await status('api.example.com', { origin: 'https://evil.example' }),
    ]).toEqual([200, 403, 200, 200, 403])
    await service.drain(0)
  })

  it('a program may identify its users itself', async () => {
    const users = new Map([['key-1', { name: 'ann', roles: ['run' as const] }]])
    const service = createService({
      env: {},
      logger: createLogger({ level: 'silent' }),
      authenticate: (request) => {
        const key = request.headers.get('x-key') ?? ''
        if (key === 'broken') throw new Error('no database')
        if (key === 'null') return null
        if (key === 'odd') return { name: 'x' } as never
        return users.get(key)
      },
    })
    const status = async (key: string, path: string) =>
      (await service.fetch(new Request(`http://localhost${path}`, { headers: { 'x-key': key } }))).status
    expect(
      await Promise.all([
        status('key-1', '/v1/runs'),
        status('key-2', '/v1/runs'),
        status('broken', '/v1/runs'),
        status('null', '/v1/runs'),
        status('odd', '/v1/runs'),
        status('key-1', '/admin/api/state'),
      ]),
    ).toEqual([200, 401, 401, 401, 401, 403])
    await service.drain(0)
  })
})

describe('pages of other sites', () => {
  it('can neither send nor read anything', async () => {
    const { url } = await startService({})
    const { port, host } = new URL(url)
    for (const origin of ['https://evil.example', 'null', `http://evil.example:${port}`, `http://127.0.0.1:${Number(port) + 1}`]) {
      const response = await asked(url, { ...bearer, origin })
      expect([origin, statusOf(response)]).toEqual([origin, 403])
      expect(response.toLowerCase()).not.toContain('access-control')
      expect(statusOf(await asked(url, { origin, 'access-control-request-method': 'POST' }, 'OPTIONS'))).toBe(403)
    }
    expect(statusOf(await asked(url, { ...bearer, origin: `http://${host}` }))).toBe(200)
  })

  it('can’t point a name of theirs here', async () => {
    const { url } = await startService({})
    for (const host of ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.evil.example']) {
      expect([host, statusOf(await asked(url, { ...bearer, host }))]).toEqual([host, 403])
      expect(statusOf(await asked(url, { host }, 'GET', '/admin/'))).toBe(403)
    }
    for (const host of ['localhost', 'app.localhost:1234', '10.0.0.1:80', '[::1]:80'])
      expect([host, statusOf(await asked(url, { ...bearer, host }))]).toEqual([host, 200])
    // Probes ask by whatever address they know.
    expect(statusOf(await asked(url, { host: 'pod-7.cluster' }, 'GET', '/healthz'))).toBe(200)
  })

  it('are allowed by their origin, and no others', async () => {
    const { file } = await configFile("service: { hosts: [api.example], origins: ['https://app.example'] }\n")
    const { url } = await startService({ configFile: file })
    const origin = 'https://app.example'
    const response = await asked(url, { ...bearer, origin, host: 'api.example' })
    expect(statusOf(response)).toBe(200)
    expect(response.toLowerCase()).toContain(`access-control-allow-origin: ${origin}\r\n`)
    const preflight = await asked(url, { origin, 'access-control-request-method': 'POST' }, 'OPTIONS')
    expect([statusOf(preflight), /access-control-allow-headers: (.*)\r/i.exec(preflight)?.[1]]).toEqual([
      204,
      expect.stringContaining('authorization'),
    ])
    // OpenAI's own client has some that nobody else has.
    const asks = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-stainless-os' }
    expect((await asked(url, asks, 'OPTIONS')).toLowerCase()).toContain('access-control-allow-headers: authorization,x-stainless-os\r\n')
  })

  it('can’t post a form: bodies must be declared as JSON', async () => {
    const { ask } = await startService({})
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
      const response = await ask('/v1/runs', { method: 'POST', body: Buffer.from('{"input":"x"}'), headers: { 'content-type': type } })
      expect([type, response.status]).toEqual([type, 415])
    }
  })
})

describe('requests', () => {
  it('a body that is not JSON or UTF-8, is compressed, too deep, or sets a prototype is refused', async () => {
    const { ask } = await startService({ model: scriptedModel(['hi']) })
    const send = (body: RequestInit['body'], headers = {}) =>
      ask('/v1/runs', { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
    for (const body of [
      '',
      '{',
      'null',
      '[]',
      '"x"',
      '{"input":1}',
      '{"input":"x"} {}',
      '{"input":"x","__proto__":{"model":"y"}}',
      `{"input":[{"role":"user","content":"x","a":${'['.repeat(100)}${']'.repeat(100)}}]}`,
      `{"input":${'['.repeat(100_000)}`,
    ]) {
      const response = await send(body)
      expect([body.slice(0, 60), response.status]).toEqual([body.slice(0, 60), 400])
    }
    expect((await send(Buffer.from([0x7b, 0xff, 0x7d]))).status).toBe(400)
    expect((await send(gzipSync('{"input":"x"}'), { 'content-encoding': 'gzip' })).status).toBe(415)
    expect(({} as Record<string, unknown>).model).toBeUndefined()
    expect((await send('{"input":"x"}')).status).toBe(200)
  })

  it('a body that is too large is refused, announced or not, before it is read', async () => {
    const { file } = await configFile('service: { maxBodyBytes: 2000 }\n')
    const { url, post } = await startService({ configFile: file, model: scriptedModel(['hi']) })
    const { host } = new URL(url)
    const head = `POST /v1/runs HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`
    const announced = openSocket(url)
    announced.socket.write(`${head}content-length: 100000000\r\n\r\n{`)
    expect(statusOf(await announced.until('body_too_large'))).toBe(413)
    const unannounced = openSocket(url)
    unannounced.socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
    for (let i = 0; i < 3; i++) unannounced.socket.write(`400\r\n${'x'.repeat(1024)}\r\n`)
    expect(statusOf(await unannounced.until('body_too_large'))).toBe(413)
    expect((await post('/v1/runs', { input: 'x'.repeat(1_900) })).status).toBe(200)
  })

  it('a body that breaks off, and headers that never end, end only that request', async () => {
    const { url, ask } = await startService({})
    const half = openSocket(url)
    half.socket.end(
      `POST /v1/runs HTTP/1.1\r\nhost: ${new URL(url).host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"input"`,
    )
    await half.closed
    expect(statusOf(await asked(url, { ...bearer, 'x-long': 'x'.repeat(20_000) }))).toBe(431)
    expect(statusOf(await sendRaw(url, 'NONSENSE\n\n'))).toBe(400)
    expect((await ask('/v1/models')).status).toBe(200)
  })

  it('a large body with an error in each item is refused with a short message', async () => {
    const { post } = await startService({})
    const response = await post('/v1/chat/completions', { model: 'toolloop', messages: Array.from({ length: 50_000 }, () => 1) })
    expect(response.status).toBe(400)
    expect((await response.text()).length).toBeLessThan(1_000)
  })

  it('a message has at most 4,000 calls, in every API', async () => {
    const { post } = await startService({ model: scriptedModel(() => 'ok') })
    const calls = Array.from({ length: 4_001 }, (_, at) => ({ id: `c${at}`, type: 'function', function: { name: 'x', arguments: '{}' } }))
    const bodies = (toolCalls: object[]): [path: string, body: object][] => [
      ['/v1/runs', { input: 'hi', messages: [{ role: 'assistant', content: '', toolCalls }] }],
      ['/v1/runs', { input: [{ role: 'assistant', content: '', toolCalls }] }],
      ['/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'assistant', content: '', tool_calls: toolCalls }] }],
      ['/agui', { threadId: 't', runId: 'r', messages: [{ role: 'assistant', toolCalls }] }],
    ]
    for (const [path, body] of bodies(calls)) {
      const response = await post(path, body)
      expect([path, response.status, (await json(response)).error]).toMatchObject([
        path,
        400,
        { message: expect.stringContaining('at most 4000 calls') },
      ])
    }
    for (const [path, body] of bodies(calls.slice(1))) expect([path, (await post(path, body)).status]).toEqual([path, 200])
  })

  it('a client’s schema blocks nobody: neither by a pattern, nor by a union, nor by its size', async () => {
    const { post } = await startService({ model: 'demo' })
    const call = (args: object, parameters: object) => {
      const tools = [{ type: 'function', function: { name: 'mine', parameters } }]
      return json(post('/v1/runs', { input: `call mine with ${JSON.stringify(args)}`, tools }))
    }
    const pattern = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }
    expect((await call({ a: 'a' }, pattern)).pending).toHaveLength(1)
    expect(await call({ a: `${'a'.repeat(60)}!` }, pattern)).toMatchObject({ status: 'ended', pending: [] })
    const nested = { properties: { x: { $ref: '#/$defs/a' } }, required: ['y'] }
    const union = { type: 'object', $defs: { a: { anyOf: [nested, nested] } }, properties: { x: { $ref: '#/$defs/a' } } }
    const deep = JSON.parse(`${'{"x":'.repeat(30)}{}${'}'.repeat(30)}`)
    expect(await call(deep, union)).toMatchObject({ status: 'ended', pending: [] })
    const properties = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`p${at}`, { type: 'string' }]))
    expect((await call({ p0: 1 }, { type: 'object', properties })).pending).toHaveLength(1)
    const answer = scriptedModel(() => ({ toolCalls: [{ name: 'final_answer', arguments: { a: `${'a'.repeat(60)}!` } }] }))
    const { post: ask } = await startService({ model: answer })
    const format = { type: 'json_schema', json_schema: { name: 'a', schema: pattern } }
    const messages = [{ role: 'user', content: 'x' }]
    await ask('/v1/chat/completions', { model: 'toolloop', messages, response_format: format })
    expect(JSON.stringify(answer.requests[1]?.messages)).toContain('could not be checked in time')
  })

  it('random input never gives the answer that the service failed', async () => {
    const { file } = await configFile('service: { requestsPerMinute: 100000 }\n')
    const { service, log } = await startService({ configFile: file, model: scriptedModel(() => ({ text: '{}' })) })
    const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
    const call = fc.record({
      id: fc.oneof(fc.string(), fc.integer()),
      function: fc.record({ name: fc.string(), arguments: fc.jsonValue() }),
    })
    const message = fc.record({
      role: fc.constantFrom('user', 'assistant', 'tool', 'system', 'function', 'x'),
      content: fc.oneof(fc.string(), fc.jsonValue()),
      tool_calls: maybe(fc.array(call)),
      tool_call_id: maybe(fc.string()),
      toolCalls: maybe(fc.jsonValue()),
    })
    const parameters = fc.oneof(
      fc.constant({}),
      fc.dictionary(fc.constantFrom('type', 'required', '$ref', '$id', 'pattern'), fc.jsonValue()),
    )
    const tool = fc.record({ type: fc.constant('function'), function: fc.record({ name: fc.constantFrom('a', 'calculate'), parameters }) })
    const common = { model: fc.constantFrom('toolloop', '__proto__'), tools: maybe(fc.array(tool)), stream: maybe(fc.boolean()) }
    const chat = fc.record({ ...common, messages: fc.array(message), response_format: maybe(fc.constant({ type: 'json_object' })) })
    const run = fc.record({
      ...common,
      input: fc.oneof(fc.string(), fc.array(message)),
      messages: maybe(fc.array(message)),
      activeTools: maybe(fc.array(fc.string())),
    })
    const part = fc.record({
      type: fc.constantFrom('input_text', 'input_image', 'input_file', 'x'),
      text: fc.string(),
      image_url: fc.jsonValue(),
    })
    const item = fc.record({
      type: fc.constantFrom('message', 'function_call', 'function_call_output', 'reasoning', 'x'),
      role: maybe(fc.constantFrom('user', 'assistant', 'developer', 'x')),
      content: maybe(fc.oneof(fc.string(), fc.array(part), fc.jsonValue())),
      call_id: maybe(fc.string()),
      name: maybe(fc.string()),
      arguments: maybe(fc.string()),
      output: maybe(fc.oneof(fc.string(), fc.array(part), fc.jsonValue())),
    })
    const { model: name, stream } = common
    const response = fc.record({
      model: name,
      stream,
      input: fc.oneof(fc.string(), fc.array(item)),
      previous_response_id: maybe(fc.string()),
      metadata: maybe(fc.jsonValue()),
      text: maybe(fc.record({ format: fc.constant({ type: 'json_object' }) })),
    })
    const config = fc.oneof(fc.record({ config: fc.jsonValue() }), fc.record({ text: fc.string() }))
    const send = async (method: string, path: string, body: unknown) => {
      const headers = { ...bearer, 'content-type': 'application/json', 'if-match': '*' }
      const response = await service.fetch(new Request(`http://localhost${path}`, { method, body: JSON.stringify(body), headers }))
      await response.text()
      expect([response.status, log()]).toEqual([
        expect.toSatisfy((status: number) => status < 500),
        expect.not.stringContaining('a request failed'),
      ])
    }
    await fc.assert(
      fc.asyncProperty(chat, (body) => send('POST', '/v1/chat/completions', body)),
      { numRuns: 40 },
    )
    await fc.assert(
      fc.asyncProperty(response, (body) => send('POST', '/v1/responses', body)),
      { numRuns: 40 },
    )
    await fc.assert(
      fc.asyncProperty(run, (body) => send('POST', '/v1/runs', body)),
      { numRuns: 40 },
    )
    await fc.assert(
      fc.asyncProperty(config, (body) => send('PUT', '/admin/api/config', body)),
      { numRuns: 40 },
    )
  })

  it('no path leads out of the page’s folder', async () => {
    const { url } = await startService({})
    for (const path of [
      '../service.ts',
      '..%2fservice.ts',
      '%2e%2e/service.ts',
      '..%5cservice.ts',
      '....//service.ts',
      '.env',
      'index.html%00.js',
      '/etc/passwd',
      'x/../../service.ts',
      'index.html/',
      'index',
      'INDEX.html',
    ]) {
      const response = await asked(url, {}, 'GET', `/admin/${path}`)
      expect([path, statusOf(response)]).toEqual([path, expect.toSatisfy((status: number) => status === 404 || status === 400)])
    }
    const page = await asked(url, {}, 'GET', '/admin/')
    expect(statusOf(page)).toBe(200)
    expect(page).toContain("default-src 'none'; script-src 'self'")
    expect(page.toLowerCase()).toContain('x-frame-options: deny')
    const redirect = await asked(url, {}, 'GET', '/admin')
    // Relative to wherever the service is mounted.
    expect([statusOf(redirect), /location: (.*)\r/i.exec(redirect)?.[1]]).toEqual([308, 'admin/'])
  })

  it('a value in a header is returned only if it is harmless', async () => {
    const { url } = await startService({})
    expect(await asked(url, { ...bearer, 'x-request-id': 'my-id.1' })).toMatch(/x-request-id: my-id\.1\r/i)
    for (const bad of ['a b', 'x'.repeat(65), 'a\u00e9', '<script>'])
      expect(await asked(url, { ...bearer, 'x-request-id': bad })).toMatch(/x-request-id: [0-9a-f-]{36}\r/i)
    expect(statusOf(await asked(url, { ...bearer, 'last-event-id': '1e9' }, 'GET', '/admin/api/feed'))).toBe(400)
  })

  it('other methods and paths get the allowed ones', async () => {
    const { ask } = await startService({})
    for (const [method, path, status] of [
      ['DELETE', '/v1/runs', 405],
      ['PUT', '/v1/models', 405],
      ['HEAD', '/admin/api/feed', 405],
      ['HEAD', '/healthz', 200],
      ['HEAD', '/nothing', 404],
      ['POST', '/admin/', 405],
      ['GET', '/v2', 404],
      ['GET', '/v1/runs/', 404],
      ['PATCH', '/nothing', 404],
    ] as const) {
      const response = await ask(path, { method })
      expect([method, path, response.status]).toEqual([method, path, status])
    }
    for (const [method, path, allow] of [
      ['DELETE', '/v1/runs', 'POST, GET'],
      ['HEAD', '/v1/runs', 'POST, GET'],
      ['HEAD', '/admin/', 'GET'],
    ] as const)
      expect((await ask(path, { method })).headers.get('allow')).toBe(allow)
  })
})

describe('limits', () => {
  it('callers are forgotten if they use nothing, and not earlier', () => {
    let now = 0
    const limiter = new RateLimiter({ requestsPerMinute: 2, concurrentRuns: 1, openStreams: 1 }, () => now)
    limiter.admitRun('busy')
    for (let i = 0; i < 5_000; i++) {
      now += 1_000
      limiter.admitRequest(`user ${i}`)
    }
    expect(limiter.size).toBeLessThan(1_500)
    expect(() => limiter.admitRun('busy')).toThrow('runs at once')
    limiter.admitRequest('user 4999')
    expect(() => limiter.admitRequest('user 4999')).toThrow('requests a minute')
  })

  it('unknown methods have no metric series of their own', async () => {
    const { ask } = await startService({})
    for (const method of ['PATCH', 'MKCOL', 'PURGE']) expect((await ask('/v1/runs', { method })).status).toBe(405)
    const metrics = await (await ask('/metrics')).text()
    expect(metrics).toContain('toolloop_http_requests_total{route="/v1/runs",method="any",status="405"} 3\n')
  })

  it('a token has a limit of requests, runs and streams; the next is told when to retry', async () => {
    const { file } = await configFile('service: { requestsPerMinute: 6, concurrentRuns: 1, openStreams: 1 }\n')
    const { ask, post, url } = await startService({ configFile: file, model: scriptedModel([{ text: 'x', hang: true }, 'y']) })
    const { id } = await json(post('/v1/runs', { input: 'a', background: true }))
    const second = await post('/v1/runs', { input: 'b' })
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1'])
    const stream = await ask(`/v1/runs/${id}/events`)
    expect((await ask('/admin/api/feed')).status).toBe(429)
    await stream.body?.cancel()
    await post(`/v1/runs/${id}/cancel`, {})
    // The run's place is free again.
    expect((await post('/v1/runs', { input: 'c' })).status).toBe(200)
    const last = await ask('/v1/models')
    expect([last.status, Number(last.headers.get('retry-after'))]).toEqual([
      429,
      expect.toSatisfy((seconds: number) => seconds > 0 && seconds <= 10),
    ])
    // A client without a token uses nobody's allowance.
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  it('a run without a free stream is not started, and nothing is decided', async () => {
    const { file } = await configFile('service: { openStreams: 1 }\n')
    const model = scriptedModel([{ toolCalls: [{ name: 'mine' }] }, 'done'])
    const { ask, post } = await startService({ configFile: file, model })
    const tools = [{ type: 'function', function: { name: 'mine' } }]
    const paused = await json(post('/v1/runs', { input: 'x', tools }))
    const feed = await ask('/admin/api/feed')
    const decisions = paused.pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, result: 1 }))
    const events = { accept: 'text/event-stream' }
    expect((await post('/v1/runs', { input: 'y', stream: true })).status).toBe(429)
    expect((await post(`/v1/runs/${paused.id}/decisions`, { decisions }, events)).status).toBe(429)
    expect((await json(ask('/v1/runs'))).data).toMatchObject([{ id: paused.id, status: 'waiting' }])
    await feed.body?.cancel()
    await expect.poll(async () => (await post(`/v1/runs/${paused.id}/decisions`, { decisions }, events)).status).toBe(200)
  })

  it('disconnects a reader that is too slow with a reason; it can reconnect', async () => {
    const release = Promise.withResolvers<void>()
    const pieces = Array.from({ length: 60 }, () => 'x'.repeat(50_000))
    const { service, ask, post } = await startService({ model: scriptedModel([{ chunks: ['first', release.promise, ...pieces] }]) })
    const { id } = await json(post('/v1/runs', { input: 'x', background: true }))
    // Without a socket between: those hold megabytes of their own.
    const slow = framesOf(await service.fetch(new Request(`http://localhost/v1/runs/${id}/events`, { headers: bearer })))
    expect((await slow.next()).value?.event).toBe('RUN_START')
    release.resolve()
    const frames = await allFrames(await ask(`/v1/runs/${id}/events`))
    expect(frames.at(-1)?.event).toMatch(/RESULT|DROPPED/)
    const rest = await Array.fromAsync(slow)
    expect(rest.at(-1)?.event).toBe('DROPPED')
    const { lastEventId } = JSON.parse(rest.at(-1)?.data ?? '')
    const again = await allFrames(await ask(`/v1/runs/${id}/events`, { headers: { 'last-event-id': String(lastEventId) } }))
    expect([again[0]?.event, again.at(-1)?.event]).toEqual(['GAP', 'RESULT'])
  })

  it('a reader that takes nothing is disconnected and its chat ended; a reader that is only idle is not', async () => {
    const model = scriptedModel([
      { text: 'a', hang: true },
      { chunks: ['x'.repeat(80_000), 'y'], hang: true },
    ])
    const { service, ask, post } = await startService({ model, times: { heartbeatMs: 20, stallMs: 60 } })
    const { id } = await json(post('/v1/runs', { input: 'x', background: true }))
    const quiet = (await service.fetch(new Request(`http://localhost/v1/runs/${id}/events`, { headers: bearer }))).body?.getReader()
    const ended = new Promise((resolve) => service.bus.on('RUN_END', ({ stopReason }) => resolve(stopReason)))
    const body = JSON.stringify({ model: 'toolloop', messages: [{ role: 'user', content: 'x' }], stream: true })
    const stuck = await service.fetch(
      new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        body,
        headers: { ...bearer, 'content-type': 'application/json' },
      }),
    )
    expect(await ended).toBe('aborted')
    await expect(stuck.text()).rejects.toThrow('has taken nothing')
    let text = ''
    while (!text.includes(': keep-alive')) text += new TextDecoder().decode((await quiet?.read())?.value)
    const metrics = await (await ask('/metrics')).text()
    expect(metrics).toContain('toolloop_streams_open 1\n')
    expect(metrics).toContain('toolloop_streams_dropped_total{reason="stalled"} 1\n')
  })
})
