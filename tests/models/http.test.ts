import { execFile } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { eventStream, startServer, textEvents } from './local-server.ts'
import { hello, secret } from './one-request.ts'

const modelAt = (baseURL: string, settings: Partial<ModelSettings> = {}) =>
  createModel({ provider: 'custom', model: 'm', apiKey: secret, baseURL, maxRetries: 0, ...settings })

/** A server that answers each request, recognized by its blank line, with given bytes, and observes its sockets. */
async function startRawServer(answer: (socket: Socket, index: number) => void) {
  const sockets: Socket[] = []
  let requests = 0
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      if (bytes.includes('POST ')) answer(socket, requests++)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sockets,
    count: () => requests,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const head = (headers = '') => `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${headers}\r\n`
const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

describe('a compressed body', () => {
  const text = 'Grüße aus 東京 🗼 '.repeat(500)
  const body = textEvents(text)
  const encodings = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }

  it.each(Object.entries(encodings))('of %s is read, even in pieces, although it was not requested', async (encoding, compress) => {
    const bytes = compress(body)
    await using server = await startServer((response) => {
      response.writeHead(200, { 'content-encoding': encoding.toUpperCase() })
      response.write(bytes.subarray(0, 20))
      setImmediate(() => response.end(bytes.subarray(20)))
    })
    expect((await modelAt(server.baseURL).generate({ messages: hello })).text).toBe(text)
    expect(server.requests[0]?.headers['accept-encoding']).toBeUndefined()
  })

  it('that ends before its connection is complete, and nothing after it is read', async () => {
    await using server = await startServer((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).write(gzipSync(textEvents('ok')))
      setImmediate(() => response.write('and more'))
    })
    expect((await modelAt(server.baseURL).generate({ messages: hello })).text).toBe('ok')
    await server.firstClosed
  })

  it('that is broken, or larger than one read, ends correctly', async () => {
    const large = 'x'.repeat(8_000_000)
    await using server = await startServer((response, _request, index) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(index === 0 ? Buffer.from('no gzip at all') : gzipSync(textEvents(large)))
    })
    const model = modelAt(server.baseURL)
    await expect(model.generate({ messages: hello })).rejects.toMatchObject({ code: 'stream_cut', retryable: true })
    expect((await model.generate({ messages: hello })).text.length).toBe(large.length)
  })
})

describe('connections', () => {
  it('are reused for consecutive requests', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const model = modelAt(server.baseURL)
    for (let i = 0; i < 20; i++) await model.generate({ messages: hello })
    expect(server.sockets.size).toBe(1)
    await Promise.all(Array.from({ length: 10 }, () => model.generate({ messages: hello })))
    expect(server.sockets.size).toBe(10)
  })

  it('don’t keep the process alive, but a pending request does', async () => {
    await using server = await startServer((response) => setTimeout(() => eventStream(response).end(textEvents('ok')), 50))
    const module = fileURLToPath(new URL('../../src/models/create-model.ts', import.meta.url))
    const script = `import { createModel } from ${JSON.stringify(module)}
      const model = createModel({ provider: 'custom', model: 'm', apiKey: 'k', baseURL: ${JSON.stringify(server.baseURL)}, streamIdleTimeoutMs: Infinity })
      model.generate({ messages: [{ role: 'user', content: 'go' }] }).then(({ text }) => console.log(text))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 50_000 })
    expect(stdout).toBe('ok\n')
  })

  it('that turn out to be closed are replaced once; a new one that is closed is an error', async () => {
    await using server = await startServer((response, _request, index) =>
      index === 1 ? response.destroy() : eventStream(response).end(textEvents(String(index))),
    )
    const model = modelAt(server.baseURL)
    expect((await model.generate({ messages: hello })).text).toBe('0')
    expect((await model.generate({ messages: hello })).text).toBe('2')
    expect(server.requests[2]?.text).toBe(server.requests[1]?.text)
    await using closing = await startServer((response) => response.destroy())
    await expect(modelAt(closing.baseURL).generate({ messages: hello })).rejects.toMatchObject({ providerCode: 'ECONNRESET' })
    expect(closing.requests).toHaveLength(1)
    await using worse = await startServer((response, _request, index) =>
      index === 0 ? eventStream(response).end(textEvents('0')) : response.destroy(),
    )
    const again = modelAt(worse.baseURL)
    await again.generate({ messages: hello })
    await expect(again.generate({ messages: hello })).rejects.toMatchObject({ code: 'connection_failed' })
    expect(worse.requests).toHaveLength(3)
  })

  it('that are closed while a request is answered are not retried', async () => {
    await using server = await startServer((response, _request, index) => {
      if (index === 0) eventStream(response).end(textEvents('0'))
      else eventStream(response).write('data: {', () => response.destroy())
    })
    const model = modelAt(server.baseURL)
    await model.generate({ messages: hello })
    await expect(model.generate({ messages: hello })).rejects.toMatchObject({ code: 'stream_cut' })
    expect(server.requests).toHaveLength(2)
  })

  it('that a server closes while idle are not used any more', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const model = modelAt(server.baseURL)
    for (let i = 0; i < 5; i++) {
      await model.generate({ messages: hello })
      const closed = [...server.sockets].map((socket) => once(socket, 'close'))
      for (const socket of server.sockets) socket.end()
      await Promise.all(closed)
    }
    expect(server.requests).toHaveLength(5)
  })
})

describe('a server that lies', () => {
  const events = textEvents('ok')
  const generate = async (bytes: string | string[], end = true) => {
    await using server = await startRawServer((socket) => {
      for (const piece of [bytes].flat()) socket.write(piece)
      if (end) socket.end()
    })
    return await modelAt(server.baseURL, { streamIdleTimeoutMs: 2000 }).generate({ messages: hello })
  }

  it('about the length of its body, or with broken chunks, has given no response unless it was complete', async () => {
    const half = events.slice(0, 60)
    await expect(generate(`${head('content-length: 5000\r\n')}${half}`)).rejects.toMatchObject({ code: 'stream_cut' })
    await expect(generate(`${head('transfer-encoding: chunked\r\n')}${chunked(half)}zz\r\n`)).rejects.toMatchObject({ code: 'stream_cut' })
    await expect(generate(`${head('transfer-encoding: chunked\r\n')}${chunked(half)}`)).rejects.toMatchObject({ code: 'stream_cut' })
    for (const headers of ['content-length: 5000\r\n', '']) expect((await generate(`${head(headers)}${events}`)).text).toBe('ok')
    expect((await generate(`${head('transfer-encoding: chunked\r\n')}${chunked(events)}zz\r\n`)).text).toBe('ok')
    expect((await generate(`${head(`content-length: ${Buffer.byteLength(events)}\r\n`)}${events}HTTP/1.1 500 Oops\r\n\r\n`)).text).toBe(
      'ok',
    )
  })

  it('with endless headers, words that are not HTTP, or an invalid status is reported', async () => {
    const many = `x: ${'y'.repeat(1000)}\r\n`.repeat(100)
    await expect(generate(head(many), false)).rejects.toMatchObject({ code: 'connection_failed' })
    await expect(generate('SMTP ready\r\n', false)).rejects.toMatchObject({ code: 'connection_failed' })
    await expect(generate('HTTP/1.1 999 Odd\r\ncontent-length: 2\r\n\r\nno')).rejects.toMatchObject({ code: 'provider_error', status: 999 })
    await expect(generate(`HTTP/1.1 304 Not Modified\r\n\r\n`)).rejects.toMatchObject({ code: 'provider_error', status: 304 })
    expect((await generate(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${head()}${events}`)).text).toBe('ok')
  })

  it('with an error whose body never arrives or never ends is reported by its status', async () => {
    const error = JSON.stringify({ error: { message: 'too much', code: 'quota' } })
    const failed = { code: 'rate_limited', status: 429 }
    const found = generate(`HTTP/1.1 429 Slow\r\nretry-after: 3\r\ncontent-length: 500\r\n\r\n${error}`, false)
    await expect(found).rejects.toMatchObject({ ...failed, message: expect.stringContaining('too much'), retryAfterMs: 3000 })
    const endless = ['HTTP/1.1 429 Slow\r\n\r\n', ...Array.from({ length: 40 }, () => 'x'.repeat(50_000))]
    await expect(generate(endless, false)).rejects.toMatchObject(failed)
  })

  it('and closes its half of the connection at once, or answers before the request was sent, is still read', async () => {
    expect((await generate(`${head('connection: close\r\n')}${events}`)).text).toBe('ok')
    const messages = [{ role: 'user', content: 'x'.repeat(20_000_000) }] as const
    await using server = await startRawServer((socket) => {
      socket.write(`${head(`content-length: ${Buffer.byteLength(events)}\r\n`)}${events}`)
    })
    const model = modelAt(server.baseURL)
    for (let i = 0; i < 2; i++) expect((await model.generate({ messages })).text).toBe('ok')
    await using refusing = await startRawServer((socket) => {
      socket.end('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
    })
    await expect(modelAt(refusing.baseURL).generate({ messages })).rejects.toMatchObject({ status: 413 })
  })

  it('and sends its body byte by byte is read to the end', async () => {
    await using server = await startRawServer(async (socket) => {
      socket.setNoDelay(true)
      for (const byte of Buffer.from(`${head('content-length: 600\r\n')}${textEvents('Grüße 🗼').padEnd(598)}`)) {
        socket.write(Buffer.of(byte))
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    expect((await modelAt(server.baseURL).generate({ messages: hello })).text).toBe('Grüße 🗼')
  })
})

describe('an abort', () => {
  it('inside a sink, or before there is a connection, ends the request at once and frees its connection', async () => {
    await using server = await startServer((response) => eventStream(response).write(textEvents('ok').slice(0, -20)))
    const model = modelAt(server.baseURL)
    const inside = new AbortController()
    const answer = model.generate({ messages: hello, signal: inside.signal }, { text: () => inside.abort() })
    await expect(answer).rejects.toMatchObject({ code: 'aborted' })
    expect(getEventListeners(inside.signal, 'abort')).toHaveLength(0)
    await server.firstClosed

    const early = new AbortController()
    const unsent = model.generate({ messages: hello, signal: early.signal })
    queueMicrotask(() => early.abort())
    await expect(unsent).rejects.toMatchObject({ code: 'aborted' })
    expect(getEventListeners(early.signal, 'abort')).toHaveLength(0)
  })

  it('of many requests in many states leaves no socket and no listener', async () => {
    await using server = await startServer((response, _request, index) => {
      if (index % 3 === 0) return
      const stream = eventStream(response)
      if (index % 3 === 1) stream.write(textEvents('ok').slice(0, 40))
      else stream.end(textEvents('ok'))
    })
    const model = modelAt(server.baseURL)
    const controller = new AbortController()
    const requests = Array.from({ length: 60 }, (_, index) => {
      const own = index % 2 === 0 ? controller.signal : AbortSignal.timeout(5 + index * 3)
      return model.generate({ messages: hello, signal: own })
    })
    setTimeout(() => controller.abort(), 60)
    const ends = await Promise.allSettled(requests)
    for (const end of ends) if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'aborted' })
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    const answered = ends.filter(({ status }) => status === 'fulfilled').length
    await expect.poll(() => server.sockets.size).toBeLessThanOrEqual(answered)
  })
})
