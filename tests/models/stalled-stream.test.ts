import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { timersLeft, turnEventLoop } from '../hazards/waiting.ts'
import { chunk, eventStream, events, startServer, textEvents } from './local-server.ts'
import { hello } from './one-request.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** A part of a text in each API, and what keeps its stream alive. */
const apis: [provider: string, part: string, alive: string[]][] = [
  ['custom', events(chunk({ content: 'Hm' })), ['data: {"type":"ping"}\n\n', 'event: ping\ndata: {}\n\n']],
  [
    'responses-compatible',
    'data: {"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hm"}\n\n',
    ['event: keepalive\ndata: {"type":"keepalive","sequence_number":3}\n\n'],
  ],
  [
    'anthropic',
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hm"}}\n\n',
    ['event: ping\ndata: {"type":"ping"}\n\n', 'data: {"type":"ping"}\n\n'],
  ],
  ['google', 'data: {"candidates":[{"content":{"parts":[{"text":"Hm"}]}}]}\n\n', ['data: {"type":"heartbeat"}\n\n']],
]

/** A request to a server that answers with what `send` gets, and a clock. */
async function startStream(provider: string, settings: Partial<ModelSettings> = {}, request: Partial<ModelRequest> = {}) {
  const answer = Promise.withResolvers<ServerResponse>()
  const server = await startServer((response) => {
    eventStream(response).flushHeaders()
    answer.resolve(response)
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const baseURL = provider === 'google' ? new URL(server.baseURL).origin : server.baseURL
  const model = createModel({ provider, model: 'm', apiKey: 'k', baseURL, maxRetries: 0, ...settings })
  const outcome = model.generate({ messages: hello, ...request }).catch((error: unknown) => error)
  const response = await answer.promise
  return {
    outcome,
    /** Sends a text after a delay. */
    async send(text: string, afterMs: number) {
      await turnEventLoop(20)
      vi.advanceTimersByTime(afterMs)
      response.write(text)
      await turnEventLoop(20)
    },
    async [Symbol.asyncDispose]() {
      vi.useRealTimers()
      response.destroy()
      await server[Symbol.asyncDispose]()
    },
  }
}

describe.each(apis)('a stream of %s that is only kept alive', (provider, part, alive) => {
  it.each([': still here\n\n', '\n', ...alive])('F20 by %j ends after ten minutes without an event, and may be retried', async (text) => {
    await using stream = await startStream(provider)
    await stream.send(part, 50_000)
    for (let minutes = 0; minutes < 12; minutes++) await stream.send(text, 50_000)
    expect(await stream.outcome).toMatchObject({
      code: 'stream_idle',
      retryable: true,
      message: expect.stringContaining('no part of one for 600000 ms'),
      partial: { text: 'Hm' },
    })
  })

  it('F20 continues as long as events arrive', async () => {
    await using stream = await startStream(provider)
    for (let minutes = 0; minutes < 30; minutes++) await stream.send(minutes % 10 === 9 ? part : ': still here\n\n', 55_000)
    expect(await Promise.race([stream.outcome, 'open'])).toBe('open')
  })

  it('F20 ends by the limit of the request, or of the settings', async () => {
    for (const [limit, settings, request] of [
      [2000, { streamStallTimeoutMs: 9000 }, { streamStallTimeoutMs: 2000 }],
      [3000, { streamStallTimeoutMs: 3000 }, {}],
    ] as const) {
      await using stream = await startStream(provider, settings, request)
      await stream.send(': still here\n\n', limit - 1)
      await stream.send(': still here\n\n', 1)
      expect(await stream.outcome).toMatchObject({ code: 'stream_idle', message: expect.stringContaining(`for ${limit} ms, but comments`) })
    }
  })
})

describe('streamStallTimeoutMs', () => {
  it('F20 applies to a response without a stream of which only white space arrives', async () => {
    await using stream = await startStream('custom', { streamStallTimeoutMs: 5000 }, { stream: false })
    for (let seconds = 0; seconds < 5; seconds++) await stream.send('\n', 1000)
    expect(await stream.outcome).toMatchObject({ code: 'stream_idle', retryable: true })
  })

  it('F20 is an option of a run, whose request is retried', async () => {
    const begun = Promise.withResolvers<ServerResponse>()
    await using server = await startServer((response, _request, index) => {
      if (index > 0) eventStream(response).end(textEvents('done'))
      else {
        eventStream(response).flushHeaders()
        begun.resolve(response)
      }
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const model = { provider: 'custom', model: 'm', apiKey: 'k', baseURL: server.baseURL, maxRetryDelayMs: 0 }
    const running = new AgentRunner({ model, logger: recordingLogger().logger, streamStallTimeoutMs: 1000 }).run('go')
    const response = await begun.promise
    for (let pieces = 0; pieces < 4; pieces++) {
      response.write(': still here\n\n')
      await turnEventLoop(20)
      await vi.advanceTimersByTimeAsync(251)
    }
    await vi.advanceTimersByTimeAsync(1)
    expect(await running).toMatchObject({ stopReason: 'answered', output: 'done', steps: [{ retries: 1 }] })
    expect(await timersLeft()).toBe(0)
  })

  it('F20 must be a number of milliseconds above 0', () => {
    expect(() => createModel({ provider: 'custom', model: 'm', baseURL: 'http://x', streamStallTimeoutMs: 0 })).toThrow(
      'streamStallTimeoutMs',
    )
    expect(() => new AgentRunner({ model: 'demo', streamStallTimeoutMs: -1 })).toThrow('streamStallTimeoutMs')
  })
})
