import { syncText } from '../../core/callbacks/callbacks.ts'
import { messageOf } from '../../core/errors.ts'
import { addUsage, type ChatMessage, type Usage } from '../../core/messages.ts'
import { estimateTokens } from '../../models/usage.ts'
import type { HookPlace } from '../callbacks/hooks.ts'
import { type Compaction, checkedEstimate, chooseCompaction, earlierSummary, newlyLeftOut, sizeOf } from '../conversation/compaction.ts'
import { placeOf, type RunContext } from '../run/run-context.ts'
import { addBeside } from '../run/run-state.ts'
import { afterOverflow, compactStep, iterationOf, iterationStep } from '../step-keys.ts'
import type { AroundTurn, Execution } from '../types/execution.ts'
import type { CompactionOptions } from '../types/options.ts'
import type { Beside, Turn } from '../types/recorded.ts'
import type { RunStep } from '../types/result.ts'

/**
 * The fraction of the available tokens that the conversation uses after a compaction. A lower value means fewer compactions, so a
 * provider's cache stays valid longer.
 */
const leftOver = 0.6
/** The fraction of a model's context window that the conversation may use. The rest is for tools and the response. */
const usable = 0.75

/**
 * Keeps the conversation within the model's context window. Before a turn, shortens a conversation that seems too long. If the provider
 * still rejects the conversation as too long, shortens it further and asks the model once more.
 */
export function fitWindow(given: CompactionOptions): AroundTurn {
  return (next) => async (execution, place) => {
    const { history } = execution.state
    const { iteration, lastTurn } = place
    const { maxTokens = await maxTokensOf(execution, iteration) } = given
    const estimate = failSafeEstimate(execution.run, given.estimate)
    const compaction = { ...given, estimate }
    const size = sizeOf(history.messages, estimate)
    const key = (isFurther: boolean) => compactStep(iteration, { isAnswer: lastTurn !== undefined, isFurther })
    if (size > maxTokens) await compact(execution, compaction, key(false), maxTokens * leftOver)
    const turn = await next(execution, place)
    if (turn.kind !== 'failed' || turn.error.code !== 'context_overflow' || turn.shown === 'for good') return turn
    const isShorter = await compact(execution, compaction, key(true), sizeOf(history.messages, estimate) * leftOver)
    return isShorter ? withSpent(await next(execution, { ...place, after: turn, suffix: afterOverflow }), turn.usage) : turn
  }
}

/**
 * Wraps the caller's `estimate` so that it never throws. If it fails, the tokens are estimated from the length of the message, and the
 * failure is logged once per turn.
 */
function failSafeEstimate(run: RunContext, given: CompactionOptions['estimate']): CompactionOptions['estimate'] {
  const estimate = checkedEstimate(given)
  if (estimate === undefined) return undefined
  let hasFailed = false
  return (message) => {
    try {
      return estimate(message)
    } catch (error) {
      const fields = { runId: run.runId, error: messageOf(error) }
      if (!hasFailed) run.logger.error(fields, '`compaction.estimate` failed; messages count by their length')
      hasFailed = true
      return estimateTokens(message)
    }
  }
}

/**
 * Adds to a turn the usage of the failed request that preceded it: a provider may charge for a request before it notices that the
 * conversation is too long.
 */
function withSpent(turn: Turn, usage: Usage | undefined): Turn {
  if (usage === undefined) return turn
  const withStep = (step: RunStep): RunStep => ({ ...step, usage: addUsage(usage, step.usage) })
  if (turn.kind === 'reply') return { ...turn, step: withStep(turn.step) }
  if (turn.kind === 'refused' && turn.step !== undefined) return { ...turn, step: withStep(turn.step) }
  if (turn.kind !== 'interrupted') return { ...turn, usage: addUsage(usage, turn.usage) }
  const { unasked: _, ...asked } = turn
  return { ...asked, usage: addUsage(usage, turn.usage) }
}

/** The limit derived from the model's context window. The window is recorded, because a resumed run may have another model. */
async function maxTokensOf({ durable, run }: Execution, iteration: number): Promise<number> {
  const contextWindow = await durable.step(
    iterationStep(iteration, 'window'),
    async () => run.agent.model.capabilities.contextWindow ?? null,
  )
  return contextWindow === null ? Number.POSITIVE_INFINITY : usable * contextWindow
}

/** Compacts the conversation to about `tokens`. Returns false if nothing more can be left out. */
async function compact({ durable, run, state }: Execution, options: CompactionOptions, key: string, tokens: number): Promise<boolean> {
  const { history } = state
  const { estimate } = options
  const before = history.compaction
  const { beside, ...next } = await durable.step(key, async (): Promise<Compaction & Beside> => {
    const chosen = chooseCompaction(history.whole, before, { tokens, estimate })
    if (chosen.from === before.from) return chosen
    const place = placeOf(run, iterationOf(key))
    const compaction = await withSummary(run, options, chosen, newlyLeftOut(history.whole, before, chosen), place)
    return { ...compaction, ...run.budget.beside }
  })
  addBeside(state, beside === undefined ? {} : { beside })
  if (next.from === before.from && next.shortenBefore === before.shortenBefore) return false
  history.compact(next)
  return true
}

/** Adds a summary to a compaction. If `summarise` fails, the run continues without a summary. */
async function withSummary(
  run: RunContext,
  { summarise }: CompactionOptions,
  chosen: Compaction,
  leftOut: readonly ChatMessage[],
  place: HookPlace<never>,
): Promise<Compaction> {
  let given: string | undefined
  try {
    const made = summarise && (await run.untilInterrupted(Promise.resolve(summarise(leftOut, place))))
    if (made !== undefined) given = syncText('summarise', made)
  } catch (error) {
    run.logger.error({ runId: run.runId, error: messageOf(error) }, 'the summary of earlier messages failed; they are left out without one')
  }
  const summary = given ?? earlierSummary(leftOut)
  return summary === undefined ? chosen : { ...chosen, summary }
}
