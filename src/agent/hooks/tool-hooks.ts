import { show } from '../../core/errors.ts'
import { isContent } from '../../core/message-input.ts'
import { type Content, copyJson, isJsonObject } from '../../core/messages.ts'
import { endOf } from '../../tools/tool-runner.ts'
import { type AroundTool, type CallOutcome, type RunningCall, rejected } from '../calls/running-call.ts'
import { tellStart } from '../calls/tool-call.ts'
import type { RunContext } from '../run/run-context.ts'
import { checkFailed, refusedText } from '../told.ts'
import { askHook, HookFailure, isObject } from './ask-hook.ts'
import { describeCall, withArguments, withContent, withheld } from './changed-call.ts'
import type { ToolEnding, ToolTurn, ToolTurnChange } from './hooks.ts'

/** Asks the hooks before and after a call. */
export function aroundToolWithHooks(run: RunContext): AroundTool {
  return (next) => async (call) => {
    const change = await askBeforeTool(run, describeCall(run, call)).catch(refusalOf)
    if (change !== undefined && 'refuse' in change)
      return rejected(call, { code: 'tool_denied', text: refusedText(call.prepared.tool.name, String(change.refuse)) })
    const ready = change !== undefined && 'args' in change ? await withArguments(run, call, change.args, 'a hook') : call
    if ('end' in ready) return ready
    const outcome = change !== undefined && 'result' in change ? answered(run, ready, change.result) : await next(ready)
    const { end } = outcome
    if (end.outcome !== 'ok' && end.outcome !== 'failed' && end.outcome !== 'timeout') return outcome
    const ending: ToolEnding<never> = { ...describeCall(run, outcome.call), outcome: end.outcome, content: end.content }
    try {
      const content = await askAfterTool(run, ending)
      return content === end.content ? outcome : { ...outcome, end: withContent(end, content) }
    } catch (error) {
      if (!(error instanceof HookFailure)) throw error
      return { ...outcome, end: withheld(end, error.hook) }
    }
  }
}

/** The outcome of a call that a hook answered in place of the function. */
export function answered(run: RunContext, call: RunningCall, value: unknown): CallOutcome {
  const { tool, args } = call.prepared
  const startedAt = performance.now()
  tellStart(run, call, copyJson(args))
  return { call, end: endOf(tool, value, run.limits.takenResultBytes), startedAt, raw: { value } }
}

/** A hook that fails has refused the call. */
function refusalOf(error: unknown): ToolTurnChange {
  if (error instanceof HookFailure) return { refuse: checkFailed }
  throw error
}

/** What the hooks make of a call before it is run; undefined where none of them changed anything. Rejects with a `HookFailure`. */
async function askBeforeTool(run: RunContext, call: ToolTurn<never>): Promise<ToolTurnChange | undefined> {
  let args = call.args
  for (const hook of run.agent.hooks ?? []) {
    if (hook.beforeTool === undefined) continue
    const change = await askHook(run, hook, 'beforeTool', async () => {
      const change = await hook.beforeTool?.({ ...call, args: copyJson(args) })
      checkChange(change)
      return change
    })
    if (change === undefined) continue
    if (!('args' in change)) return change
    args = change.args
  }
  return args === call.args ? undefined : { args }
}

/** What the model is to be given after the hooks have seen it. Rejects with a `HookFailure`. */
async function askAfterTool(run: RunContext, call: ToolEnding<never>): Promise<Content> {
  let { content } = call
  for (const hook of (run.agent.hooks ?? []).toReversed()) {
    if (hook.afterTool === undefined) continue
    const change = await askHook(run, hook, 'afterTool', async () => {
      const change = await hook.afterTool?.({ ...call, args: copyJson(call.args), content: copyJson(content) })
      if (isObject(change) && !isContent(change.content)) throw new TypeError('Expected `content` to be a string or an array of parts')
      return change
    })
    if (change !== undefined) content = change.content
  }
  return content
}

/** Throws for what means nothing: a mistyped refusal must not let the call run. */
function checkChange(change: unknown): void {
  if (change === undefined || change === null) return
  if (!isObject(change) || !('refuse' in change || 'args' in change || 'result' in change))
    throw new TypeError(`Expected nothing, \`{ refuse }\`, \`{ args }\` or \`{ result }\`, got \`${show(change)}\``)
  if (!('args' in change)) return
  if (!isJsonObject(change.args)) throw new TypeError('Expected `args` to be an object')
  // Throws for what is no JSON, such as an object that holds itself.
  JSON.stringify(change.args)
}
