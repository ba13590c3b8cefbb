import type { Usage } from '../../core/messages.ts'
import { abortedError, type ChatModel, type ModelRequest } from '../../models/chat-model.ts'
import { estimateUsage, havingWaited, usageOfFailure, withCost } from '../../models/usage.ts'
import { type Budget, BudgetSpentError, budgetsOf, type Reservation } from '../run/budget.ts'
import type { RunContext } from '../run/run-context.ts'
import type { AroundModel } from './model-call.ts'

/** Sends a request only if its estimate fits into every budget of the run, and takes what it has used from them. Rejects with `budget_spent`. */
export function withinBudget(run: RunContext): AroundModel {
  return (next) => async (call) => {
    const { model, request } = call
    const reserved: Reservation[] = []
    let used: Usage | undefined
    try {
      for (const budget of budgetsOf(run)) reserved.push(await reserve(budget, model, request, run))
      const response = await next(call)
      used = response.usage && withCost(response.usage, model.capabilities)
      return reserved.reduce(havingWaited, response)
    } catch (error) {
      const usage = usageOfFailure(error)
      used = usage && withCost(usage, model.capabilities)
      throw error
    } finally {
      for (const reservation of reserved) reservation.settle(used)
    }
  }
}

async function reserve(budget: Budget, model: ChatModel, request: ModelRequest, run: RunContext): Promise<Reservation> {
  const { inputTokens } = estimateUsage(request, {})
  const outputTokens = budget.expectedOutput(request.maxOutputTokens)
  const tokens = inputTokens + outputTokens
  const { costUsd = 0 } = withCost({ inputTokens, outputTokens, totalTokens: tokens }, model.capabilities)
  const reservation = await budget.reserve({ costUsd, tokens }, run.signal)
  if (reservation !== undefined) return reservation
  throw run.signal.aborted ? abortedError(model.provider, run.signal.reason) : new BudgetSpentError(budget)
}
