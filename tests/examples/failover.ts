import { AgentRunner, switchableModel } from '../../src/index.ts'
import { scriptedModel, startMockProvider } from '../../src/testing/index.ts'

const down = await startMockProvider({ script: [], faults: { status: 503 } })
const first = { provider: 'custom', model: 'first', baseURL: down.baseURL, maxRetries: 0 }

// The next model takes over when one fails before it has said anything.
const { output, steps } = await new AgentRunner({ models: [first, scriptedModel(['The second answers.'])] }).run('Hello')
console.log(output, steps[0]?.model)
await down.close()

// A model that is replaced while runs are in flight: from the next turn on.
const model = switchableModel(scriptedModel(['I am the old one.']))
const runner = new AgentRunner({ model })
console.log((await runner.run('Who are you?')).output)
model.switchTo(scriptedModel(['I am the new one.']))
console.log((await runner.run('Who are you?')).output)
