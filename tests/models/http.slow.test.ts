import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { eventStream, startServer, textEvents } from './local-server.ts'
import { hello, secret } from './one-request.ts'

const modelAt = (baseURL: string, settings: Partial<ModelSettings> = {}) =>
  createModel({ provider: 'custom', model: 'm', apiKey: secret, baseURL, maxRetries: 0, ...settings })

describe('connections', () => {
  it('handle 1,000 concurrent requests, and then the next 1,000', async () => {
    await using server = await startServer((response, { text }) => eventStream(response).end(textEvents(String(text.length))))
    const model = modelAt(server.baseURL)
    const round = () => Promise.all(Array.from({ length: 1000 }, () => model.generate({ messages: hello })))
    for (const answers of [await round(), await round()]) expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(server.requests).toHaveLength(2000)
    expect(server.sockets.size).toBeLessThanOrEqual(1000)
  })
})
