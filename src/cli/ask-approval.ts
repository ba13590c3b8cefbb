import { createInterface } from 'node:readline/promises'
import { setImmediate } from 'node:timers/promises'
import type { ApprovalDecision, ApprovalRequest, RunnerOptions } from '../agent/run.ts'
import { EventRedactor } from '../service/runs/event-redactor.ts'
import type { AnyTool } from '../tools/tool.ts'
import { shorten, type Terminal, withoutControls } from './terminal.ts'

const mostArguments = 1_000

/**
 * How calls that need an approval are decided: all granted with `--yes`; on a terminal whoever sits there is asked, one call after the
 * other; otherwise undefined, so that the run ends paused.
 */
export function createApprove(
  terminal: Terminal,
  tools: readonly AnyTool[],
  yes: boolean | undefined,
  ask: Ask = askOnTerminal(terminal),
): RunnerOptions['approve'] {
  if (yes) return () => true
  if (!terminal.io.stdin.isTTY || !terminal.io.stderr.isTTY) return undefined
  const redactor = new EventRedactor(tools)
  let last: Promise<unknown> = Promise.resolve()
  return (request) => {
    const decision = last.then(() => decide(request, redactor, terminal, ask))
    last = decision.catch(() => {})
    return decision
  }
}

/** Asks one question; resolves with the answer. Rejects when `signal` is aborted. */
type Ask = (question: string, signal: AbortSignal) => Promise<string>

async function decide(
  { tool, args, signal }: ApprovalRequest,
  redactor: EventRedactor,
  terminal: Terminal,
  ask: Ask,
): Promise<ApprovalDecision> {
  // What the model said comes first: it is on its way to the screen while the call is being prepared.
  await setImmediate()
  terminal.waitFor(undefined)
  terminal.startLine()
  const shown = shorten(withoutControls(JSON.stringify(redactor.redactArguments(tool, args))), mostArguments)
  const answer = await ask(`${terminal.paint('yellow', `run ${tool} ${shown}?`)} [y/N, or why not] `, signal)
  if (/^\s*y(es)?\s*$/i.test(answer)) return true
  return /^\s*(no?)?\s*$/i.test(answer) ? { approved: false } : { approved: false, reason: answer.trim() }
}

function askOnTerminal({ io }: Terminal): Ask {
  return async (question, signal) => {
    const lines = createInterface({ input: io.stdin, output: io.stderr })
    // While it reads, readline gets the Ctrl-C in place of the process.
    lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    try {
      return await lines.question(question, { signal })
    } finally {
      lines.close()
    }
  }
}
