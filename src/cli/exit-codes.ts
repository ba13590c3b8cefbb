import type { RunResult } from '../agent/types/options.ts'
import type { StopReason } from '../core/events.ts'

export const EXIT_OK = 0
/** The command failed for a reason other than those below. */
export const EXIT_FAILED = 1
/** An option, tool module or configuration is invalid; nothing was sent. */
export const EXIT_USAGE = 2
/** A call waits for an approval, an answer or a result. */
export const EXIT_PAUSED = 8
/** A replayed run differs from its recording. */
export const EXIT_DIFFERS = 9
/** SIGINT or SIGTERM ended the command. As in shells, the code is 128 plus the signal's number. */
export const EXIT_SIGINT = 130
export const EXIT_SIGTERM = 143

const byStopReason: Record<StopReason, { code: number; help: string }> = {
  answered: { code: EXIT_OK, help: 'the model answered' },
  stopped: { code: EXIT_OK, help: "a tool's result was the answer" },
  truncated: { code: 10, help: 'the answer was cut off at a token limit' },
  max_iterations: { code: 3, help: 'the iteration limit was reached' },
  deadline: { code: 4, help: 'the deadline passed' },
  budget: { code: 4, help: 'a budget was used up' },
  model_error: { code: 5, help: 'the model failed' },
  refused: { code: 6, help: 'the model declined to answer' },
  repeated_calls: { code: 7, help: 'the model kept repeating the same call' },
  paused: { code: EXIT_PAUSED, help: 'a call waits for an approval, an answer or a result' },
  aborted: { code: EXIT_SIGINT, help: 'aborted by Ctrl-C (143: by SIGTERM)' },
}

export function exitCodeOf({ stopReason }: RunResult): number {
  return byStopReason[stopReason].code
}

export function describeExitCodes(): string {
  const meanings = new Map([
    [EXIT_OK, [] as string[]],
    [EXIT_FAILED, ['the command itself failed']],
    [EXIT_USAGE, ['invalid options, tools or configuration; nothing was sent']],
    [EXIT_DIFFERS, ['replay: the run differs from its recording']],
  ])
  for (const { code, help } of Object.values(byStopReason)) meanings.set(code, [...(meanings.get(code) ?? []), help])
  const inOrder = [...meanings].sort(([a], [b]) => a - b)
  return inOrder.map(([code, helps]) => `  ${String(code).padStart(3)}  ${helps.join('; ')}`).join('\n')
}
