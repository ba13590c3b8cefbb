import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { configFile, startService, token } from './start-service.ts'

const bearer = { authorization: `Bearer ${token}` }

describe('limits', () => {
  it('stored runs keep nothing of their input but its beginning', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    // Remembers no request, as a scripted model does.
    const model = createModel('demo')
    const { service } = await startService({ model })
    const ask = async (content: string) => {
      const body = JSON.stringify({ model: 'toolloop', messages: [{ role: 'user', content }] })
      const headers = { ...bearer, 'content-type': 'application/json' }
      await (await service.fetch(new Request('http://localhost/v1/chat/completions', { method: 'POST', body, headers }))).text()
    }
    await ask('warm')
    collect()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 25; i++) await ask(`${i}${'x'.repeat(2_000_000)}`)
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    expect((process.memoryUsage().heapUsed - before) / 1e6).toBeLessThan(25)
  })

  it('a thousand idle streams cost next to nothing, and all end with a reason', { timeout: 30_000 }, async () => {
    const { file } = await configFile('service: { openStreams: 1001, requestsPerMinute: 5000 }\n')
    const { service } = await startService({ configFile: file, model: scriptedModel(['hi']) })
    const request = () => new Request('http://localhost/admin/api/feed', { headers: bearer })
    const readers = await Promise.all(Array.from({ length: 1_000 }, async () => (await service.fetch(request())).body?.getReader()))
    const before = process.memoryUsage().heapUsed
    const post = { method: 'POST', body: '{"input":"x"}', headers: { ...bearer, 'content-type': 'application/json' } }
    expect((await service.fetch(new Request('http://localhost/v1/runs', post))).status).toBe(200)
    const first = await Promise.all(readers.map(async (reader) => new TextDecoder().decode((await reader?.read())?.value)))
    expect(first.every((text) => text.includes('RUN_START'))).toBe(true)
    expect((process.memoryUsage().heapUsed - before) / 1_000).toBeLessThan(50_000)
    await service.drain(0)
    const last = await Promise.all(
      readers.map(async (reader) => {
        let text = ''
        for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read())
          text += new TextDecoder().decode(read.value)
        return text
      }),
    )
    expect(last.every((text) => text.includes('event: CLOSE\ndata: {"reason":"the service is shutting down"}'))).toBe(true)
  })
})
