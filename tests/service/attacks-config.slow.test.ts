import { describe, expect, it } from 'vitest'
import { maxStallMs, measuredService, stallOf } from './measured-service.ts'
import { configFile, json } from './start-service.ts'

const put = (change: object) => ({
  method: 'PUT',
  body: JSON.stringify(change),
  headers: { 'content-type': 'application/json', 'if-match': '*' },
})

describe('no configuration of an admin blocks the others', () => {
  it('patterns that take for ever are refused, and block nobody', async () => {
    const { file } = await configFile('model: demo\n')
    const service = await measuredService({ configFile: file })
    const tooLong: [string, number][] = []
    for (const match of [
      '^(a+)+$',
      '^(a|a)*$',
      '^(a|aa)+$',
      '^a*a*a*a*a*a*a*a*$',
      '(a?){40}a{40}$',
      '((a*)*)*$',
      `^${'(?:a|aa)'.repeat(30)}b`,
    ]) {
      const providers = { x: { driver: 'demo', models: [{ match, contextWindow: 5 }] } }
      const model = { provider: 'x', model: `${'a'.repeat(60)}!` }
      const { stallMs } = await stallOf(service, async () => {
        const saved = await service.ask('/admin/api/config', put({ config: { model, providers } }))
        expect([match, saved.status]).toEqual([match, expect.toSatisfy((status: number) => [200, 422].includes(status))])
        await service.post('/admin/api/providers/test', { model, providers })
      })
      if (stallMs > maxStallMs) tooLong.push([match, stallMs])
    }
    expect(tooLong).toEqual([])
  })

  const many = <T>(count: number, value: (at: number) => T) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, value(at)]))

  it.each<[string, object]>([
    ['very many keys', { text: Array.from({ length: 60_000 }, (_, at) => `k${at}: 1\n`).join('') }],
    ['very many keys in the length there may be', { text: Array.from({ length: 20_000 }, (_, at) => `${at}:\n`).join('') }],
    ['very many keys in JSON', { config: many(60_000, () => 1) }],
    ['as many keys as JSON may have', { config: many(4_900, () => 1) }],
    ['very many models', { config: { models: many(1_200, (at) => ({ provider: 'demo', model: 'm', temperature: at })) } }],
    ['very many variables', { text: `instructions: ${Array.from({ length: 20_000 }, (_, at) => `\${V${at}}`).join('')}` }],
    ['as many variables as there may be', { text: `instructions: ${Array.from({ length: 1_000 }, (_, at) => `\${V${at}}`).join('')}` }],
    ['keys that are mappings in each other', { text: `${'? '.repeat(3_000)}a` }],
    ['very many unknown tags', { text: `a: [${'!x 1,'.repeat(30_000)}]` }],
    ['very many faults', { text: `a: 1\n${'}'.repeat(190_000)}` }],
  ])('a configuration that takes for ever to read is refused, and blocks nobody: %s', async (_, change) => {
    const { file } = await configFile('model: demo\n')
    const service = await measuredService({ configFile: file })
    const { value: saved, stallMs } = await stallOf(service, async () => {
      const response = await service.ask('/admin/api/config', put(change))
      return { ...(await json(response)), status: response.status }
    })
    expect([saved.status, saved.error.code]).toEqual(saved.status === 400 ? [400, 'invalid_request'] : [422, 'invalid_config'])
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('one of the maximum size blocks nobody either', async () => {
    const { file } = await configFile('model: demo\n')
    const service = await measuredService({ configFile: file })
    const models = Array.from({ length: 1_600 }, (_, at) => ({ match: `^a${at}`, contextWindow: 5 }))
    const { value: status, stallMs } = await stallOf(service, async () => {
      const saved = await service.ask('/admin/api/config', put({ config: { model: 'demo', providers: { x: { driver: 'demo', models } } } }))
      await (await service.ask('/admin/api/config')).text()
      return saved.status
    })
    expect(status).toBe(200)
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })
})
