import type { StopReason } from '../../core/events.ts'
import type { Execution } from '../types/execution.ts'
import type { Ending } from '../types/recorded.ts'

/** Warns of a limit that ends the run, or asks it for a last answer. */
export function logLimit({ run, state }: Execution, iteration: number, ending: Ending | undefined): void {
  const words = ending && limitWords[ending.stopReason]
  if (ending === undefined || words === undefined) return
  const { stopReason } = ending
  run.logger.warn({ runId: run.runId, stopReason, iterations: iteration, toolCalls: state.toolCalls.length }, words)
}

const limitWords: Partial<Record<StopReason, string>> = {
  truncated: 'run ended: the answer was cut off at a token limit',
  max_iterations: 'run ended: the iteration limit is reached and the model still calls tools',
  budget: 'run ended: a budget is used up',
  repeated_calls: 'run ended: the model repeats the same call',
}
