import { AgentRunner, switchableModel } from '../../src/index.ts'
import { scriptedModel, startMockProvider } from '../../src/testing/index.ts'

const down = await startMockProvider({ script: [], faults: { status: 503 } })
const first = { provider: 'custom', model: 'first', baseURL: down.baseURL, maxRetries: 0 }

// If a model fails before it has produced output, the next one takes over.
const { output, steps } = await new AgentRunner({ models: [first, scriptedModel(['The second answers.'])] }).run('Hello')
console.log(output, steps[0]?.model)
await down.close()

// A model that can be replaced while runs are in flight, from the next turn.
const model = switchableModel(scriptedModel(['I am the old one.']))
const runner = new AgentRunner({ model })
console.log((await runner.run('Who are you?')).output)
model.switchTo(scriptedModel(['I am the new one.']))
console.log((await runner.run('Who are you?')).output)
