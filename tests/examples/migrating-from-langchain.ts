import { tool } from 'langchain'
import { z } from 'zod'
import { fromLangChainTools } from '../../src/backends/index.ts'
import { AgentRunner } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

// An existing LangChain tool.
const weather = tool(async ({ city }) => `sunny in ${city}`, {
  name: 'weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
})

// const agent = createAgent({ model: 'openai:gpt-6.1-sol', tools: [weather], systemPrompt: 'Be brief.' })
const model = scriptedModel([
  { toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }], usage: { inputTokens: 8, outputTokens: 2 } },
  { text: 'It is sunny in Oslo.', usage: { inputTokens: 4, outputTokens: 1 } },
])
const runner = new AgentRunner({ model, tools: await fromLangChainTools([weather]), instructions: 'Be brief.' })
runner.on('TOOL_CALL_START', ({ tool, args }) => process.stdout.write(`${tool} ${JSON.stringify(args)}`))
runner.on('TOOL_CALL_END', ({ result }) => console.log(` → ${result}`))

// const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'How is the weather?' }] })
const { stopReason, output, usage } = await runner.run('How is the weather?')
console.log(stopReason, output, usage.totalTokens)
