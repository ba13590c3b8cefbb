import { AgentRunner, type RunnerOptions } from 'toolloop'
import { tools } from './tools.ts'

/** The model is MODEL, such as openai/gpt-6.1-sol or ollama/qwen3:8b. Without it, the demo model, which needs no key. */
export function createAgent(model: RunnerOptions['model'] = process.env.MODEL || 'demo'): AgentRunner {
  return new AgentRunner({
    model,
    tools,
    instructions: 'You help with dates and reminders. Look dates up with your tools instead of reckoning them.',
    maxIterations: 10,
    limits: { deadlineMs: 120_000 },
    // A real program would ask somebody here. Without `approve`, the run ends `paused`, and is continued with `resume`.
    approve: () => true,
  })
}
