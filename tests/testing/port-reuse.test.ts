import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { startMockProvider } from '../../src/testing/mock-provider.ts'
import { closeServer } from '../close-server.ts'
import { startServer } from '../models/local-server.ts'

/** Listens on the port as soon as it is free. */
async function takePort(port: number) {
  for (;;) {
    const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => response.end('the next one'))
    const listening = await new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (listening) return server
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('a server that is closed', () => {
  it.each([
    ['the mock provider', async () => startMockProvider({ script: () => 'x' })],
    ['the local server', async () => startServer((response) => response.end('x'))],
  ])('%s: releases its port only when clients know that their connections are closed', async (_name, start) => {
    for (let i = 0; i < 10; i++) {
      const first = await start()
      const url = `${first.baseURL}/models`
      await (await fetch(url)).text()
      // The client now keeps its connection for the next request.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
      const closed = first[Symbol.asyncDispose]()
      const next = await takePort(Number(new URL(url).port))
      expect(await (await fetch(url)).text()).toBe('the next one')
      await closed
      await closeServer(next)
    }
  })
})
