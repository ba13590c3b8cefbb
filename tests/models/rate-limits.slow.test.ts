import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { createModel } from '../../src/models/create-model.ts'
import { limitedServer } from './limited-server.ts'

it('1,000 concurrent runs at a server that accepts 50 requests per second: none fails, with at most 1.3 requests per needed one', async () => {
  await using server = await limitedServer(50)
  // As in an application, each run has its own runner and model.
  const runs = Array.from({ length: 1_000 }, (_, index) => {
    const model = createModel({ provider: 'custom', model: 'm', baseURL: server.baseURL, rateLimits: { requestsPerMinute: 3_000 } })
    return new AgentRunner({ model }).run(`Hello ${index}`)
  })
  const results = await Promise.all(runs)
  expect(results.filter(({ stopReason }) => stopReason !== 'answered')).toEqual([])
  expect(server.requests.length).toBeLessThanOrEqual(1_300)
  expect(server.refused()).toBe(server.requests.length - 1_000)
})
