import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { createModel } from '../../src/models/create-model.ts'
import { limitedServer } from './limited-server.ts'

it('1,000 runs at once at a server that takes 50 requests a second: none fails, and at most 1.3 requests are made for each that is needed', async () => {
  await using server = await limitedServer(50)
  // As an application would: each run has a runner and a model of its own.
  const runs = Array.from({ length: 1_000 }, (_, index) => {
    const model = createModel({ provider: 'custom', model: 'm', baseURL: server.baseURL, rateLimits: { requestsPerMinute: 3_000 } })
    return new AgentRunner({ model }).run(`Hello ${index}`)
  })
  const results = await Promise.all(runs)
  expect(results.filter(({ stopReason }) => stopReason !== 'answered')).toEqual([])
  expect(server.requests.length).toBeLessThanOrEqual(1_300)
  expect(server.refused()).toBe(server.requests.length - 1_000)
})
