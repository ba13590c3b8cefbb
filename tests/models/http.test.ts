import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { NodeResponse, nodeFetch } from '../../src/models/transport/http.ts'
import { startServer } from './local-server.ts'

const text = 'Grüße aus 東京 🗼 '.repeat(500)

describe('nodeFetch', () => {
  it('sends method, headers and body as they are and reads the answer', async () => {
    await using server = await startServer((response) =>
      response.writeHead(201, 'Made', { 'x-a': ['1', '2'], 'content-type': 'text/plain' }).end(text),
    )
    const response = await nodeFetch(`${server.baseURL}/things?q=1`, { method: 'POST', headers: { 'X-Own': 'yes' }, body: 'Grüße' })
    expect(response).toBeInstanceOf(NodeResponse)
    expect([response.ok, response.status, response.statusText, response.url]).toEqual([true, 201, 'Made', `${server.baseURL}/things?q=1`])
    expect(response.headers.get('X-A')).toBe('1, 2')
    expect(response.headers.has('X-b')).toBe(false)
    expect(new Headers([...response.headers]).get('content-type')).toBe('text/plain')
    expect(response.bodyUsed).toBe(false)
    expect(await response.text()).toBe(text)
    expect(response.bodyUsed).toBe(true)
    await expect(response.text()).rejects.toThrow('not read yet')
    expect(server.requests[0]).toMatchObject({ method: 'POST', url: '/v1/things?q=1', text: 'Grüße' })
    expect(server.requests[0]?.headers).toMatchObject({
      'x-own': 'yes',
      'content-length': String(Buffer.byteLength('Grüße')),
      host: new URL(server.baseURL).host,
    })
  })

  it('reads a body as JSON, bytes, blob, form or web stream', async () => {
    await using server = await startServer((response, { url }) => {
      if (url.endsWith('form')) response.writeHead(200, { 'content-type': 'application/x-www-form-urlencoded' }).end('a=1')
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}')
    })
    const get = (path = '') => nodeFetch(new URL(`${server.baseURL}/${path}`))
    expect(await (await get()).json()).toEqual({ a: 1 })
    expect(Buffer.from(await (await get()).arrayBuffer()).toString()).toBe('{"a":1}')
    expect(Buffer.from(await (await get()).bytes()).toString()).toBe('{"a":1}')
    expect((await (await get()).blob()).type).toBe('application/json')
    expect((await (await get('form')).formData()).get('a')).toBe('1')
    const response = await get()
    const pieces: Uint8Array[] = []
    for await (const piece of response.body ?? []) pieces.push(piece)
    expect(Buffer.concat(pieces).toString()).toBe('{"a":1}')
    expect(() => response.clone()).toThrow('no clone')
  })

  it('leaves a body alone that is only looked at: whoever reads the Node stream gets all of it', async () => {
    const large = Buffer.alloc(4_000_000, 'x')
    await using server = await startServer((response) => response.end(large))
    const response = await nodeFetch(server.baseURL)
    expect(response.body).toBe(response.body)
    let length = 0
    if (!(response instanceof NodeResponse)) throw new Error('not ours')
    for await (const piece of response.stream) length += piece.length
    expect(length).toBe(large.length)
  })

  it('closes the connection when a reader of its web stream leaves', async () => {
    await using server = await startServer((response) => response.write('first'))
    const response = await nodeFetch(server.baseURL)
    for await (const piece of response.body ?? []) {
      expect(Buffer.from(piece).toString()).toBe('first')
      break
    }
    await server.firstClosed
  })

  it('decompresses gzip, deflate, br and zstd, also while it is being sent', async () => {
    const encodings = {
      gzip: gzipSync(text),
      'x-gzip': gzipSync(text),
      deflate: deflateSync(text),
      br: brotliCompressSync(text),
      zstd: zstdCompressSync(text),
    }
    await using server = await startServer((response, { url }) => {
      const encoding = url.split('/').at(-1) as keyof typeof encodings
      const bytes = encodings[encoding]
      response.writeHead(200, { 'content-encoding': encoding })
      response.write(bytes.subarray(0, 20))
      setImmediate(() => response.end(bytes.subarray(20)))
    })
    for (const encoding of Object.keys(encodings)) expect(await (await nodeFetch(`${server.baseURL}/${encoding}`)).text()).toBe(text)
    expect(server.requests[0]?.headers['accept-encoding']).toBeUndefined()
  })

  it('uses a connection again, and keeps no process alive for it', async () => {
    await using server = await startServer((response) => response.end('x'))
    for (let i = 0; i < 5; i++) await (await nodeFetch(server.baseURL)).text()
    expect(server.sockets.size).toBe(1)
    const module = fileURLToPath(new URL('../../src/models/transport/http.ts', import.meta.url))
    const script = `import { NodeResponse, nodeFetch } from ${JSON.stringify(module)}; console.log(await (await nodeFetch(${JSON.stringify(server.baseURL)})).text())`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 15_000 })
    expect(stdout).toBe('x\n')
  })

  it('sends a request once more when the idle connection it used turns out to be closed', async () => {
    await using server = await startServer((response, _request, index) => (index === 1 ? response.destroy() : response.end(String(index))))
    expect(await (await nodeFetch(server.baseURL)).text()).toBe('0')
    expect(await (await nodeFetch(server.baseURL)).text()).toBe('2')
    await using closing = await startServer((response) => response.destroy())
    await expect(nodeFetch(closing.baseURL)).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(closing.requests).toHaveLength(1)
  })

  it('hands redirects, forms, streams and requests to the built-in fetch', async () => {
    await using server = await startServer((response, { url }) => {
      if (url.endsWith('/old')) response.writeHead(307, { location: '/v1/new' }).end()
      else response.end('new')
    })
    const redirected = await nodeFetch(`${server.baseURL}/old`, { method: 'POST', body: 'again' })
    expect([redirected.redirected, redirected.url, await redirected.text()]).toEqual([true, `${server.baseURL}/new`, 'new'])
    expect(server.requests.at(-1)?.text).toBe('again')
    expect((await nodeFetch(`${server.baseURL}/old`, { redirect: 'manual' })).status).toBe(307)
    await expect(nodeFetch(`${server.baseURL}/old`, { redirect: 'error' })).rejects.toThrow()

    await nodeFetch(server.baseURL, { method: 'POST', body: new URLSearchParams({ a: '1' }) })
    expect(server.requests.at(-1)?.text).toBe('a=1')
    await nodeFetch(new Request(server.baseURL, { method: 'POST', body: 'from a request' }))
    expect(server.requests.at(-1)?.text).toBe('from a request')
    await nodeFetch(server.baseURL, { method: 'POST', body: Buffer.from('bytes') })
    expect(server.requests.at(-1)?.text).toBe('bytes')
    expect(await (await nodeFetch('data:,inline')).text()).toBe('inline')
  })

  it('rejects with Node’s error when there is no connection', async () => {
    const server = await startServer((response) => response.end())
    await server[Symbol.asyncDispose]()
    await expect(nodeFetch(server.baseURL)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('is aborted before, while waiting for the answer, and in the middle of it; then nothing listens any more', async () => {
    const waiting = Promise.withResolvers<void>()
    await using server = await startServer((response, { url }) => {
      if (url.endsWith('/wait')) waiting.resolve()
      else if (url.endsWith('/short')) response.end('short')
      else response.writeHead(200).write('first')
    })
    const reason = new Error('no longer wanted')
    await expect(nodeFetch(server.baseURL, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)

    const before = new AbortController()
    const answer = nodeFetch(`${server.baseURL}/wait`, { signal: before.signal })
    await waiting.promise
    before.abort(reason)
    await expect(answer).rejects.toBe(reason)

    const during = new AbortController()
    const response = await nodeFetch(server.baseURL, { signal: during.signal })
    const whole = response.text()
    expect(getEventListeners(during.signal, 'abort')).toHaveLength(1)
    during.abort()
    await expect(whole).rejects.toMatchObject({ name: 'AbortError' })

    const finished = new AbortController()
    await (await nodeFetch(`${server.baseURL}/short`, { signal: finished.signal })).text()
    expect(getEventListeners(finished.signal, 'abort')).toHaveLength(0)
  })
})
