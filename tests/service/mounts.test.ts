import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import express, { type Express } from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createService, nodeHandler, type Service, type ServiceOptions } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { closeServer } from '../close-server.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { token } from './start-service.ts'

const model = () => scriptedModel(Array.from({ length: 5 }, () => 'hello'))
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
const body = JSON.stringify({ input: 'hi' })

function mounted(options: ServiceOptions = {}): Service {
  const service = createService({ model: model(), token, env: {}, ...options })
  onTestFinished(() => service.drain(0))
  return service
}

async function listenOn(app: Express): Promise<string> {
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => closeServer(server))
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`
}

const post = (url: string, init: RequestInit = {}) => fetch(`${url}/v1/runs`, { method: 'POST', headers, body, ...init })
const outputOf = async (response: Response) => ((await response.json()) as { output: string }).output

it('X8 a service that could not be started logs that once, and answers 503', async () => {
  const { logger, records } = recordingLogger()
  const service = createService({ model: model(), token, env: {}, logger, config: { limits: { maxIterations: 0 } } })
  for (let at = 0; at < 3; at++) expect((await service.fetch(new Request('http://localhost/healthz'))).status).toBe(503)
  expect(records.filter(({ level }) => level === 'error')).toMatchObject([
    {
      message: 'the service could not be started: all requests are answered with 503',
      fields: { error: expect.stringContaining('maxIterations') },
    },
  ])
})

describe('a service in Express', () => {
  it.each([
    ['none', undefined],
    ['json', express.json()],
    ['text', express.text({ type: '*/*' })],
    ['raw', express.raw({ type: '*/*' })],
  ])('accepts a body that has been read: %s', async (_name, parser) => {
    const app = express()
    if (parser !== undefined) app.use(parser)
    app.use('/agent', nodeHandler(mounted()))
    const url = await listenOn(app)
    expect(await outputOf(await post(url))).toBe('hello')
    expect((await fetch(`${url}/v1/runs`, { headers })).status).toBe(200)
    expect((await post(url, { headers: { 'content-type': 'application/json' } })).status).toBe(401)
    expect((await fetch(`${url}/nowhere`, { headers })).status).toBe(404)
  })

  it('treats an unpacked body as one without encoding; the limits apply to it', async () => {
    const app = express()
    app.use(express.json({ limit: '50mb' }))
    app.use('/agent', nodeHandler(mounted({ config: { service: { maxBodyBytes: 2_000 } } })))
    const url = await listenOn(app)
    const packed = (json: string) =>
      post(url, { headers: { ...headers, 'content-encoding': 'gzip' }, body: new Uint8Array(gzipSync(json)) })
    expect(await outputOf(await packed(body))).toBe('hello')
    expect((await packed(JSON.stringify({ input: 'x'.repeat(5_000) }))).status).toBe(413)
    expect((await packed('{"input":"hi","__proto__":{}}')).status).not.toBe(200)
  })

  it('sends events as they occur, and ends a chat completion when its client leaves', async () => {
    const held = Promise.withResolvers<void>()
    const script = scriptedModel([{ chunks: ['one ', held.promise, 'two'] }, { text: 'one ', hang: true }])
    const app = express()
    app.use(express.json())
    const service = mounted({ model: script })
    const ended: string[] = []
    service.bus.on('RUN_END', ({ stopReason }) => ended.push(stopReason))
    app.use('/agent', nodeHandler(service))
    const url = await listenOn(app)
    const response = await post(url, { headers: { ...headers, accept: 'text/event-stream' } })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('one ')) text += (await reader?.read())?.value ?? ''
    held.resolve()
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) text += read.value
    expect(text).toContain('event: RESULT')

    const client = new AbortController()
    const chat = JSON.stringify({ model: 'toolloop', stream: true, messages: [{ role: 'user', content: 'hi' }] })
    const streamed = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: chat, signal: client.signal })
    await streamed.body?.getReader().read()
    client.abort()
    await expect.poll(() => ended).toEqual(['answered', 'aborted'])
  })
})

describe('a service in other frameworks', () => {
  it('Fastify, with the body that it has read', async () => {
    const handle = nodeHandler(mounted({ basePath: '/agent' }))
    const app = fastify()
    onTestFinished(() => app.close())
    app.all('/agent/*', async (request, reply) => {
      reply.hijack()
      await handle(request.raw, reply.raw, request.body)
    })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    expect(await outputOf(await post(`${url}/agent`))).toBe('hello')
    expect((await fetch(`${url}/agent/v1/runs`, { headers })).status).toBe(200)
  })

  it('Hono, mounted and as a handler with a base path', async () => {
    const app = new Hono()
    app.mount('/mounted', mounted().fetch)
    const service = mounted({ basePath: '/agent' })
    app.all('/agent/*', (c) => service.fetch(c.req.raw))
    for (const path of ['/mounted', '/agent']) {
      const response = await app.request(`http://localhost${path}/v1/runs`, { method: 'POST', headers, body })
      expect(await outputOf(response)).toBe('hello')
    }
  })
})
