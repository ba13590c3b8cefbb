import { AgentRunner, ToolloopError } from '../../src/index.ts'
import { startMockProvider } from '../../src/testing/index.ts'

// The provider's fault: the run resolves, and the result has the error.
const down = await startMockProvider({ script: [], faults: { status: 503 } })
const runner = new AgentRunner({ model: { provider: 'custom', model: 'mock', baseURL: down.baseURL, maxRetries: 0 } })
const { stopReason, error } = await runner.run('Hello')
console.log(stopReason, error?.code, error?.fault)
await down.close()

// Your own mistake: it throws before anything is sent.
try {
  new AgentRunner({ model: 'demo', maxIterations: 0 })
} catch (error) {
  if (ToolloopError.isInstance(error)) console.log(`${error.code}: ${error.message}`)
}
