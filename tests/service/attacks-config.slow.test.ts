import { describe, expect, it } from 'vitest'
import { looseMaxStallMs, measuredService } from './measured-service.ts'
import { configFile, json } from './start-service.ts'

const put = (change: object) => ({
  method: 'PUT',
  body: JSON.stringify(change),
  headers: { 'content-type': 'application/json', 'if-match': '*' },
})

describe('no configuration of an admin keeps the others waiting', () => {
  it('patterns that take for ever are refused, and keep nobody waiting', async () => {
    const { file } = await configFile('model: demo\n')
    const { ask, post, measure } = await measuredService({ configFile: file })
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
      const saved = await ask('/admin/api/config', put({ config: { model, providers } }))
      expect([match, saved.status]).toEqual([match, expect.toSatisfy((status: number) => [200, 422].includes(status))])
      await post('/admin/api/providers/test', { model, providers })
    }
    expect((await measure()).stallMs).toBeLessThan(looseMaxStallMs)
  })

  it.each([
    ['very many keys', { text: Array.from({ length: 60_000 }, (_, at) => `k${at}: 1\n`).join('') }],
    ['very many keys in the length there may be', { text: Array.from({ length: 20_000 }, (_, at) => `${at}:\n`).join('') }],
    ['very many keys in JSON', { config: Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, 1])) }],
    ['keys that are mappings in each other', { text: `${'? '.repeat(3_000)}a` }],
    ['very many unknown tags', { text: `a: [${'!x 1,'.repeat(30_000)}]` }],
    ['very many faults', { text: `a: 1\n${'}'.repeat(190_000)}` }],
  ])('a configuration that takes for ever to read is refused, and keeps nobody waiting: %s', async (_, change) => {
    const { file } = await configFile('model: demo\n')
    const { ask, measure } = await measuredService({ configFile: file })
    const saved = await ask('/admin/api/config', put(change))
    expect([saved.status, (await json(saved)).error.code]).toEqual([422, 'invalid_config'])
    expect((await measure()).stallMs).toBeLessThan(looseMaxStallMs)
  })
})
