import { emptyRunView, lastText, reduceRun } from '../../src/core/runs/index.ts'
import { AgentRunner } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

const runner = new AgentRunner({ model: 'demo', tools: builtinTools() })

const view = emptyRunView()
for await (const event of runner.stream('How many files are there, and what is that times 2?')) {
  reduceRun(view, event)
  // Draw `view` here.
}

for (const { iteration, parts } of view.turns) {
  console.log(`turn ${iteration}`)
  for (const part of parts) if (part.type === 'call') console.log(`- ${part.call.tool}: ${part.call.outcome}, ${part.call.result}`)
}
console.log(`${view.stopReason}: ${lastText(view)}`)
