import { expect, it } from 'vitest'
import type { RunEvent } from '../../src/core/events.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { startService } from './start-service.ts'

const script = () => scriptedModel(() => 'Hello.')

/** What the events of the last run say of it. */
async function told(start: (post: (path: string, body: unknown) => Promise<Response>) => Promise<Response>, agent = {}) {
  const { service, post } = await startService({ model: script(), agent })
  const seen: RunEvent['meta'][] = []
  service.bus.onAny((_name, _payload, meta) => void seen.push(meta))
  const { status } = await start(post)
  return { status, metadata: seen.map(({ metadata }) => metadata) }
}

const chat = { model: 'toolloop', messages: [{ role: 'user', content: 'Hi' }] }

it.each([
  ['/v1/runs', { input: 'Hi' }],
  ['/v1/chat/completions', chat],
])('`metadata` of %s is in every event of the run', async (path, body) => {
  const metadata = { ticket: 'T-17', tier: 'gold' }
  const { status, metadata: seen } = await told((post) => post(path, { ...body, metadata }))
  expect([status, seen.length > 3, new Set(seen.map((one) => JSON.stringify(one)))]).toEqual([
    200,
    true,
    new Set([JSON.stringify(metadata)]),
  ])
})

it('`metadata` of a request is added to that of the program, and replaces none of it', async () => {
  const { metadata } = await told((post) => post('/v1/runs', { input: 'Hi', metadata: { tenant: 'other', ticket: 'T-17' } }), {
    metadata: { tenant: 'mine' },
  })
  expect(metadata[0]).toEqual({ tenant: 'mine', ticket: 'T-17' })
})

it.each([
  ['/v1/runs', { input: 'Hi' }],
  ['/v1/chat/completions', chat],
])('`metadata` of %s is limited', async (path, body) => {
  const { post } = await startService({ model: script() })
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`key${n}`, 'x']))
  for (const metadata of ['x', [], many, { key: 'x'.repeat(513) }, { ['x'.repeat(65)]: 'y' }, { key: { deep: 1 } }])
    expect((await post(path, { ...body, metadata })).status).toBe(400)
})
