import { describe, expect, it } from 'vitest'
import { type OpenApiOptions, openApiTools } from '../../../src/tools/openapi/index.ts'
import { ToolRegistry } from '../../../src/tools/registry.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callText, callTool } from '../mcp/open-tools.ts'
import { documentOf, type Reply, type SeenRequest, startApi } from './api-server.ts'

interface Sending {
  parameters?: object[]
  requestBody?: object
  args: object
  path?: string
  method?: string
  options?: OpenApiOptions
  more?: object
  reply?: (request: SeenRequest) => Reply
}

/** Calls one operation. Returns the request and the result. */
async function send({ parameters = [], requestBody, args, path = '/x', method = 'get', options, more, reply }: Sending) {
  await using api = await startApi(reply)
  const operation = { operationId: 'op', parameters, ...(requestBody === undefined ? {} : { requestBody }) }
  const document = documentOf({ [path]: { [method]: operation } }, more)
  const { logger } = recordingLogger()
  const tools = new ToolRegistry(await openApiTools(document, { baseURL: `${api.url}/base/`, logger, ...options }))
  const end = await callTool(tools, 'op', args)
  const [seen] = api.seen
  return { end, seen, url: seen?.url, content: end.outcome === 'question' ? undefined : end.content }
}

const array = { type: 'array', items: { type: 'string' } }
const object = { type: 'object' }

describe('arguments of a request', () => {
  it.each([
    ['form, one value', { schema: {} }, 'a b&c', 'p=a%20b%26c'],
    ['form, exploded, as is the default', { schema: array }, ['a', 'b&c'], 'p=a&p=b%26c'],
    ['form', { schema: array, explode: false }, ['a', 'b,c'], 'p=a,b%2Cc'],
    ['spaces', { schema: array, style: 'spaceDelimited' }, ['a', 'b'], 'p=a%20b'],
    ['pipes', { schema: array, style: 'pipeDelimited' }, ['a', 'b|c'], 'p=a%7Cb%7Cc'],
    ['an object with spaces', { schema: object, style: 'spaceDelimited', explode: false }, { a: 1, b: 2 }, 'p=a%201%20b%202'],
    ['an object with pipes', { schema: object, style: 'pipeDelimited', explode: false }, { a: 1, b: 2 }, 'p=a%7C1%7Cb%7C2'],
    ['an empty list', { schema: array }, [], ''],
    ['an object, exploded', { schema: object }, { a: 1, b: 'x y' }, 'a=1&b=x%20y'],
    ['an object', { schema: object, explode: false }, { a: 1, b: 2 }, 'p=a,1,b,2'],
    [
      'a deep object',
      { schema: object, style: 'deepObject', explode: true },
      { a: 1, b: { c: [2, 3] } },
      'p%5Ba%5D=1&p%5Bb%5D%5Bc%5D=2&p%5Bb%5D%5Bc%5D=3',
    ],
    ['JSON', { content: { 'application/json': { schema: object } } }, { a: [1] }, 'p=%7B%22a%22%3A%5B1%5D%7D'],
    ['reserved characters that are allowed', { schema: {}, allowReserved: true }, 'a/b?c&d=e#f', 'p=a/b?c%26d%3De%23f'],
    ['null and lone surrogates', { schema: array }, ['\ud800', 'ü'], 'p=%EF%BF%BD&p=%C3%BC'],
  ])('go into the query: %s', async (_what, parameter, value, query) => {
    const { url } = await send({ parameters: [{ name: 'p', in: 'query', ...parameter }], args: { p: value } })
    expect(url).toBe(query === '' ? '/base/x' : `/base/x?${query}`)
  })

  it.each([
    ['simple', {}, 'a/b?c', '/base/x/a%2Fb%3Fc'],
    ['simple list', { schema: array }, ['a', 'b,c'], '/base/x/a,b%2Cc'],
    ['label', { style: 'label', explode: true, schema: array }, ['a', 'b'], '/base/x/.a.b'],
    ['matrix', { style: 'matrix', schema: array }, ['a', 'b'], '/base/x/;p=a,b'],
    ['matrix, nothing', { style: 'matrix', schema: {} }, '', '/base/x/;p'],
    ['matrix, exploded', { style: 'matrix', explode: true, schema: array }, ['a', 'b'], '/base/x/;p=a;p=b'],
    ['matrix object', { style: 'matrix', explode: true, schema: object }, { a: 1 }, '/base/x/;a=1'],
    ['simple object, exploded', { explode: true, schema: object }, { a: 1, b: 2 }, '/base/x/a=1,b=2'],
    ['dots within', {}, 'a..b', '/base/x/a..b'],
  ])('go into the path: %s', async (_what, parameter, value, url) => {
    expect(
      await send({ path: '/x/{p}', parameters: [{ name: 'p', in: 'path', required: true, ...parameter }], args: { p: value } }),
    ).toMatchObject({ url })
  })

  it.each(['', '.', '..'])('are refused if they would change the path: %j', async (value) => {
    const { seen, end } = await send({ path: '/x/{p}/y', parameters: [{ name: 'p', in: 'path' }], args: { p: value } })
    expect(seen).toBeUndefined()
    expect(end).toMatchObject({ outcome: 'failed', content: `Expected \`p\` to be a path segment, got ${JSON.stringify(value)}` })
  })

  it('go into headers and cookies, except headers of the connection', async () => {
    const parameters = [
      { name: 'X-List', in: 'header', schema: array },
      { name: 'Authorization', in: 'header', schema: {} },
      { name: 'Host', in: 'header', schema: {} },
      { name: 'c', in: 'cookie', schema: {} },
      { name: 'd', in: 'cookie', schema: {} },
    ]
    const { seen } = await send({ parameters, args: { 'X-List': ['a', 'b'], c: 'x; d=y', d: 1 } })
    expect(seen?.headers).toMatchObject({ 'x-list': 'a,b', cookie: 'c=x%3B%20d%3Dy; d=1' })
    const refused = await send({ parameters, args: { Authorization: 'Bearer mine' } })
    expect(refused.content).toMatch(/unknown `Authorization`/)
    const injected = await send({ parameters, args: { 'X-List': ['a\r\nx-evil: 1'] } })
    expect(injected.end).toMatchObject({ outcome: 'failed', content: expect.stringMatching(/Invalid character in header/) })
  })

  it('go into the body: property by property, whole, as a form, as text, or not at all', async () => {
    const of = (schema: object, mediaType = 'application/json', required = true) => ({ required, content: { [mediaType]: { schema } } })
    const plain = { type: 'object', properties: { id: { type: 'integer' }, tags: array }, required: ['id'] }
    const post = { method: 'post', path: '/x/{id}', parameters: [{ name: 'id', in: 'path', schema: {} }] }
    const one = await send({ ...post, requestBody: of(plain), args: { id: 'p', body_id: 7, tags: ['ä'] } })
    expect(one.seen).toMatchObject({
      url: '/base/x/p',
      body: '{"id":7,"tags":["ä"]}',
      headers: { 'content-type': 'application/json', 'content-length': '22' },
    })
    const whole = await send({ ...post, requestBody: of({ allOf: [plain] }), args: { id: 'p', body: { id: 1, more: true } } })
    expect(whole.seen?.body).toBe('{"id":1,"more":true}')
    const form = await send({
      ...post,
      requestBody: of(plain, 'application/x-www-form-urlencoded'),
      args: { id: 'p', body_id: 1, tags: ['a&b', 'c'] },
    })
    expect(form.seen).toMatchObject({ body: 'id=1&tags=a%26b&tags=c', headers: { 'content-type': 'application/x-www-form-urlencoded' } })
    const text = await send({ ...post, requestBody: of({ type: 'string' }, 'text/plain'), args: { id: 'p', body: 'words' } })
    expect(text.seen).toMatchObject({ body: 'words', headers: { 'content-type': 'text/plain' } })
    const optional = { type: 'object', properties: { a: {} } }
    const none = await send({ ...post, requestBody: of(optional, 'application/json', false), args: { id: 'p' } })
    expect(none.seen).toMatchObject({ body: '' })
    expect(none.seen?.headers).not.toHaveProperty('content-type')
    const empty = await send({ ...post, requestBody: of(optional), args: { id: 'p' } })
    expect(empty.seen?.body).toBe('{}')
  })

  it('H14 are sent only if given, even with names that every object has', async () => {
    const names = ['constructor', '__proto__', 'toString']
    const parameters = names.map((name) => ({ name, in: 'query', schema: {} }))
    expect((await send({ parameters, args: {} })).url).toBe('/base/x')
    expect((await send({ parameters, args: JSON.parse('{"constructor":1,"toString":2}') })).url).toBe('/base/x?constructor=1&toString=2')
  })
})

describe('the result of a request', () => {
  const get = (reply: Reply, options: OpenApiOptions = {}) => send({ args: {}, options, reply: () => reply })

  it('is a value if it is JSON, with long integers whole, and a text otherwise', async () => {
    const body = '{"id": 12345678901234567890, "small": 5, "half": 0.5}'
    expect((await get({ body })).end).toMatchObject({
      outcome: 'ok',
      value: { status: 200, body: { id: '12345678901234567890', small: 5, half: 0.5 } },
      content: '{"id":"12345678901234567890","small":5,"half":0.5}',
    })
    expect((await get({ body: '{broken' })).content).toBe('{broken')
    expect((await get({ body: 'plain', headers: { 'content-type': 'text/plain' } })).content).toBe('plain')
    expect((await get({ body: 'null' })).content).toBe('null')
    expect((await get({ status: 204 })).content).toBe('HTTP 204, no content')
    const binary = { body: Buffer.from([0x89, 0x50, 0, 0xff]), headers: { 'content-type': 'image/png' } }
    expect((await get(binary)).content).toBe('(not text: image/png, 4 bytes)')
  })

  it('H22 is truncated while it is read if it is too long, and says so', async () => {
    const { end } = await get({ body: JSON.stringify('x'.repeat(1_000_000)) }, { maxResponseBytes: 1_000 })
    expect(end).toMatchObject({
      outcome: 'ok',
      value: { truncated: true },
      content: expect.stringMatching(/longer than 1000 bytes and was cut here/),
    })
    expect(JSON.stringify(end).length).toBeLessThan(4_000)
  })

  it('E2.9 is a failure for another status, with the server’s text; redirects are not followed', async () => {
    expect((await get({ status: 404, body: '{"error":"no pet 7"}' })).end).toMatchObject({
      outcome: 'failed',
      content: 'HTTP 404 Not Found.\n{"error":"no pet 7"}',
    })
    expect((await get({ status: 500, body: 'x'.repeat(9_000), headers: { 'content-type': 'text/html' } })).content).toMatch(
      /^HTTP 500 Internal Server Error\.\nx{2000}… \(9000 characters\)$/,
    )
    const page = '<html>\n<head><title>504 Gateway Time-out</title></head>\n<body><h1>504 Gateway Time-out</h1></body></html>\n'
    expect((await get({ status: 504, body: page, headers: { 'content-type': 'text/html' } })).content).toBe(
      'HTTP 504 Gateway Timeout. It sent an HTML page titled "504 Gateway Time-out".',
    )
    const away = await send({ args: {}, reply: () => ({ status: 302, headers: { location: 'http://127.0.0.1:9/else' } }) })
    expect(away.content).toBe('HTTP 302 Found. It points to http://127.0.0.1:9/else, which is not followed.')
  })

  it('H28 H30 ends with the call’s time limit or cancellation', async () => {
    const gone: Promise<void>[] = []
    const { createServer } = await import('node:http')
    const server = createServer((request) => void gone.push(new Promise((resolve) => request.on('close', resolve))))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    const tools = new ToolRegistry(
      await openApiTools(documentOf({ '/x': { get: { operationId: 'op' } } }), { baseURL: `http://127.0.0.1:${port}` }),
    )
    expect(await callTool(tools, 'op', {}, { timeoutMs: 60 })).toMatchObject({ outcome: 'timeout' })
    await gone[0]
    const controller = new AbortController()
    server.once('request', () => controller.abort())
    expect(await callTool(tools, 'op', {}, { signal: controller.signal })).toMatchObject({ outcome: 'cancelled' })
    await gone[1]
    await new Promise((resolve) => server.close(resolve))
  })
})

describe('credentials', () => {
  const schemes = {
    head: { type: 'apiKey', in: 'header', name: 'X-Key' },
    search: { type: 'apiKey', in: 'query', name: 'key' },
    jar: { type: 'apiKey', in: 'cookie', name: 'sid' },
    basic: { type: 'http', scheme: 'basic' },
    bearer: { type: 'http', scheme: 'bearer' },
    oauth: { type: 'oauth2', flows: {} },
  }
  const more = (...security: object[]) => ({ components: { securitySchemes: schemes }, security })
  const env = { A_KEY: 'very secret/1', USER_PASS: 'me:pass-word', EMPTY: '' }

  it('are read from the environment by security scheme', async () => {
    const all = { head: 'A_KEY', search: 'A_KEY', jar: 'A_KEY', basic: 'USER_PASS' }
    const { seen } = await send({ args: {}, more: more({ head: [], search: [], jar: [], basic: [] }), options: { auth: all, env } })
    expect(seen).toMatchObject({
      url: '/base/x?key=very%20secret%2F1',
      headers: {
        'x-key': 'very secret/1',
        cookie: 'sid=very%20secret%2F1',
        authorization: `Basic ${Buffer.from('me:pass-word').toString('base64')}`,
      },
    })
    const { seen: token } = await send({ args: {}, more: more({ oauth: [] }), options: { auth: { oauth: 'A_KEY' }, env } })
    expect(token?.headers.authorization).toBe('Bearer very secret/1')
  })

  it('are those of the first available alternative, and sent only if required', async () => {
    const alternatives = more({ head: [], bearer: [] }, {}, { search: [] })
    const { seen } = await send({ args: {}, more: alternatives, options: { auth: { head: 'A_KEY', search: 'A_KEY' }, env } })
    expect(seen?.url).toBe('/base/x?key=very%20secret%2F1')
    expect(seen?.headers).not.toHaveProperty('x-key')
    const none = await send({ args: {}, more: { components: { securitySchemes: schemes } }, options: { auth: { head: 'A_KEY' }, env } })
    expect(none.seen?.headers).not.toHaveProperty('x-key')
  })

  it('make the call fail if they are not set, naming the variable', async () => {
    const { seen, content } = await send({ args: {}, more: more({ head: [] }), options: { auth: { head: 'EMPTY' }, env } })
    expect(seen).toBeUndefined()
    expect(content).toBe('The credentials for this service are not set up: the environment variable EMPTY is empty.')
  })

  it('H16 appear in no result and no error, even if the server echoes them', async () => {
    const options = { auth: { search: 'A_KEY', basic: 'USER_PASS' }, env }
    const secured = more({ search: [], basic: [] })
    const echo = ({ url, headers }: SeenRequest) => JSON.stringify({ url, auth: headers.authorization, raw: 'very secret/1' })
    for (const status of [200, 400]) {
      const { content } = await send({ args: {}, more: secured, options, reply: (request) => ({ status, body: echo(request) }) })
      expect(content).toContain('[redacted]')
      expect(content).not.toMatch(/very|secret|bWU6cGFzcy13b3Jk/)
    }
    const document = documentOf({ '/x': { get: { operationId: 'op', parameters: [{ name: 'q', in: 'query', schema: {} }] } } }, secured)
    // Nobody listens on this port, and no other test can, because that needs privileges.
    const tools = new ToolRegistry(await openApiTools(document, { ...options, baseURL: 'http://127.0.0.1:2' }))
    // So long that the address is shown only in part.
    for (let length = 100; length < 200; length++) {
      const text = await callText(tools, 'op', { q: 'x'.repeat(length) })
      expect(text).toMatch(/the host refused the connection/)
      expect(text).not.toMatch(/very|key=|secret/)
    }
  })

  it('are refused immediately for an unknown scheme or an unsupported kind', async () => {
    const document = documentOf({ '/x': { get: {} } }, { components: { securitySchemes: { tls: { type: 'mutualTLS' } } } })
    await expect(openApiTools(document, { auth: { other: 'A' } })).rejects.toThrow(
      /security schemes of the document \(`tls`\), got `other`/,
    )
    await expect(openApiTools(document, { auth: { tls: 'A' } })).rejects.toThrow(/Expected the security scheme `tls` to be an API key/)
  })
})
