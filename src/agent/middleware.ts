import { keepAside } from './calls/keep-aside.ts'
import { answerByPlan, inLane, onlyNoted, runFunction, tellEnd } from './calls/tool-call.ts'
import { notTwice } from './calls/waiting/uncertain-calls.ts'
import type { Durable } from './journal/journal.ts'
import { budgetsOf, waitsForBudget } from './limits/budget.ts'
import { fitWindow } from './middleware/compact-when-full.ts'
import { checkText } from './middleware/guardrails/check-text.ts'
import { holdText } from './middleware/guardrails/hold-text.ts'
import { checkCalls, checkResults } from './middleware/guardrails/tool-guardrails.ts'
import { standAroundRequest } from './middleware/hooks/around-model.ts'
import { standAroundFunction } from './middleware/hooks/around-tool.ts'
import { askAfterReply, askBeforeRequest } from './middleware/hooks/model-hooks.ts'
import { askAfterCall, askBeforeCall } from './middleware/hooks/tool-hooks.ts'
import { noteCall, noteCallOfAgent } from './middleware/preview.ts'
import { checkAnswers } from './middleware/structured-output/check-answers.ts'
import { formatAnswer } from './middleware/structured-output/format-answer.ts'
import { readTextAnswer } from './middleware/structured-output/read-text-answer.ts'
import { unwrapAnswers } from './middleware/structured-output/unwrap-answers.ts'
import { waitForBudget, withinBudget } from './middleware/within-budget.ts'
import { findWrittenCalls } from './middleware/written-calls.ts'
import { measureCall, measureRequest } from './observe/telemetry.ts'
import type { RunContext } from './run/run-context.ts'
import { askOnceMore, readWrittenCalls, sendRequest, takeTurn } from './turn/model-turn.ts'
import type { AroundTurn, Layers } from './types/execution.ts'
import type { AroundModel } from './types/model-call.ts'
import type { CallInPlan, Decide, ReplyInPlan, RequestInPlan } from './types/plan.ts'
import type { AroundTool } from './types/running-call.ts'

/**
 * Composes the plans and wrappers of a run. An entry of a *plan* decides before a step. It may change or refuse what the step would do,
 * answer in its place, or ask a person. Its decision is recorded. An entry *around* a step wraps the step and calls `next`. Only entries
 * around a whole turn may wait for people.
 */
export function composeLayers(run: RunContext, durable: Pick<Durable, 'survivesCrashes'>): Layers {
  return {
    planRequest: inOrder(requestPlan(run)),
    planReply: inOrder(replyPlan(run)),
    planCall: inOrder(callPlan(run)),
    takeTurn: compose(aroundTurns(run), takeTurn),
    askModel: compose(aroundRequests(run), sendRequest(run)),
    runCall: compose(aroundCalls(run, durable), runFunction(run)),
    takeResult: (given) => compose(aroundResults(run), given),
  }
}

type Named<Layer> = [name: string, layer: Layer]

/** The entries that decide on the request of a turn before it is sent, in order. */
export function requestPlan(run: RunContext): Named<Decide<RequestInPlan>>[] {
  const { callbacks, output } = run.agent
  return there(
    callbacks.plan.requests.length > 0 && ['hooks and entries', askBeforeRequest(run)],
    output !== undefined && ['the answer’s schema', formatAnswer(run, output)],
  )
}

/** The entries that decide on a reply before it is recorded, in order. */
export function replyPlan(run: RunContext): Named<Decide<ReplyInPlan>>[] {
  const { callbacks, guardrails, output } = run.agent
  const isChecked = guardrails.output.length > 0
  return there(
    output !== undefined && ['answers unwrapped', unwrapAnswers(run, output)],
    callbacks.plan.replies.length > 0 && ['hooks', askAfterReply(run)],
    isChecked && ['guardrails: the text', checkText(run)],
    isChecked && output !== undefined && ['guardrails: answers', checkAnswers(run, output)],
    output !== undefined && ['the answer’s schema', readTextAnswer(run, output)],
  )
}

/** The entries that decide on a call, in order, before any call of the turn runs. Call limits and approvals are applied before them. */
export function callPlan(run: RunContext): Named<Decide<CallInPlan>>[] {
  const { callbacks, guardrails } = run.agent
  return there(
    callbacks.plan.calls.length > 0 && ['hooks and entries', askBeforeCall(run)],
    guardrails.call.length > 0 && ['guardrails: the call', checkCalls(run)],
  )
}

/** The entries that wrap a turn, outermost first. They record steps of their own, and may wait for people. */
export function aroundTurns(run: RunContext): Named<AroundTurn>[] {
  const { compaction } = run.settings
  return there(
    compaction !== undefined && ['compaction', fitWindow(compaction)],
    budgetsOf(run).length > 0 && waitsForBudget(run) && ['wait for a budget', waitForBudget],
  )
}

/** The entries that wrap a model request, outermost first. The model itself handles retries, fallback and rate limits. */
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
    // This entry is inside the hooks, because a request that a hook sends itself must not wait for the budget that is reserved for the
    // wrapped request.
    budgetsOf(run).length > 0 && ['within the budget', withinBudget(run)],
    recorder !== undefined && ['recorder', (next) => (call) => recorder.aroundRequest(run, call, (model) => next({ ...call, model }))],
  )
}

/** The entries that wrap a tool's function, outermost first. */
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

/** The entries that wrap the result of a call, outermost first. They also wrap results that the caller supplies. */
function aroundResults(run: RunContext): Named<AroundTool>[] {
  const { callbacks, guardrails } = run.agent
  return there(
    guardrails.result.length > 0 && ['guardrails: the result', checkResults(run)],
    callbacks.around.results.length > 0 && ['hooks after the call', askAfterCall(run)],
  )
}

/** Returns a function that asks the entries in order until one of them sets `end`. Undefined if there are no entries. */
function inOrder<Subject extends { readonly end?: unknown }>(plan: readonly Named<Decide<Subject>>[]): Decide<Subject> | undefined {
  if (plan.length === 0) return undefined
  return async (given) => {
    let subject = given
    for (const [, decide] of plan) if (subject.end === undefined) subject = await decide(subject)
    return subject
  }
}

function there<Layer>(...layers: (Named<Layer> | false)[]): Named<Layer>[] {
  return layers.filter((layer) => layer !== false)
}

function compose<Next>(layers: readonly Named<(next: Next) => Next>[], innermost: Next): Next {
  return layers.reduceRight((next, [, layer]) => layer(next), innermost)
}
