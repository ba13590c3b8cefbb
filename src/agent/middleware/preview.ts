import { isNoted, isQuestion } from '../../tools/question.ts'
import type { AnyTool, ToolContext } from '../../tools/tool.ts'
import { endOf, executeCall, type ToolCallEnd } from '../../tools/tool-runner.ts'
import { withoutLongText } from '../calls/keep-aside.ts'
import { CallEnvironment, inLane, tellEnd, tellStart } from '../calls/tool-call.ts'
import type { RunContext } from '../run/run-context.ts'
import { notedText } from '../told.ts'
import type { CallOutcome, NoteCall, RunningCall } from '../types/running-call.ts'
import { checkResults } from './guardrails/tool-guardrails.ts'

/**
 * Notes a call of a preview. The model gets what the tool's `preview` returns, as far as guardrails let it pass. Hooks are not told: nothing
 * has been done. A preview that fails is the end of its call.
 */
export function noteCall(run: RunContext): NoteCall {
  const check = checkResults(run)
  const shown = async (call: RunningCall, outcome: CallOutcome): Promise<CallOutcome> => {
    const checked = await withoutLongText(run, await check(async () => outcome)(call))
    const { end } = checked
    return end.outcome === 'ok' ? { ...checked, end: { ...end, value: undefined }, noted: end.content } : checked
  }
  const ofTool = inLane(async (call) => {
    const end = await previewEnd(run, call)
    return shown(call, { call, end })
  })
  return async (call, paused) => {
    if (paused !== undefined) {
      const value = paused.end.outcome === 'question' && isNoted(paused.end.question) ? paused.end.question.meanwhile : undefined
      const { noted, stop } = await shown(call, { call, end: endOf(call.prepared.tool, value, run.limits.takenResultBytes) })
      return { ...paused, noted: noted ?? notedText(call.prepared.tool.name), ...(stop === undefined ? {} : { stop }) }
    }
    const outcome = await ofTool(call)
    if (outcome.noted !== undefined) {
      call.ended?.()
      return outcome
    }
    tellStart(run, call, call.prepared.args)
    return tellEnd(run)(async () => outcome)(call)
  }
}

async function previewEnd(run: RunContext, call: RunningCall): Promise<ToolCallEnd> {
  const { tool } = call.prepared
  if (tool.preview === undefined) return { outcome: 'ok', content: notedText(tool.name), value: undefined, attempts: 0 }
  return executeCall({ ...call.prepared, tool: previewOf(tool) }, new PreviewEnvironment(run, call))
}

/** The tool with its `preview` in place of its function. */
function previewOf(tool: AnyTool): AnyTool {
  const { name, description, parameters, timeoutMs, secrets } = tool
  const execute = async (args: never, ctx: ToolContext): Promise<unknown> => {
    const value = await tool.preview?.(args, ctx)
    if (isQuestion(value)) throw new TypeError(`Expected \`preview\` of tool \`${name}\` to return a value, got a question`)
    return value
  }
  return { name, description, parameters, effect: 'read', execute, ...(timeoutMs && { timeoutMs }), ...(secrets && { secrets }) }
}

/** A call that is not seen by listeners until it is carried out, and saves nothing. */
class PreviewEnvironment extends CallEnvironment {
  constructor(run: RunContext, call: RunningCall) {
    super(run, { ...call, saved: undefined })
  }

  override onStart(): void {}

  override onProgress(): void {}
}
