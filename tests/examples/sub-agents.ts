import { AgentRunner, asTool, defineTool, handoff } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const search = defineTool({ name: 'search', description: 'Searches.', execute: () => 'The bridge is 2,460 m long.' })
const usage = { inputTokens: 100, outputTokens: 20 }

// An agent as a tool: it gets a task, and its answer is the result of the call.
const researcher = new AgentRunner({
  model: scriptedModel([
    { toolCalls: [{ name: 'search' }], usage },
    { text: '2,460 meters.', usage },
  ]),
  tools: [search],
})
// An agent that takes over the conversation, with its own instructions and tools.
const billing = new AgentRunner({
  model: scriptedModel([{ text: 'I am billing. You owe nothing.', usage }]),
  instructions: 'You answer questions about bills.',
})

const desk = new AgentRunner({
  model: scriptedModel([
    { toolCalls: [{ name: 'research', args: { task: 'How long is the bridge?' } }], usage },
    { toolCalls: [{ name: 'hand_off_to_billing' }], usage },
  ]),
  tools: [
    asTool(researcher, { name: 'research', description: 'Finds things out.', effect: 'read' }),
    handoff(billing, { name: 'billing', description: 'Knows the bills.' }),
  ],
  // For all three agents together.
  limits: { tokens: 10_000, deadlineMs: 60_000 },
})
const result = await desk.run('How long is the bridge, and what do I owe?')
console.log(result.toolCalls[0]?.content, result.toolCalls[0]?.nested?.usage.totalTokens)
console.log(result.output, result.agent, result.usage.totalTokens)
