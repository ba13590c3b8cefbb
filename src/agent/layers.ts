import type { AroundTool } from './calls/running-call.ts'
import { inLane, runFunction, tellEnd } from './calls/tool-call.ts'
import { fitWindow } from './conversation/compact-when-full.ts'
import { leavesOut } from './conversation/compaction.ts'
import { waitForBudget } from './decisions/raise-budget.ts'
import { notTwice } from './decisions/uncertain-calls.ts'
import { standAroundRequest } from './hooks/around-model.ts'
import { standAroundFunction } from './hooks/around-tool.ts'
import { hasGuardrail } from './hooks/guardrails.ts'
import { holdText } from './hooks/hold-text.ts'
import { hasHook } from './hooks/hooks.ts'
import { beforeModel } from './hooks/model-hooks.ts'
import { checkCalls, checkResults } from './hooks/tool-guardrails.ts'
import { aroundToolWithHooks } from './hooks/tool-hooks.ts'
import { keepAside } from './large-results/keep-aside.ts'
import { budgetsOf, waitsForBudget } from './limits/budget.ts'
import { recordAnswers, recordCalls, recordRequests } from './observe/recorder.ts'
import type { PieceTimes, RunTelemetry } from './observe/telemetry.ts'
import { formatAnswer } from './output/format-answer.ts'
import type { Layers } from './run/execution.ts'
import type { RunContext } from './run/run-context.ts'
import { findWrittenCalls } from './text-calls/around-model.ts'
import { askOnceMore, readWrittenCalls, requestOf, sendRequest } from './turn/ask-model.ts'
import type { AroundModel } from './turn/model-call.ts'
import { takeTurn } from './turn/model-turn.ts'
import { reviewReply } from './turn/review.ts'
import { withinBudget } from './turn/within-budget.ts'

/** Whether a run's steps outlive its process. */
interface Survival {
  survivesCrashes: boolean
}

/** What stands around the requests and the calls of a run, composed when it begins and after a handoff: nothing that it does not have. */
export function composeLayers(run: RunContext, survival: Survival, session?: string): Layers {
  const { settings, agent } = run
  const { hooks, guardrails } = agent
  const { compaction } = settings
  const isReviewed = hooks !== undefined || agent.output !== undefined || hasGuardrail(guardrails, 'output')
  const takeOne = budgetsOf(run).length > 0 && waitsForBudget(run) ? waitForBudget(takeTurn) : takeTurn
  return {
    request: requestOf(settings, run.signal, session),
    takeTurn: compaction === undefined ? takeOne : fitWindow(compaction, takeOne),
    askModel: compose(modelLayers(run), sendRequest(run)),
    runCall: compose(toolLayers(run, survival), runFunction(run)),
    changeTurn: hooks === undefined ? undefined : beforeModel(run),
    formatAnswer: agent.output === undefined ? undefined : formatAnswer(run),
    review: isReviewed ? reviewReply(run) : undefined,
  }
}

type Named<Layer> = [name: string, layer: Layer]

/** What stands around a model request, outermost first. Retries, fallback and limits of requests are the model's own. */
export function modelLayers(run: RunContext): Named<AroundModel>[] {
  const { telemetry, recorder } = run
  const { hooks, guardrails } = run.agent
  const { toolCalling } = run.settings
  const isHooked = hasHook(hooks, 'aroundModel')
  return there(
    telemetry !== undefined && ['telemetry', measureRequest(telemetry, run)],
    ['an empty response: once more', askOnceMore(run)],
    hasGuardrail(guardrails, 'output') && ['text held for guardrails', holdText(run)],
    toolCalling !== 'native' && ['calls written as text', readWrittenCalls(run, findWrittenCalls(run))],
    isHooked && recorder !== undefined && ['recorder: what hooks answer', recordAnswers(run, recorder)],
    isHooked && ['hooks around the request', standAroundRequest(run)],
    // Inside of hooks: what they ask by themselves must not wait for what is set aside for the request they stand around.
    budgetsOf(run).length > 0 && ['within the budget', withinBudget(run)],
    recorder !== undefined && ['recorder', recordRequests(run, recorder)],
  )
}

/** What stands around a tool's function, outermost first. */
export function toolLayers(run: RunContext, { survivesCrashes }: Survival): Named<AroundTool>[] {
  const { telemetry } = run
  const { hooks, guardrails } = run.agent
  return there(
    ['concurrency', inLane],
    telemetry !== undefined && ['telemetry', measureCall(telemetry)],
    ['events', tellEnd(run)],
    run.limits.largeResults !== undefined && ['long results', keepAside(run)],
    (survivesCrashes || run.mayHaveRunIn !== undefined) && ['may have run', notTwice(run)],
    hasGuardrail(guardrails, 'result') && ['guardrails: the result', checkResults(run)],
    hooks !== undefined && ['hooks', aroundToolWithHooks(run)],
    hasGuardrail(guardrails, 'call') && ['guardrails: the call', checkCalls(run)],
    hasHook(hooks, 'aroundTool') && ['hooks around the function', standAroundFunction(run)],
    run.recorder !== undefined && ['recorder', recordCalls(run, run.recorder)],
  )
}

function measureRequest(telemetry: RunTelemetry, { settings }: RunContext): AroundModel {
  return (next) => (call) => {
    const { model, tools, request, iteration } = call
    const secretsOf = (name: string) => new Set(tools.get(name)?.secrets)
    const isCompacted = settings.compaction !== undefined && leavesOut(request.messages)
    const { provider, model: name, baseURL, api } = model
    const timePieces = (times: PieceTimes) => call.turn.timePieces(times)
    const measured = { provider, model: name, baseURL, api, request, iteration, isCompacted, timePieces, secretsOf }
    return telemetry.aroundRequest(measured, () => next(call))
  }
}

function measureCall(telemetry: RunTelemetry): AroundTool {
  return (next) => (running) => {
    const { iteration, call, prepared } = running
    const { tool, args } = prepared
    const measured = { toolCallId: call.id, tool, args, iteration, repairs: call.repairs, decision: call.decision }
    return telemetry.aroundCall(measured, (trace) => next({ ...running, trace }))
  }
}

function there<Layer>(...layers: (Named<Layer> | false)[]): Named<Layer>[] {
  return layers.filter((layer) => layer !== false)
}

function compose<Next>(layers: readonly Named<(next: Next) => Next>[], innermost: Next): Next {
  return layers.reduceRight((next, [, layer]) => layer(next), innermost)
}
