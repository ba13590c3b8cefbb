import { AgentRunner, Event } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

const runner = new AgentRunner({ model: 'demo', tools: builtinTools() })
const run = runner.stream('How many files are there, and what is that times 2?')

for await (const event of run) {
  if (event.type === Event.TEXT_DELTA) process.stdout.write(event.text)
  if (event.type === Event.TOOL_CALL_START) console.log(`→ ${event.tool}`, event.args)
  if (event.type === Event.TOOL_CALL_REJECTED) console.log(`✗ ${event.tool}: ${event.error}`)
}

const { stopReason, steps, usage } = await run.result
console.log(`\n${stopReason} after ${steps.length} requests, ${usage.totalTokens} tokens`)
