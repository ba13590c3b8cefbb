import type { PendingItem } from '../../../agent/types/options.ts'
import { editsIn } from '../../../core/text/text-edits.ts'
import { isReordered, visible } from '../../../core/text/visible.ts'
import { plural } from '../render.ts'
import type { Terminal } from '../terminal.ts'
import type { Asker } from './asker.ts'
import { asJson } from './shown-arguments.ts'

/** The number of rows for the heading of the plan, the question, and the cursor. */
const otherRows = 3
const answers = { y: '[y]es', n: '[N]o', o: '[o]ne by one' } as const

/**
 * Shows the plan of a preview as a numbered list, and asks whether to carry out all of it. Resolves with undefined if the person wants to
 * decide on each call, or if the plan doesn't fit on one screen.
 */
export async function askAboutPlan(
  items: readonly PendingItem[],
  { terminal, asker, signal }: { terminal: Terminal; asker: Asker; signal: AbortSignal },
): Promise<boolean | undefined> {
  const { rows = 24, columns = 80 } = terminal.io.stderr
  const isPlan = items.length > 1 && items.every(({ kind, plan }) => kind === 'approval' && plan !== undefined)
  const lines = items.map(lineOf)
  const fits = lines.length <= rows - otherRows && lines.every((line) => line !== undefined && line.length < columns)
  if (!isPlan || !fits) return undefined
  terminal.waitFor(undefined)
  terminal.startLine()
  terminal.note(terminal.paint('yellow', 'the plan:'))
  for (const line of lines) terminal.row(line ?? '')
  const answer = await asker.choose(terminal.paint('yellow', `carry out ${plural(items.length, 'call')}?`), answers, signal)
  return answer === 'o' ? undefined : answer === 'y'
}

/** Returns the line for a call of the plan. Returns undefined if one line can't show everything about the call. */
function lineOf({ tool, args, about, path = [], plan }: PendingItem): string | undefined {
  const shown = visible(asJson(args))
  if (about !== undefined || isReordered(shown) || editsIn(args).edits.length > 0) return undefined
  const agents = path.map(({ agent }) => `${visible(agent)} › `).join('')
  return `${plan?.at}. ${agents}${visible(tool)} ${shown}`
}
