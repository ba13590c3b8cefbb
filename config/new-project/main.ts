import { createAgent } from './agent.ts'

const agent = createAgent()
agent.on('TOOL_CALL_END', ({ tool, args, result }) => console.error(`${tool} ${JSON.stringify(args)}: ${result}`))

const prompt = process.argv.slice(2).join(' ') || 'call days_until with {"date": "2099-12-31"}'
const { output, stopReason, error } = await agent.run(prompt)
console.log(output)
if (stopReason !== 'answered') {
  console.error(`ended with ${stopReason}${error === undefined ? '' : `: ${error.message}`}`)
  process.exitCode = 1
}
