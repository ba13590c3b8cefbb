import { withoutUndefined } from '../../core/messages.ts'
import { isNoted, isQuestion } from '../../tools/question.ts'
import type { AnyTool, ToolContext } from '../../tools/tool.ts'
import { endOf, executeCall } from '../../tools/tool-runner.ts'
import { withoutLongText } from '../calls/keep-aside.ts'
import { CallEnvironment, inLane, tellEnd, tellStart } from '../calls/tool-call.ts'
import type { RunContext } from '../run/run-context.ts'
import { notedText } from '../run-texts.ts'
import type { AroundTool, CallOutcome, RunningCall } from '../types/running-call.ts'
import { checkResults } from './guardrails/tool-guardrails.ts'

/**
 * Adds a call to the plan of a preview, without running the call. The model gets the return value of the tool's `preview`, after guardrails
 * have checked it. Hooks are not called. If `preview` fails, the call fails.
 */
export async function noteCall(run: RunContext, call: RunningCall): Promise<CallOutcome> {
  const outcome = await inLane(async (call) => guarded(run, await previewed(run, call)))(call)
  if (outcome.noted !== undefined) {
    call.ended?.()
    return outcome
  }
  tellStart(run, call, call.prepared.args)
  return tellEnd(run)(async () => outcome)(call)
}

/** Adds the call of an agent tool to the plan of a preview, if the agent has planned calls. */
export function noteCallOfAgent(run: RunContext): AroundTool {
  return (next) => async (call) => {
    const outcome = await next(call)
    if (outcome.end.outcome !== 'question' || !isNoted(outcome.end.question)) return outcome
    const { tool } = call.prepared
    const end = endOf(previewOf(tool), outcome.end.question.meanwhile, run.limits.takenResultBytes)
    const { noted = notedText(tool.name), stop } = await guarded(run, { call, end })
    return { ...outcome, noted, ...withoutUndefined({ stop }) }
  }
}

/** Checks the outcome with the guardrails, and sets the text for the model. */
async function guarded(run: RunContext, outcome: CallOutcome): Promise<CallOutcome> {
  const checked = await withoutLongText(run, await checkResults(run)(async () => outcome)(outcome.call))
  const { end } = checked
  return end.outcome === 'ok' ? { ...checked, end: { ...end, value: undefined }, noted: end.content } : checked
}

async function previewed(run: RunContext, call: RunningCall): Promise<CallOutcome> {
  const { prepared } = call
  const { tool } = prepared
  if (tool.preview === undefined) return { call, end: { outcome: 'ok', content: notedText(tool.name), value: undefined, attempts: 0 } }
  const runPreview = async () => ({
    call,
    end: await executeCall({ ...prepared, tool: previewOf(tool) }, new PreviewEnvironment(run, call)),
  })
  return run.recorder === undefined ? runPreview() : run.recorder.aroundCall(run, call, runPreview)
}

/** The tool with its `preview` in place of its function. */
function previewOf(tool: AnyTool): AnyTool {
  const { name, description, parameters, timeoutMs, secrets } = tool
  const execute = async (args: never, ctx: ToolContext): Promise<unknown> => {
    const value = await tool.preview?.(args, ctx)
    if (isQuestion(value)) throw new TypeError(`Expected \`preview\` of tool \`${name}\` to return a value, got a question`)
    return value === undefined ? notedText(name) : value
  }
  return { name, description, parameters, effect: 'read', execute, ...withoutUndefined({ timeoutMs, secrets }) }
}

/** The environment of a call in a preview. It emits no events and saves no values, because the call does not run. */
class PreviewEnvironment extends CallEnvironment {
  constructor(run: RunContext, call: RunningCall) {
    super(run, { ...call, saved: undefined })
  }

  override onStart(): void {}

  override onProgress(): void {}
}
