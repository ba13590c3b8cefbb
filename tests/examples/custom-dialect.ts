import { type Dialect, findDialect } from '../../src/dialects/index.ts'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

// A model family that writes calls as Hermes does, but needs a prompt in its own language.
const hermes = findDialect('hermes')
const dialect: Dialect = { ...hermes, name: 'hermes-de', prompt: (tools) => `Du hast Werkzeuge.\n${hermes.prompt(tools)}` }

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})
const model = scriptedModel(['<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>', 'Es sind 5.'])
const { output, toolCalls } = await new AgentRunner({ model, tools: [add], toolCalling: dialect }).run('2 + 3?')
console.log(toolCalls[0]?.content, output)
