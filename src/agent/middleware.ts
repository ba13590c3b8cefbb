import { keepAside } from './calls/keep-aside.ts'
import { answerByPlan, inLane, onlyNoted, runFunction, tellEnd } from './calls/tool-call.ts'
import { notTwice } from './calls/waiting/uncertain-calls.ts'
import type { Durable } from './journal/journal.ts'
import { budgetsOf, waitsForBudget } from './limits/budget.ts'
import { fitWindow } from './middleware/compact-when-full.ts'
import { holdText } from './middleware/guardrails/hold-text.ts'
import { checkCalls, checkResults } from './middleware/guardrails/tool-guardrails.ts'
import { standAroundRequest } from './middleware/hooks/around-model.ts'
import { standAroundFunction } from './middleware/hooks/around-tool.ts'
import { beforeModel } from './middleware/hooks/model-hooks.ts'
import { askAfterCall, askBeforeCall } from './middleware/hooks/tool-hooks.ts'
import { noteCall, noteCallOfAgent } from './middleware/preview.ts'
import { reviewReply } from './middleware/review.ts'
import { formatAnswer } from './middleware/structured-output/format-answer.ts'
import { waitForBudget, withinBudget } from './middleware/within-budget.ts'
import { findWrittenCalls } from './middleware/written-calls.ts'
import { measureCall, measureRequest } from './observe/telemetry.ts'
import type { RunContext } from './run/run-context.ts'
import { askOnceMore, readWrittenCalls, sendRequest, takeTurn } from './turn/model-turn.ts'
import type { AroundTurn, Layers } from './types/execution.ts'
import type { AroundModel } from './types/model-call.ts'
import type { PlanCall } from './types/plan.ts'
import type { AroundTool } from './types/running-call.ts'

/** Composes both lists for a run when it starts, and again after a handoff. */
export function composeLayers(run: RunContext, durable: Pick<Durable, 'survivesCrashes'>): Layers {
  const { agent } = run
  const { plan } = agent.callbacks
  const isReviewed = plan.replies.length > 0 || agent.output !== undefined || agent.guardrails.output.length > 0
  const planned = callPlan(run)
  return {
    takeTurn: compose(aroundTurns(run), takeTurn),
    askModel: compose(aroundRequests(run), sendRequest(run)),
    runCall: compose(aroundCalls(run, durable), runFunction(run)),
    takeResult: (given) => compose(aroundResults(run), given),
    changeTurn: plan.requests.length === 0 ? undefined : beforeModel(run),
    planCall: planned.length === 0 ? undefined : inOrder(planned),
    formatAnswer: agent.output === undefined ? undefined : formatAnswer(run),
    review: isReviewed ? reviewReply(run) : undefined,
  }
}

type Named<Layer> = [name: string, layer: Layer]

/** The entries that decide on a call before any call of its round runs, in order. Call limits and approvals are applied before them. */
export function callPlan(run: RunContext): Named<PlanCall>[] {
  const { callbacks, guardrails } = run.agent
  return there(
    callbacks.plan.calls.length > 0 && ['hooks and entries', askBeforeCall(run)],
    guardrails.call.length > 0 && ['guardrails: the call', checkCalls(run)],
  )
}

/** Wraps a turn, outermost first. These entries are outside the turn's step: they record steps of their own, and may wait for people. */
export function aroundTurns(run: RunContext): Named<AroundTurn>[] {
  const { compaction } = run.settings
  return there(
    compaction !== undefined && ['compaction', fitWindow(compaction)],
    budgetsOf(run).length > 0 && waitsForBudget(run) && ['wait for a budget', waitForBudget],
  )
}

/** Wraps a model request, outermost first. The model itself handles retries, fallback and rate limits. */
export function aroundRequests(run: RunContext): Named<AroundModel>[] {
  const { telemetry, recorder } = run
  const { callbacks, guardrails } = run.agent
  const { toolCalling } = run.settings
  const isWrapped = callbacks.around.requests.length > 0
  return there(
    telemetry !== undefined && ['telemetry', measureRequest(telemetry, run)],
    ['an empty response: once more', askOnceMore(run)],
    guardrails.output.length > 0 && ['text held for guardrails', holdText(run)],
    toolCalling !== 'native' && ['calls written as text', readWrittenCalls(run, findWrittenCalls(run))],
    isWrapped &&
      recorder !== undefined && ['recorder: what hooks answer', (next) => (call) => recorder.aroundHooks(run, call, () => next(call))],
    isWrapped && ['hooks and entries', standAroundRequest(run)],
    // Inside the hooks: a request that a hook sends itself must not wait for the budget that is reserved for the wrapped request.
    budgetsOf(run).length > 0 && ['within the budget', withinBudget(run)],
    recorder !== undefined && ['recorder', (next) => (call) => recorder.aroundRequest(run, call, (model) => next({ ...call, model }))],
  )
}

/** Wraps a tool's function, outermost first. */
export function aroundCalls(run: RunContext, { survivesCrashes }: Pick<Durable, 'survivesCrashes'>): Named<AroundTool>[] {
  const { telemetry, recorder } = run
  const { callbacks } = run.agent
  return there(
    ['only noted', onlyNoted(run, noteCall)],
    run.settings.effects === 'preview' && ['calls noted inside', noteCallOfAgent(run)],
    ['concurrency', inLane],
    telemetry !== undefined && ['telemetry', measureCall(telemetry)],
    ['events', tellEnd(run)],
    run.limits.largeResults !== undefined && ['long results', keepAside(run)],
    (survivesCrashes || run.mayHaveRunIn !== undefined) && ['may have run', notTwice(run)],
    ...aroundResults(run),
    callbacks.plan.calls.length > 0 && ['the plan’s result', answerByPlan(run)],
    callbacks.around.calls.length > 0 && ['hooks and entries', standAroundFunction(run)],
    recorder !== undefined && ['recorder', (next) => (call) => recorder.aroundCall(run, call, () => next(call))],
  )
}

/** Wraps the result of a call, no matter who carried the call out. Outermost first. */
function aroundResults(run: RunContext): Named<AroundTool>[] {
  const { callbacks, guardrails } = run.agent
  return there(
    guardrails.result.length > 0 && ['guardrails: the result', checkResults(run)],
    callbacks.around.results.length > 0 && ['hooks after the call', askAfterCall(run)],
  )
}

/** Asks the entries in order until one decides about the call. */
function inOrder(plan: readonly Named<PlanCall>[]): PlanCall {
  return async (planned) => {
    let call = planned
    for (const [, decide] of plan) if (call.end === undefined) call = await decide(call)
    return call
  }
}

function there<Layer>(...layers: (Named<Layer> | false)[]): Named<Layer>[] {
  return layers.filter((layer) => layer !== false)
}

function compose<Next>(layers: readonly Named<(next: Next) => Next>[], innermost: Next): Next {
  return layers.reduceRight((next, [, layer]) => layer(next), innermost)
}
