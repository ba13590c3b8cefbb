import { AgentRunner, CustomAgent, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const count = defineTool({ name: 'count', description: 'Counts sheep.', execute: () => 12 })

/** An agent that gets a message while it runs. */
class Shepherd extends CustomAgent {
  constructor() {
    super({ model: scriptedModel([{ toolCalls: [{ name: 'count' }] }, 'Twelve sheep, and the dog is well.']), tools: [count] })
  }
}

const stream = new Shepherd().stream('Count the sheep.')
// Delivered between two steps. `useModel(…)` switches the model for the next turn, `stop()` ends the run after the current step.
stream.control.send('And look after the dog.')
for await (const event of stream) if (event.type === 'TOOL_CALL_END') console.log(event.tool, event.result)
const { output, messages } = await stream.result
console.log(output, messages.length)

// Any other agent can continue the conversation.
const next = await new AgentRunner({ model: scriptedModel(['Good.']) }).run('Thank you.', { messages })
console.log(next.messages.length)
