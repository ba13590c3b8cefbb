import { AgentRunner } from '../../src/index.ts'
import { startMockProvider } from '../../src/testing/index.ts'

const provider = await startMockProvider({ script: () => ({ text: 'Hello!' }) })
const model = {
  provider: 'custom',
  model: 'm',
  baseURL: provider.baseURL,
  rateLimits: { concurrency: 2, requestsPerMinute: 3_000, tokensPerMinute: 200_000 },
}

// Independent runners share the limits.
const runs = Array.from({ length: 6 }, () => new AgentRunner({ model }).run('Hello'))
const results = await Promise.all(runs)
console.log(results.map(({ output }) => output).join(' '))
console.log(results.filter(({ steps }) => steps[0]?.waitedMs !== undefined).length, 'waited')
await provider.close()
