import { AgentRunner, defineTool } from '../../src/index.ts'

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  effect: 'read',
  execute: ({ city }) => ({ city, sky: 'clear', celsius: 21 }),
})

const runner = new AgentRunner({ model: process.env.MODEL ?? 'demo', tools: [weather] })
runner.on('TOOL_CALL_END', ({ tool, result }) => console.log(`${tool}: ${result}`))

const { output, stopReason } = await runner.run('call weather with {"city": "Oslo"}')
console.log(stopReason, output)
