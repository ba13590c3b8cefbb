import { describe, expect, it } from 'vitest'
import { TextPieces } from '../../src/core/text/text-pieces.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { maxStallMs, measuredService, stallOf } from './measured-service.ts'
import { openSocket } from './raw-http.ts'
import { allFrames, json, payTool, startService, token } from './start-service.ts'

const headers = { authorization: `Bearer ${token}`, connection: 'close' }

/** A connection that asks for something large and reads nothing of the answer. */
function askWithoutReading(url: string, path: string): void {
  const opened = openSocket(url)
  opened.socket.pause()
  const lines = Object.entries({ host: new URL(url).host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  opened.socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
}

describe('responses that nobody reads', () => {
  it('need neither memory nor time each, expire after a while, and are limited for each caller', async () => {
    const service = await measuredService()
    const { url, ask, post, measure } = service
    const run = await json(post('/v1/runs', { input: 'say x 3000000' }))
    expect(run.output).toHaveLength(3_000_000)
    const isAnswered = (status: number) => expect.poll(async () => (await ask(`/v1/runs/${run.id}`)).status).toBe(status)
    const askForMuch = async () => {
      for (let i = 0; i < 40; i++) {
        askWithoutReading(url, `/v1/runs/${run.id}/events`)
        askWithoutReading(url, `/v1/runs/${run.id}`)
      }
      await isAnswered(429)
    }
    const before = await measure()
    await askForMuch()
    const during = await measure()
    expect(during.heldMB - before.heldMB).toBeLessThan(100)
    // Nothing was taken from them: their connections are closed, and there is room again.
    await isAnswered(200)
    const { stallMs } = await stallOf(service, async () => {
      await askForMuch()
      await isAnswered(200)
    })
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('are refused before any work is done, and not after that', async () => {
    const { tool, paid } = payTool()
    const filler = 'x'.repeat(200_000)
    const pause = { chunks: [filler], toolCalls: [{ name: 'pay', arguments: { euros: 5 } }] }
    const model = scriptedModel([filler, pause, pause, filler, filler, filler, filler, filler])
    const { service, ask } = await startService({ model, tools: [tool] })
    const send = (path: string, body?: object) =>
      service.fetch(
        new Request(`http://localhost${path}`, {
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        }),
      )
    const known = await json(send('/v1/runs', { input: 'say' }))
    const paused = await json(send('/v1/runs', { input: 'pay' }))
    const cancelled = await json(send('/v1/runs', { input: 'pay' }))
    const unread: Response[] = []
    const fill = async () => {
      for (;;) {
        const answer = await send(`/v1/runs/${known.id}`)
        if (answer.status === 429) return
        unread.push(answer)
      }
    }
    const bodies: [string, object][] = [
      ['/v1/runs', { input: 'say' }],
      ['/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content: 'say' }] }],
      ['/v1/responses', { model: 'toolloop', input: 'say' }],
      [`/v1/runs/${paused.id}/decisions`, { decisions: [{ ...paused.pending[0], approved: true }] }],
      [`/v1/runs/${cancelled.id}/cancel`, {}],
    ]
    for (const [path, body] of bodies) {
      await fill()
      const answer = await send(path, body)
      expect([path, answer.status]).toEqual([path, 200])
      await answer.body?.cancel()
    }
    expect(paid).toEqual([{ euros: 5 }])
    // Without any room, nothing is started.
    await fill()
    unread.push(await send('/v1/runs', { input: 'say' }))
    const asked = model.requests.length
    for (const [path, body] of bodies.slice(0, 4)) expect([path, (await send(path, body)).status]).toEqual([path, 429])
    expect(model.requests).toHaveLength(asked)
    await Promise.all(unread.map((answer) => answer.body?.cancel()))
    expect((await ask(`/v1/runs/${known.id}`)).status).toBe(200)
  })

  it('include continued conversations until their runs have ended', async () => {
    const hang = { text: 'a', hang: true }
    const model = scriptedModel([{ chunks: ['x'.repeat(7_000_000)] }, ...Array.from({ length: 4 }, () => hang), 'ok'])
    const { post } = await startService({ model })
    const { id } = await json(post('/v1/responses', { model: 'toolloop', input: 'say' }))
    const again = (stream: boolean) => post('/v1/responses', { model: 'toolloop', input: 'x', previous_response_id: id, stream })
    const asked = await Promise.all(Array.from({ length: 10 }, () => again(true)))
    expect(asked.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, ...Array.from({ length: 6 }, () => 429)])
    expect(model.requests).toHaveLength(5)
    await Promise.all(asked.map(({ body }) => body?.cancel()))
    await expect.poll(async () => (await again(false)).status).toBe(200)
  })

  it('are complete for a client that reads, whole or as events', async () => {
    const { ask, post } = await measuredService()
    const run = await json(post('/v1/runs', { input: 'say 😀 200000' }))
    expect(run.output).toBe('😀'.repeat(200_000))
    expect(await json(ask(`/v1/runs/${run.id}`))).toEqual(run)
    const frames = await allFrames(await ask(`/v1/runs/${run.id}/events`))
    expect(JSON.parse(frames.at(-1)?.data ?? '')).toEqual(run)
  })

  it('a text in pieces is the same text, with no character cut in two', () => {
    const parts = ['', 'a😀', '😀😀b', '', 'c']
    for (const most of [1, 2, 3, 100]) {
      const pieces = new TextPieces(parts)
      const taken: string[] = []
      while (!pieces.ended) taken.push(pieces.take(most))
      expect(taken.join('')).toBe(parts.join(''))
      if (most > 1) expect(taken.every((piece) => piece.isWellFormed())).toBe(true)
    }
  })
})
