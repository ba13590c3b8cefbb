import { messageOf } from '../../core/errors.ts'
import type { ChatMessage } from '../../core/messages.ts'
import type { ToolChoice } from '../../models/chat-model.ts'
import type { Durable } from '../durable/journal.ts'
import type { LiveRun } from '../run/run-context.ts'
import { askModel, type Turn } from '../turn/turn.ts'
import { type Compaction, earlierSummary, newlyLeftOut, planCompaction, sizeOf } from './compaction.ts'
import type { History } from './history.ts'

/** How much of the tokens there may be is left after a compaction: the more goes at once, the longer a provider's cache is good for the rest. */
const leftOver = 0.6
/** How much of a model's context window the conversation may take: the rest is for tools and the response. */
const usable = 0.75

/**
 * Asks the model. With `compaction`, the conversation is made to fit before, when it is estimated to be too long; and when the provider
 * says that it is too long all the same, it is cut further and the model asked once more.
 */
export async function askWithinWindow(
  durable: Durable,
  run: LiveRun,
  history: History,
  iteration: number,
  toolChoice?: ToolChoice,
): Promise<Turn> {
  const { compaction } = run.settings
  if (compaction === undefined) return askModel(durable, run, history, iteration, toolChoice)
  const { estimate, maxTokens = await mostTokens(durable, run, iteration) } = compaction
  const size = sizeOf(history.messages, estimate)
  const key = toolChoice === undefined ? `${iteration}.compact` : `${iteration}.compact-answer`
  if (size > maxTokens) await compact(durable, run, history, key, maxTokens * leftOver)
  const turn = await askModel(durable, run, history, iteration, toolChoice)
  if (turn.kind !== 'failed' || turn.error.code !== 'context_overflow') return turn
  const isShorter = await compact(durable, run, history, `${key}.further`, sizeOf(history.messages, estimate) * leftOver)
  return isShorter ? askModel(durable, run, history, iteration, toolChoice, 2) : turn
}

/** Recorded: the model may be another one when the run is taken up again, and what follows depends on it. */
async function mostTokens(durable: Durable, run: LiveRun, iteration: number): Promise<number> {
  const contextWindow = await durable.step(`${iteration}.window`, async () => run.model.capabilities.contextWindow ?? null)
  return contextWindow === null ? Number.POSITIVE_INFINITY : usable * contextWindow
}

/** Returns false when nothing more can be left out. */
async function compact(durable: Durable, run: LiveRun, history: History, key: string, tokens: number): Promise<boolean> {
  const { estimate } = run.settings.compaction ?? {}
  const before = history.compaction
  const next = await durable.step(key, async () => {
    const plan = planCompaction(history.whole, before, { tokens, ...(estimate === undefined ? {} : { estimate }) })
    return plan.from === before.from ? plan : withSummary(run, plan, newlyLeftOut(history.whole, before, plan))
  })
  if (next.from === before.from && next.shortenBefore === before.shortenBefore) return false
  history.compact(next)
  return true
}

/** A summary that fails is done without: the run goes on. */
async function withSummary(run: LiveRun, plan: Compaction, leftOut: readonly ChatMessage[]): Promise<Compaction> {
  const { summarise } = run.settings.compaction ?? {}
  let summary: string | undefined
  try {
    summary = summarise && (await run.untilInterrupted(Promise.resolve(summarise(leftOut, { signal: run.signal }))))
  } catch (error) {
    run.logger.error({ runId: run.runId, error: messageOf(error) }, 'the summary of earlier messages failed; they are left out without one')
  }
  const told = summary ?? earlierSummary(leftOut)
  return told === undefined ? plan : { ...plan, summary: told }
}
