import { setImmediate } from 'node:timers/promises'
import type { ApprovalDecision, ApprovalRequest, RunnerOptions } from '../../agent/types.ts'
import type { JsonObject } from '../../core/messages.ts'
import { type Ask, askOnTerminal } from './ask-on-terminal.ts'
import { plural } from './render.ts'
import { isOnTerminal, type Terminal } from './terminal.ts'
import { isReordered, visible, wrap } from './visible.ts'

/** What may stand around a call on the line that asks for it. */
const questionCells = 40
/** Rows of a screen that are not for a page of arguments: the question, and where the cursor goes behind it. */
const otherRows = 3

/**
 * How calls that need an approval are decided: all granted with `--yes`; on a terminal whoever sits there is asked, one call after the
 * other, and sees every character of the arguments that the call will run with; otherwise undefined, so that the run ends paused.
 */
export function createApprove(terminal: Terminal, yes: boolean | undefined, ask: Ask = askOnTerminal(terminal)): RunnerOptions['approve'] {
  if (yes) return () => true
  if (!isOnTerminal(terminal.io)) return undefined
  let last: Promise<unknown> = Promise.resolve()
  const always = new Set<string>()
  return (request) => {
    const decision = last.then(() => always.has(request.tool) || decide(request, terminal, ask, always))
    last = decision.catch(() => {})
    return decision
  }
}

/** `always` has the tools whose calls are approved from now on, unseen. */
async function decide(
  { tool, args, signal }: ApprovalRequest,
  terminal: Terminal,
  ask: Ask,
  always: Set<string>,
): Promise<ApprovalDecision> {
  // What the model said comes first: it is on its way to the screen while the call is being prepared.
  await setImmediate()
  terminal.waitFor(undefined)
  terminal.startLine()
  const { columns = 80, rows = 24 } = terminal.io.stderr
  const short = visible(asJson(args))
  const fits = short.length + tool.length + questionCells <= columns && !isReordered(short)
  if (!fits) {
    terminal.note(terminal.paint('yellow', `${tool} is called with:`))
    const lines = asJson(args, 2).split('\n').map(visible).join('\n')
    const refusal = await showInPages(wrap(lines, Math.max(1, columns - 1)), Math.max(1, rows - otherRows), terminal, (question) =>
      ask(`${terminal.paint('yellow', question)} `, signal),
    )
    if (refusal !== undefined) return refused(refusal)
  }
  const answer = await ask(`${terminal.paint('yellow', fits ? `run ${tool} ${short}?` : `run ${tool}?`)} [y/N/always, or why not] `, signal)
  if (/^\s*always\s*$/i.test(answer)) always.add(tool)
  return always.has(tool) || /^\s*y(es)?\s*$/i.test(answer) ? true : refused(answer)
}

/** Shows all arguments, a screenful at a time, before they can be approved. Resolves with an answer that is neither Enter nor yes. */
async function showInPages(
  lines: readonly string[],
  size: number,
  terminal: Terminal,
  ask: (question: string) => Promise<string>,
): Promise<string | undefined> {
  for (let shown = 0; ; ) {
    const page = lines.slice(shown, shown + size)
    for (const line of page) terminal.note(line)
    shown += page.length
    if (shown >= lines.length) return undefined
    const answer = await ask(`${plural(lines.length - shown, 'more line')} of arguments: Enter shows them, or why not:`)
    // A yes to arguments that were not shown yet doesn't count.
    if (!/^\s*(y(es)?)?\s*$/i.test(answer)) return answer
  }
}

function refused(answer: string): ApprovalDecision {
  return /^\s*(no?)?\s*$/i.test(answer) ? { approved: false } : { approved: false, reason: answer.trim() }
}

/** Numbers that JSON has no word for would be shown as `null`, or as another number. */
function asJson(args: JsonObject, indent = 0): string {
  const asItIs = (_key: string, value: unknown) =>
    typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0)) ? `‹${Object.is(value, -0) ? '-0' : value}›` : value
  return JSON.stringify(args, asItIs, indent)
}
