import { askDecision, publishDecision, publishItem } from '../calls/waiting/ask-decision.ts'
import { fingerprintOf } from '../decisions/decisions.ts'
import { afterRaise, budgetPlace, iterationStep } from '../step-keys.ts'
import type { TakeTurn } from '../types/execution.ts'
import type { Unpaid } from '../types/recorded.ts'
import type { PendingItem } from '../types/result.ts'

/** Takes a turn as a step whose key ends with `suffix`. */
type TakeTurnAs = (...[execution, place, suffix]: [...Parameters<TakeTurn>, suffix?: string]) => ReturnType<TakeTurn>

/** Takes turns. If a budget does not allow one, waits until the budget has been raised, and takes the turn again. */
export function waitForBudget(takeTurn: TakeTurnAs): TakeTurnAs {
  return async (execution, place, suffix = '') => {
    const { durable, run } = execution
    for (let times = 1; ; times++) {
      const turn = await takeTurn(execution, place, afterRaise(suffix, times))
      if (turn.kind !== 'unpaid' || turn.isLimit) return turn
      const item = budgetItem(run.runId, budgetPlace(place.iteration, suffix, times), turn)
      await publishItem(execution, item)
      const verdict = await askDecision(execution, item)
      if (verdict !== undefined) await publishDecision(execution, { item, verdict })
      if (verdict === undefined) {
        const isOver = await durable.step(iterationStep(place.iteration, 'pause'), async () => run.interruption !== undefined)
        // An aborted run must not wait. The turn reports that when it is taken again.
        if (!isOver) return { ...turn, pending: [item] }
      } else if (!('approved' in verdict && verdict.approved)) return turn
    }
  }
}

function budgetItem(runId: string, place: string, { about }: Unpaid): PendingItem {
  const named = { toolCallId: place, tool: 'budget', args: {} }
  return { kind: 'budget', ...named, about, fingerprint: fingerprintOf(runId, named), place }
}
