import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunEvent } from '../../src/core/events.ts'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { fallbackModel } from '../../src/models/combined/fallback.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { RateLimits } from '../../src/models/rate-limiter.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { limitedServer } from './limited-server.ts'
import { chunk, eventStream, events, type LocalServer, sendJson, startServer, textEvents } from './local-server.ts'

const request: ModelRequest = { messages: [{ role: 'user', content: 'Hello' }] }

function modelAt({ baseURL }: LocalServer, rateLimits: RateLimits, more: Partial<ModelSettings> = {}) {
  return createModel({ provider: 'custom', model: 'm', baseURL, rateLimits, ...more })
}

/** A server that ends its answers when the test says so. */
async function slowServer(): Promise<LocalServer & { open: ServerResponse[]; asked(count: number): Promise<void>; end(): void }> {
  const open: ServerResponse[] = []
  const waiting: { count: number; resolve(): void }[] = []
  const server = await startServer((response) => {
    eventStream(response).write(events(chunk({ role: 'assistant', content: 'Hel' })))
    open.push(response)
    for (const { count, resolve } of waiting) if (server.requests.length >= count) resolve()
  })
  return Object.assign(server, {
    open,
    asked: (count: number) =>
      new Promise<void>((resolve) => {
        if (server.requests.length >= count) resolve()
        else waiting.push({ count, resolve })
      }),
    end: () => void open.shift()?.end(events(chunk({ content: 'lo' }), chunk({}, 'stop'), '[DONE]')),
  })
}

describe('rateLimits', () => {
  it('apply to all models of one key, however they were created; a streamed response counts until its end', async () => {
    await using server = await slowServer()
    const pieces: string[] = []
    const first = modelAt(server, { concurrency: 1 }).generate(request, { text: (delta) => void pieces.push(delta) })
    const second = modelAt(server, { concurrency: 1 }).generate(request)
    const elsewhere = modelAt(server, { concurrency: 1 }, { apiKey: 'another' }).generate(request)
    await server.asked(2)
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer none', 'Bearer another'])
    expect(pieces).toEqual(['Hel'])
    server.end()
    expect(await first).not.toHaveProperty('waitedMs')
    await server.asked(3)
    server.end()
    server.end()
    await elsewhere
    expect((await second).waitedMs).toBeGreaterThan(0)
  })

  it('of a provider apply to all its models; those of an entry apply to the matching models', async () => {
    await using server = await slowServer()
    const providers = {
      mine: {
        driver: 'openai',
        baseURL: server.baseURL,
        apiKeyOptional: true,
        rateLimits: { concurrency: 2 },
        models: [{ match: '^large', rateLimits: { concurrency: 1 } }],
      },
    }
    const ask = (name: string) => createModel(`mine/${name}`, { providers }).generate(request)
    const asked = () => server.requests.map(({ body }) => body.model)
    const large = ['large-1', 'large-2'].map(ask)
    await server.asked(1)
    const small = ['small-1', 'small-2'].map(ask)
    await server.asked(2)
    expect(asked()).toEqual(['large-1', 'small-1'])
    server.end()
    await large[0]
    // The provider's slot was that of the first request; the large models' slot was that of the other large one.
    await server.asked(3)
    expect(asked().slice(2)).toEqual(['small-2'])
    server.end()
    await small[0]
    await server.asked(4)
    expect(asked().slice(3)).toEqual(['large-2'])
    server.end()
    server.end()
    await Promise.all([...large, ...small])
  })

  it('make other requests wait if the provider refuses one and says how long', async () => {
    const at: number[] = []
    await using server = await startServer((response, _request, index) => {
      at.push(performance.now())
      if (index === 0) sendJson(response, { error: { message: 'Slow down' } }, 429, { 'retry-after-ms': '300' })
      else eventStream(response).end(textEvents('ok'))
    })
    const model = modelAt(server, { requestsPerMinute: 60_000 }, { maxRetries: 1 })
    const first = model.generate(request)
    while (at.length === 0) await new Promise((resolve) => setImmediate(resolve))
    // The refusal is on its way to the client; the others are requested when it has arrived.
    const others = await model.generate({ ...request }, undefined).catch((error: unknown) => error)
    expect(others).toMatchObject({ text: 'ok' })
    expect(await first).toMatchObject({ text: 'ok', retries: 1 })
    const rest = await Promise.all(Array.from({ length: 5 }, () => model.generate({ ...request })))
    expect(rest).toHaveLength(5)
    expect(server.requests).toHaveLength(8)
  })

  it('F18 make other requests wait if an error inside a stream says how long', async () => {
    const at: number[] = []
    const failed = { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Rate limit reached. Please try again in 200ms.' } }
    const completed = {
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }],
    }
    await using server = await startServer((response, _request, index) => {
      at.push(performance.now())
      const event = index === 0 ? { type: 'response.failed', response: failed } : { type: 'response.completed', response: completed }
      eventStream(response).end(events(event))
    })
    const model = modelAt(server, { requestsPerMinute: 600_000 }, { provider: 'openai-responses', apiKey: 'k', maxRetries: 0 })
    await expect(model.generate(request)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 200 })
    const others = await Promise.all([1, 2, 3].map(() => model.generate({ ...request })))
    expect(others.map(({ text }) => text)).toEqual(['ok', 'ok', 'ok'])
    const [refused = 0, ...rest] = at
    // Timers may fire up to a millisecond early.
    expect(Math.min(...rest) - refused).toBeGreaterThanOrEqual(199)
  })

  it('fail a request that exceeds the queue, and the next model of a list is asked at once', async () => {
    await using server = await slowServer()
    const model = modelAt(server, { concurrency: 1, maxQueued: 0 })
    const first = model.generate(request)
    await expect(model.generate({ ...request })).rejects.toMatchObject({ code: 'queue_full', fault: 'caller' })
    await using other = await startServer((response) => eventStream(response).end(textEvents('from the other')))
    const both = fallbackModel([model, modelAt(other, {})])
    expect(await both.generate({ ...request })).toMatchObject({ text: 'from the other' })
    await server.asked(1)
    server.end()
    await first
    // It does not rest, because it has not failed.
    const again = both.generate({ ...request })
    await server.asked(2)
    server.end()
    expect(await again).toMatchObject({ text: 'Hello' })
  })

  it('count waiting towards the run’s deadline, and not as silence of the provider', async () => {
    await using server = await slowServer()
    const model = modelAt(server, { concurrency: 1 })
    const first = model.generate({ ...request, streamIdleTimeoutMs: 50_000 })
    await server.asked(1)
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ model, logger })
    const late = await runner.run('Hello', { limits: { deadlineMs: 50 }, streamIdleTimeoutMs: 10 })
    expect(late).toMatchObject({ stopReason: 'deadline' })
    const patient = runner.run('Hello', { streamIdleTimeoutMs: 50_000 })
    const leaving = new AbortController()
    const aborted = runner.run('Hello', { signal: leaving.signal })
    leaving.abort()
    expect(await aborted).toMatchObject({ stopReason: 'aborted' })
    server.end()
    await first
    await server.asked(2)
    server.end()
    expect(await patient).toMatchObject({ stopReason: 'answered', steps: [{ waitedMs: expect.any(Number) }] })
    expect(server.requests).toHaveLength(2)
  })

  it('report that a request waits', async () => {
    await using server = await slowServer()
    const model = modelAt(server, { concurrency: 1 })
    const first = model.generate(request)
    const stream = new AgentRunner({ model }).stream('Hello')
    const seen: RunEvent[] = []
    for await (const event of stream) {
      seen.push(event)
      if (event.type === 'MODEL_QUEUED') server.asked(1).then(() => server.end())
      if (event.type === 'TEXT_DELTA' && event.text === 'Hel') server.end()
    }
    await first
    expect(seen.map(({ type }) => type).slice(0, 3)).toEqual(['RUN_START', 'MODEL_START', 'MODEL_QUEUED'])
    expect(seen[2]).toMatchObject({ provider: 'custom', model: 'm', ahead: 0, meta: { iteration: 1 } })
  })

  it('are checked when the model is created', () => {
    const make = (rateLimits: object) => () => createModel({ provider: 'custom', model: 'm', baseURL: 'http://127.0.0.1:1', rateLimits })
    expect(make({ requestPerMinute: 5 })).toThrow(/`rateLimits.requestPerMinute`.*requestsPerMinute/)
    expect(make({ concurrency: 0 })).toThrow('Expected `rateLimits.concurrency` to be an integer ≥ 1, got `0`')
    expect(make({ tokensPerMinute: Number.POSITIVE_INFINITY })).toThrow('rateLimits.tokensPerMinute')
    expect(make([])).toThrow('Expected `rateLimits` to be a map of limits')
    const of = (openai: object) => () => createModel('openai/gpt-x', { providers: { openai } })
    expect(of({ rateLimits: { maxQueued: -1 } })).toThrow('providers.openai.rateLimits.maxQueued')
    expect(of({ models: [{ match: 'x', rateLimits: 5 }] })).toThrow(/providers\.openai\.models\[\d+\]\.rateLimits/)
  })

  it('let many runs with tools through at a limited server, with few refused requests', async () => {
    await using server = await limitedServer(100)
    const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
    const model = modelAt(server, { requestsPerMinute: 6_000 })
    const runner = new AgentRunner({ model, tools: [look] })
    const results = await Promise.all(Array.from({ length: 60 }, () => runner.run('Look, then answer.')))
    expect(results.filter(({ stopReason }) => stopReason !== 'answered')).toEqual([])
    expect(server.requests.length).toBeLessThanOrEqual(120 * 1.3)
  })
})
