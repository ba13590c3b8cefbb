import type { RunResult } from '../../agent/types/options.ts'
import type { StopReason } from '../../core/events.ts'
import type { ToolCall } from '../../core/messages.ts'
import { HttpProblem, problemOfRun } from '../http/problem.ts'

/** The reasons for an incomplete answer, with the names that OpenAI's clients know. */
export type Shortfall = 'length' | 'content_filter'

/** Whether the client must run calls. */
export function needsClient({ pending }: RunResult): boolean {
  return pending.some(({ kind }) => kind === 'client_tool')
}

/** Returns the calls that the client must run. Arguments that needed no correction are returned as the model wrote them. */
export function clientCalls({ pending, toolCalls }: RunResult): ToolCall[] {
  const made = new Map(toolCalls.map((call) => [call.id, call]))
  return pending
    .filter(({ kind }) => kind === 'client_tool')
    .map(({ toolCallId, tool, args }) => {
      const call = made.get(toolCallId)
      const written = call?.repairs === undefined ? call?.rawArguments : undefined
      return { id: toolCallId, type: 'function', function: { name: tool, arguments: written || JSON.stringify(args) } }
    })
}

/** Maximum number of tools that a preview note names. */
const mostNamed = 20

/**
 * Returns a note to append to the answer of a preview. It names the calls that the run would make. The client can't decide on these calls,
 * because the run has ended.
 */
export function previewNote({ pending }: RunResult): string | undefined {
  const noted = new Map<string, number>()
  for (const { tool, plan } of pending) if (plan !== undefined) noted.set(tool, (noted.get(tool) ?? 0) + 1)
  if (noted.size === 0) return undefined
  const named = [...noted].slice(0, mostNamed).map(([tool, calls]) => (calls === 1 ? tool : `${tool} (${calls} calls)`))
  const more = noted.size > mostNamed ? ', …' : ''
  return `This was a preview: nothing was done. It would call: ${named.join(', ')}${more}. To decide on the calls, start the run with POST /v1/runs.`
}

/** Returns the reason why the run has no answer, or undefined if it has an answer. */
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

/** Returns the reason why an answer is incomplete. Returns undefined if the answer is complete, or if the client must run calls. */
export function shortfallIn(result: RunResult): Shortfall | undefined {
  return needsClient(result) ? undefined : shortfalls[result.stopReason]
}
