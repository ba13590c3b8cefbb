import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

it('an event of a stream costs the same, even if very many wait for a slow consumer', async () => {
  const costs: number[] = []
  for (const events of [50_000, 1_000_000]) {
    const model = scriptedModel([{ chunks: Array.from({ length: events }, () => 'x') }], { record: false })
    const stream = new AgentRunner({ model }).stream('go')
    const iterator = stream[Symbol.asyncIterator]()
    await stream.result
    const start = process.cpuUsage()
    for (let taken = 0; taken < events; taken++) await iterator.next()
    const { user, system } = process.cpuUsage(start)
    costs.push((user + system) / events)
    await iterator.return?.()
  }
  expect((costs[1] ?? 0) / (costs[0] ?? 0)).toBeLessThan(6)
})
