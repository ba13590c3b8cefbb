import { AgentRunner } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

// The runner's options are the defaults of its runs.
const runner = new AgentRunner({ model: 'demo', tools: builtinTools(), maxIterations: 10, limits: { toolCalls: 20, deadlineMs: 60_000 } })

// A run overrides them. Limits are merged one by one: 20 tool calls still apply.
const { stopReason, output } = await runner.run('What is 17 * 23?', { maxIterations: 3, limits: { deadlineMs: 5_000 } })
console.log(stopReason, output)
