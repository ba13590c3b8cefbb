import type { AsyncLocalStorage } from 'node:async_hooks'
import type { Usage } from '../../core/messages.ts'
import { abortedError, type ChatModel, type ModelRequest } from '../../models/chat-model.ts'
import { estimateUsage, havingWaited, usageOfFailure, withCost } from '../../models/usage.ts'
import { askDecision, publishDecision, publishItem } from '../calls/waiting/verdict.ts'
import { fingerprintOf } from '../decisions/decisions.ts'
import { addAmounts, type Budget, type BudgetAmounts, BudgetSpentError, budgetsOf, type Reservation } from '../limits/budget.ts'
import type { RunContext } from '../run/run-context.ts'
import { afterRaise, budgetPlace, iterationStep } from '../step-keys.ts'
import type { AroundTurn } from '../types/execution.ts'
import type { AroundModel } from '../types/model-call.ts'
import type { Unpaid } from '../types/recorded.ts'
import type { PendingItem } from '../types/result.ts'

/** Sends a request if the run's limits and all its budgets allow it, and counts its usage. Otherwise rejects with `budget_spent`. */
export function withinBudget(run: RunContext): AroundModel {
  return (next) => async (call) => {
    const { model, request } = call
    const reserved: Reservation[] = []
    const held: Held = { amounts: new Map(), outer: requests().getStore() }
    let used: Usage | undefined
    try {
      for (const budget of budgetsOf(run)) {
        const reservation = await reserve(budget, estimate(budget, model, request), { run, model, held: heldOf(budget, held.outer) })
        reserved.push(reservation)
        held.amounts.set(budget, reservation.amount)
      }
      const response = await requests().run(held, () => next(call))
      used = response.usage && withCost(response.usage, model.capabilities)
      return reserved.reduce(havingWaited, response)
    } catch (error) {
      const usage = usageOfFailure(error)
      used = usage && withCost(usage, model.capabilities)
      throw error
    } finally {
      run.budget.countRequest(used)
      for (const reservation of reserved) reservation.settle(used)
      held.amounts.clear()
    }
  }
}

/** The amounts reserved for a request, and for the outer request that it belongs to. */
interface Held {
  readonly amounts: Map<Budget, BudgetAmounts>
  readonly outer: Held | undefined
}

let around: AsyncLocalStorage<Held> | undefined

/**
 * The reservations of the current request. A model's own code may start runs during a request. Such a run must not wait for the request's
 * reservations, because the request ends only after the run.
 */
function requests(): AsyncLocalStorage<Held> {
  around ??= new (process.getBuiltinModule('node:async_hooks').AsyncLocalStorage)()
  return around
}

function heldOf(budget: Budget, held: Held | undefined): BudgetAmounts {
  if (held === undefined) return { costUsd: 0, tokens: 0 }
  const outer = heldOf(budget, held.outer)
  const own = held.amounts.get(budget)
  return own === undefined ? outer : addAmounts(own, outer)
}

function estimate(budget: Budget, model: ChatModel, request: ModelRequest): BudgetAmounts {
  const { inputTokens } = estimateUsage(request, {})
  const outputTokens = budget.expectedOutput(request.maxOutputTokens)
  const tokens = inputTokens + outputTokens
  const { costUsd = 0 } = withCost({ inputTokens, outputTokens, totalTokens: tokens }, model.capabilities)
  return { costUsd, tokens }
}

async function reserve(
  budget: Budget,
  amount: BudgetAmounts,
  { run: { signal }, model, held }: { run: RunContext; model: ChatModel; held: BudgetAmounts },
): Promise<Reservation> {
  const reservation = await budget.reserve(amount, signal, held)
  if (reservation !== undefined) return reservation
  throw signal.aborted ? abortedError(model.provider, signal.reason) : new BudgetSpentError(budget)
}

/** Waits for a decision if a budget does not allow a turn's request. After an approval, repeats the turn. */
export const waitForBudget: AroundTurn = (next) => {
  return async (execution, place) => {
    const { durable, run } = execution
    const { suffix = '' } = place
    for (let times = 1; ; times++) {
      const turn = await next(execution, { ...place, suffix: afterRaise(suffix, times) })
      if (turn.kind !== 'unpaid' || turn.isLimit) return turn
      const item = budgetItem(run.runId, budgetPlace(place.iteration, suffix, times), turn)
      await publishItem(execution, item)
      const verdict = await askDecision(execution, item)
      if (verdict !== undefined) await publishDecision(execution, { item, verdict })
      if (verdict === undefined) {
        const isOver = await durable.step(iterationStep(place.iteration, 'pause'), async () => run.interruption !== undefined)
        // An aborted run must not wait. The repeated turn reports the abort.
        if (!isOver) return { ...turn, pending: [item] }
      } else if (!('approved' in verdict && verdict.approved)) return turn
    }
  }
}

function budgetItem(runId: string, place: string, { about }: Unpaid): PendingItem {
  const named = { toolCallId: place, tool: 'budget', args: {} }
  return { kind: 'budget', ...named, about, fingerprint: fingerprintOf(runId, named), place }
}
