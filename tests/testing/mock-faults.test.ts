import { request as httpRequest } from 'node:http'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { type Framing, type MockFault, type MockProvider, type MockProviderOptions, startMockProvider } from '../../src/testing/index.ts'

const open: MockProvider[] = []
async function start(options?: MockProviderOptions): Promise<MockProvider> {
  const provider = await startMockProvider(options)
  open.push(provider)
  return provider
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((provider) => provider.close()))
})

function post(provider: MockProvider, stream = true): Promise<Response> {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream })
  return fetch(`${provider.baseURL}/chat/completions`, { method: 'POST', body })
}

interface RawResponse {
  status: number
  headers: NodeJS.Dict<string | string[]>
  chunks: Buffer[]
  bytes: Buffer
  /** The error that ended the connection. */
  error?: Error
}

/** What a client that decodes nothing receives: every chunk, and how it ended. */
function postRaw(provider: MockProvider, stream = true): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const req = httpRequest(`${provider.baseURL}/chat/completions`, { method: 'POST', agent: false }, (res) => {
      const chunks: Buffer[] = []
      const done = (error?: Error): void =>
        resolve({ status: res.statusCode ?? 0, headers: res.headers, chunks, bytes: Buffer.concat(chunks), ...(error && { error }) })
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => done())
      res.on('error', done)
    })
    req.on('error', reject)
    req.end(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream }))
  })
}

const text = `Grüße aus 東京 ${'🎌'.repeat(20)}`

async function bytesOf(fault: MockFault, stream = true): Promise<RawResponse> {
  return postRaw(await start({ script: [{ text, fault }] }), stream)
}

describe('faults that replace the script’s answer', () => {
  it('send a status with headers and body, and leave the turn for the next request', async () => {
    const provider = await start({
      script: ['the turn'],
      faults: [
        { status: 429, headers: { 'retry-after': '7' } },
        { status: 503, body: 'busy' },
        { status: 400, body: { detail: 'odd' } },
      ],
    })
    const limited = await post(provider)
    expect([limited.status, limited.headers.get('retry-after'), await limited.json()]).toMatchObject([
      429,
      '7',
      { error: { type: 'rate_limit_error' } },
    ])
    const busy = await post(provider)
    expect([busy.status, await busy.text()]).toEqual([503, 'busy'])
    const odd = await post(provider)
    expect([odd.status, odd.headers.get('content-type'), await odd.json()]).toEqual([400, 'application/json', { detail: 'odd' }])
    expect(await (await post(provider, false)).json()).toMatchObject({ choices: [{ message: { content: 'the turn' } }] })
  })

  it('send an HTML page, a JSON error with status 200, or a conversation that is too long', async () => {
    const provider = await start({
      faults: [
        { htmlError: true },
        { htmlError: 200 },
        { jsonErrorWith200: true },
        { jsonErrorWith200: { error: 'x' } },
        { contextOverflow: true },
      ],
    })
    const page = await post(provider)
    expect([page.status, page.headers.get('content-type')]).toEqual([502, 'text/html'])
    expect(await page.text()).toMatch(/^<!DOCTYPE html>/)
    expect((await post(provider)).status).toBe(200)
    const error = await post(provider)
    expect([error.status, error.headers.get('content-type'), await error.json()]).toMatchObject([
      200,
      'application/json',
      { error: { type: 'server_error' } },
    ])
    expect(await (await post(provider)).json()).toEqual({ error: 'x' })
    const long = await post(provider)
    expect([long.status, await long.json()]).toMatchObject([400, { error: { code: 'context_length_exceeded' } }])
  })

  it('reset the connection before the first byte', async () => {
    const provider = await start({ script: ['ok'], faults: [{ resetAfterBytes: 0 }] })
    await expect(postRaw(provider)).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(await provider.waitForEnd()).toMatchObject({ ended: true, aborted: false })
    expect((await postRaw(provider)).status).toBe(200)
  })

  it('are chosen for all requests, by index, by a function, or by the turn, whose fault takes precedence', async () => {
    expect((await post(await start({ faults: { status: 500 } }))).status).toBe(500)
    const byFunction = await start({
      script: () => 'ok',
      faults: ({ index, body, path }) => (index === 1 && body.model === 'm' && path.startsWith('/v1') ? { status: 501 } : undefined),
    })
    expect([(await post(byFunction)).status, (await post(byFunction)).status, (await post(byFunction)).status]).toEqual([200, 501, 200])
    const byTurn = await start({
      script: [{ text: 'a', fault: { framing: 'crlf' } }, { fault: { status: 502 } }, 'c'],
      faults: { framing: 'cr' },
    })
    expect(await (await post(byTurn)).text()).toMatch(/\r\n\r\n$/)
    expect((await post(byTurn)).status).toBe(502)
    expect(await (await post(byTurn)).text()).toMatch(/[^\n]\r\r$/)
  })
})

describe('faults of a body', () => {
  it('cut it off or reset it after the exact number of bytes', async () => {
    const whole = (await bytesOf({})).bytes
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: whole.length }), fc.boolean(), async (at, split) => {
        const how = split ? { splitBytes: 'random' as const } : {}
        const cut = await bytesOf({ cutAfterBytes: at, ...how })
        expect(cut.error).toBeUndefined()
        expect(cut.bytes).toEqual(whole.subarray(0, at))
        const reset = await bytesOf({ resetAfterBytes: at, ...how })
        expect(reset.error).toMatchObject({ code: 'ECONNRESET' })
        expect(reset.bytes).toEqual(whole.subarray(0, at))
      }),
      {
        numRuns: 25,
        examples: [
          [1, false],
          [whole.length, false],
        ],
      },
    )
    expect((await bytesOf({ cutAfterBytes: 0 })).bytes).toEqual(Buffer.alloc(0))
    expect((await bytesOf({ cutAfterBytes: 1_000_000 })).bytes).toEqual(whole)
  })

  it('stall it: the headers and the bytes before arrive, then nothing, and the connection stays open', async () => {
    for (const at of [0, 40]) {
      const provider = await start({ script: [{ text, fault: { stallAfterBytes: at } }] })
      const response = await post(provider)
      const reader = (response.body ?? new ReadableStream()).getReader()
      let got = 0
      while (got < at) got += (await reader.read()).value?.length ?? 0
      expect(got).toBe(at)
      expect(provider.requests[0]).toMatchObject({ ended: false })
      expect(provider.openConnections).toBe(1)
      await reader.cancel()
      expect((await provider.waitForEnd()).aborted).toBe(true)
    }
  })

  it("break it at 'content': after all of the text, before anything that says it is complete", async () => {
    for (const fault of [
      { cutAfterBytes: 'content' },
      { resetAfterBytes: 'content' },
      { errorInStream: true },
      { garbageAfterBytes: 'content' },
    ] as const) {
      const { bytes } = await bytesOf(fault)
      const received = bytes.toString()
      expect([...received.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join('')).toBe(text)
      expect(received).not.toMatch(/"finish_reason":"|\[DONE\]/)
    }
    const halved = await bytesOf({ cutAfterBytes: 'content' }, false)
    expect(() => JSON.parse(halved.bytes.toString())).toThrow()
  })

  it('insert bytes that are neither JSON nor UTF-8', async () => {
    const { bytes, error } = await bytesOf({ garbageAfterBytes: 100 })
    expect(error).toBeUndefined()
    expect(bytes.length).toBeGreaterThan(100)
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toThrow()
  })

  it('insert an error into the stream, or answer with it if there is no stream', async () => {
    expect((await bytesOf({ errorInStream: true })).bytes.toString()).toMatch(
      /data: \{"error":\{"message":"The server had an error[^\n]*\}\}\n\n$/,
    )
    expect((await bytesOf({ errorInStream: { error: 'own' } })).bytes.toString()).toMatch(/data: \{"error":"own"\}\n\n$/)
    const whole = await bytesOf({ errorInStream: true }, false)
    expect([whole.status, JSON.parse(whole.bytes.toString())]).toMatchObject([200, { error: { type: 'server_error' } }])
  })

  it.for([1, 7, 'random'] as const)('split it into chunks of %s bytes that reach the client one by one', async (splitBytes) => {
    const whole = (await bytesOf({})).bytes
    const { bytes, chunks } = await bytesOf({ splitBytes, seed: 3 })
    expect(bytes).toEqual(whole)
    const sizes = chunks.map((chunk) => chunk.length)
    if (splitBytes === 'random') {
      expect(Math.max(...sizes)).toBeLessThanOrEqual(16)
      expect(new Set(sizes).size).toBeGreaterThan(8)
      expect((await bytesOf({ splitBytes, seed: 3 })).chunks).toEqual(chunks)
      expect((await bytesOf({ splitBytes, seed: 4 })).chunks).not.toEqual(chunks)
    } else {
      // At a pause of the body (here: the end of its content, and its end) a chunk may be shorter.
      expect(sizes.filter((size) => size !== splitBytes).length).toBeLessThanOrEqual(2)
      expect(Math.max(...sizes)).toBe(splitBytes)
    }
    expect(chunks.some((chunk) => !chunk.toString().isWellFormed() || chunk.toString().includes('\uFFFD'))).toBe(true)
  })

  it('compress it, piece by piece', async () => {
    const whole = (await bytesOf({})).bytes
    const compressed = await bytesOf({ gzip: true, splitBytes: 5 })
    expect(compressed.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(compressed.bytes)).toEqual(whole)
    const gate = Promise.withResolvers<void>()
    const provider = await start({ script: [{ chunks: ['early', gate.promise, 'late'], fault: { gzip: true } }] })
    const reader = ((await post(provider)).body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader()
    let received = ''
    while (!received.includes('early')) received += (await reader.read()).value
    gate.resolve()
    for (let read = await reader.read(); !read.done; read = await reader.read()) received += read.value
    expect(received).toContain('late')
    await expect((await post(await start({ script: [{ text, fault: { gzip: true } }] }), false)).json()).resolves.toMatchObject({
      object: 'chat.completion',
    })
  })

  it('delay the first byte, headers included', async () => {
    const provider = await start({ script: [{ text, fault: { slowFirstByteMs: 30 } }] })
    const before = performance.now()
    expect((await post(provider)).status).toBe(200)
    expect(performance.now() - before).toBeGreaterThan(28)
  })

  it('close the connection although keep-alive was announced', async () => {
    const { headers } = await bytesOf({ closeKeepAlive: true })
    expect(headers.connection).not.toBe('keep-alive')
    const provider = await start({ script: () => 'ok', faults: [{ closeKeepAlive: true }] })
    const kept = await post(provider)
    expect(kept.headers.get('connection')).toBe('keep-alive')
    await kept.text()
    await provider.waitForConnections(0)
  })
})

describe('framings', () => {
  const payload = { choices: [{ delta: { content: 'a' } }] }
  const json = JSON.stringify(payload)
  const framed = async (framing: Framing | Framing[]): Promise<string> => {
    const provider = await start({ script: [{ recording: [json], fault: { framing } }] })
    return (await postRaw(provider)).bytes.toString()
  }

  it.for([
    ['crlf', `data: ${json}\r\n\r\ndata: [DONE]\r\n\r\n`],
    ['cr', `data: ${json}\r\rdata: [DONE]\r\r`],
    ['no-space', `data:${json}\n\ndata:[DONE]\n\n`],
    ['comments', `: OPENROUTER PROCESSING\n\ndata: ${json}\n\n: OPENROUTER PROCESSING\n\ndata: [DONE]\n\n`],
    ['no-final-blank', `data: ${json}\n\ndata: [DONE]`],
    ['no-done', `data: ${json}\n\n`],
    ['double-done', `data: ${json}\n\ndata: [DONE]\n\ndata: [DONE]\n\n`],
    ['bom', `\uFEFFdata: ${json}\n\ndata: [DONE]\n\n`],
  ] as const)('%s', async ([framing, expected]) => {
    expect(await framed(framing)).toBe(expected)
  })

  it('multi-data: the joined lines are the payload again', async () => {
    const [event] = (await framed('multi-data')).split('\n\n')
    const lines = (event ?? '').split('\n')
    expect(lines.length).toBeGreaterThan(5)
    expect(JSON.parse(lines.map((line) => line.replace(/^data: /, '')).join('\n'))).toEqual(payload)
  })

  it('combine', async () => {
    expect(await framed(['crlf', 'no-space', 'no-done', 'no-final-blank'])).toBe(`data:${json}`)
  })
})

describe('faults that would have no effect', () => {
  it.for([
    [{ framing: 'lf' as Framing }, 'Expected `framing` to be one of crlf, cr,'],
    [{ cutAfterBytes: -1 }, "Expected `cutAfterBytes` to be an integer ≥ 0 or 'content', got `-1`"],
    [{ splitBytes: 0 }, "Expected `splitBytes` to be an integer ≥ 1 or 'random', got `0`"],
    [{ slowFirstByteMs: Number.NaN }, 'Expected `slowFirstByteMs` to be a number of milliseconds ≥ 0, got `NaN`'],
    [{ body: 'x' }, 'Expected `fault` to be an object with a `status` if it has a `body`'],
  ] as const)('are refused: %o', async ([fault, reason]) => {
    const response = await post(await start({ script: ['ok'], faults: fault }))
    expect([response.status, await response.json()]).toMatchObject([400, { error: { message: expect.stringContaining(reason) } }])
  })
})
