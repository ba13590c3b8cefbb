import { AgentRunner, RunError } from '../../src/index.ts'
import { startMockProvider } from '../../src/testing/index.ts'

const provider = await startMockProvider({ script: [], faults: { status: 401 } })
const runner = new AgentRunner({ model: { provider: 'custom', model: 'm', baseURL: provider.baseURL } })

try {
  for await (const text of runner.stream('Hello').text) process.stdout.write(text)
} catch (error) {
  if (!(error instanceof RunError)) throw error
  console.log(error.code, error.result.stopReason, error.result.usage.totalTokens)
}
await provider.close()
