import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { resetGlobalDispatcher } from './global-dispatcher.ts'
import { startServer, textEvents } from './local-server.ts'
import { hello, secret } from './one-request.ts'

const modelAt = (baseURL: string, settings: Partial<ModelSettings> = {}) =>
  createModel({ provider: 'custom', model: 'm', apiKey: secret, baseURL, maxRetries: 0, ...settings })

afterEach(() => {
  vi.useRealTimers()
  resetGlobalDispatcher()
})

describe('a body', () => {
  it('that exceeds 256 MiB when decompressed is not a response', async () => {
    const piece = gzipSync(`: ${'x'.repeat(8189)}\n`.repeat(2 ** 11))
    await using server = await startServer((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      for (let i = 0; i < 17; i++) response.write(piece)
      response.end(gzipSync(textEvents('ok')))
    })
    await expect(modelAt(server.baseURL).generate({ messages: hello })).rejects.toMatchObject({ code: 'bad_response', retryable: false })
  })
})
