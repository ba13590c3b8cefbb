import { describe, expect, it } from 'vitest'
import { maxStallMs, measuredService, stallOf } from './measured-service.ts'
import { json } from './start-service.ts'

const manySecrets = JSON.stringify({ password: Array.from({ length: 29_000 }, (_, at) => `secret${at}`) })

/** A conversation as a client may send it, with one call and its result for each of `args`. */
function conversation(args: readonly string[]): object[] {
  return args.flatMap((json, at) => [
    { role: 'assistant', content: '', toolCalls: [{ id: `c${at}`, type: 'function', function: { name: 'echo', arguments: json } }] },
    { role: 'tool', toolCallId: `c${at}`, content: 'done' },
  ])
}

describe('what is to be hidden', () => {
  it('very many secrets in a client’s conversation keep nobody waiting', async () => {
    const service = await measuredService()
    const body = { messages: conversation([manySecrets]), input: 'hello' }
    const { value: run, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', body)))
    expect(run).toMatchObject({ status: 'done', output: 'ok' })
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('very many secrets in a call keep nobody waiting', async () => {
    const service = await measuredService()
    const { value: run, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', { input: `call pay ${manySecrets}` })))
    expect(run).toMatchObject({ status: 'paused' })
    expect(JSON.stringify(run)).not.toContain('secret1')
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('very many calls whose arguments are no JSON objects keep nobody waiting', async () => {
    const service = await measuredService()
    const messages = conversation(Array.from({ length: 3_000 }, (_, at) => `"argument ${at}"`))
    const { value: run, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', { messages, input: 'hello' })))
    expect(run).toMatchObject({ status: 'done', output: 'ok' })
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })
})
