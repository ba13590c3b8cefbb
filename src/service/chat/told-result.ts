import type { RunResult } from '../../agent/types/options.ts'
import type { StopReason } from '../../core/events.ts'
import type { ToolCall } from '../../core/messages.ts'
import { HttpProblem, problemOfRun } from '../http/problem.ts'

/** How an answer is cut short, as OpenAI's clients know it. */
export type Shortfall = 'length' | 'content_filter'

/** Calls the client has to run, with the arguments as the model wrote them, unless they had to be put right. */
export function clientCalls({ pending, toolCalls }: RunResult): ToolCall[] {
  const made = new Map(toolCalls.map((call) => [call.id, call]))
  return pending
    .filter(({ kind }) => kind === 'client_tool')
    .map(({ toolCallId, tool, args }) => {
      const call = made.get(toolCallId)
      // What was put right in a call is not in what the model wrote.
      const written = call?.repairs === undefined ? call?.rawArguments : undefined
      return { id: toolCallId, type: 'function', function: { name: tool, arguments: written || JSON.stringify(args) } }
    })
}

/** Why there is no answer to tell. */
export function problemIn({ stopReason, error }: RunResult): HttpProblem | undefined {
  if (stopReason === 'aborted') return new HttpProblem(499, 'aborted', 'The run was aborted', { headers: { 'x-should-retry': 'false' } })
  if (stopReason === 'model_error' || (stopReason === 'stopped' && error !== undefined)) return problemOfRun(error)
  return undefined
}

const shortfalls: Partial<Record<StopReason, Shortfall>> = {
  truncated: 'length',
  max_iterations: 'length',
  budget: 'length',
  deadline: 'length',
  repeated_calls: 'length',
  refused: 'content_filter',
}

/** Undefined for an answer that is whole, and for calls of the client's tools. */
export function shortfallIn(result: RunResult): Shortfall | undefined {
  if (clientCalls(result).length > 0) return undefined
  return shortfalls[result.stopReason]
}
