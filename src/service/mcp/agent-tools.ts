import { randomUUID } from 'node:crypto'
import { cutAnswerText } from '../../agent/run-texts.ts'
import type { RunResult } from '../../agent/types/options.ts'
import { Event } from '../../core/events.ts'
import { type AnyTool, defineTool, type ToolContext } from '../../tools/tool.ts'
import type { Agent } from '../agents/agent-host.ts'
import { refuseApproval } from '../agents/refuse-approval.ts'
import type { Caller } from '../http/auth.ts'
import type { RunStore } from '../runs/run-store.ts'

/** Maximum length of a tool's name. */
const maxNameLength = 60

/** Creates a tool that runs an agent. The runs belong to the caller, have the service's limits, and are visible to administrators. */
export function agentTool({ name }: Agent, caller: Caller, runs: RunStore): AnyTool {
  return defineTool({
    name: agentToolName(name),
    description: `Gives a task to the agent \`${name}\`, which works on it by itself, and returns its answer.`,
    parameters: {
      type: 'object',
      properties: { task: { type: 'string', description: 'The task, with everything the agent has to know: it sees nothing else.' } },
      required: ['task'],
      additionalProperties: false,
    },
    // The tool has no time limit of its own, because the limits of runs apply.
    timeoutMs: Number.POSITIVE_INFINITY,
    execute: ({ task }, ctx) => runAgent(name, task, caller, runs, ctx),
  })
}

/** Returns the name of the tool that runs an agent. */
export function agentToolName(agent: string): string {
  return `ask_${agent.replace(/[^\w-]/g, '_').slice(0, maxNameLength)}`
}

/** Describes why a run has no complete answer. */
export function noAnswerText({
  stopReason,
  error,
  text = '',
}: {
  stopReason?: string
  error?: { message: string }
  text?: string
}): string {
  if (stopReason === 'truncated') return cutAnswerText('the agent', text)
  return `The agent gave no answer: ${error?.message ?? stopReason ?? 'its run was lost'}.`
}

/** Runs an agent and returns its answer. Rejects if the run has no answer. */
async function runAgent(agent: string, task: string, caller: Caller, runs: RunStore, ctx: ToolContext): Promise<string> {
  const over = Promise.withResolvers<RunResult | undefined>()
  const watcher = {
    event: (event: { type: string; tool?: unknown }) => {
      if (event.type === Event.TOOL_CALL_START && typeof event.tool === 'string') ctx.progress({ message: `calls ${event.tool}` })
    },
    over: over.resolve,
  }
  const order = {
    id: `run_${randomUUID()}`,
    caller,
    kind: 'chat' as const,
    agent,
    input: task,
    options: { context: ctx.context, approve: refuseApproval },
    clientTools: [],
  }
  const run = await runs.start(order, watcher)
  const leave = () => run.abort('the client has gone')
  ctx.signal.addEventListener('abort', leave, { once: true })
  try {
    if (ctx.signal.aborted) leave()
    const result = await over.promise
    if (result?.stopReason === 'answered' || (result?.stopReason === 'stopped' && result.error === undefined)) return result.text
    throw new Error(noAnswerText(result ?? {}))
  } finally {
    ctx.signal.removeEventListener('abort', leave)
  }
}
