import { show } from '../../../core/errors.ts'
import { toJson } from '../../../core/json.ts'
import { isContent } from '../../../core/message-input.ts'
import { type Content, copyJson, isJsonObject } from '../../../core/messages.ts'
import { HookFailure } from '../../callbacks/callbacks.ts'
import type { ToolEnding } from '../../callbacks/hooks.ts'
import { describeCall, withArguments, withContent, withheld } from '../../calls/changed-call.ts'
import type { RunContext } from '../../run/run-context.ts'
import { checkFailed, refusedByText, refusedText } from '../../run-texts.ts'
import type { CallInPlan, Decide } from '../../types/plan.ts'
import type { AroundTool } from '../../types/running-call.ts'
import { askCallback, isObject } from './ask-hook.ts'

/** Calls the `beforeTool` hooks and the entries of `plan` in order, until one of them refuses, answers or asks. */
export function askBeforeCall(run: RunContext): Decide<CallInPlan> {
  return async (planned) => {
    const { call, prepared } = planned
    const asked = call.plan?.ask?.asked ?? 0
    let { args } = prepared
    const withChanges = async () => (args === prepared.args ? planned : withArguments(run, planned, args, 'a hook'))
    for (const [at, callback] of run.agent.callbacks.plan.calls.entries()) {
      if (at < asked) continue
      const decided = await askCallback(run, callback, async () => {
        const decision = await callback.ask({ ...describeCall(run, planned), args: copyJson(args) })
        checkDecision(decision)
        return decision
      }).catch(refusalOf)
      if (decided === undefined) continue
      if ('stop' in decided || 'refuse' in decided) return { ...planned, end: refusalIn(call.name, callback.name, decided) }
      if ('args' in decided) args = decided.args
      if (!('ask' in decided || 'result' in decided)) continue
      const ready = await withChanges()
      if (ready.end !== undefined) return ready
      const end = 'ask' in decided ? { ask: { about: toJson(decided.ask), asked: at + 1 } } : { result: { value: toJson(decided.result) } }
      return { ...ready, end }
    }
    return withChanges()
  }
}

function refusalIn(tool: string, entry: string | undefined, decided: { stop: string } | { refuse: string }): CallInPlan['end'] {
  if (!('stop' in decided)) return { refusal: { code: 'tool_denied', text: refusedText(tool, String(decided.refuse)) } }
  const stop = `${entry}: ${String(decided.stop)}`
  return { refusal: { code: 'tool_denied', text: refusedByText(tool, stop) }, stop }
}

/** Refuses the call if a hook has failed. Rethrows any other error. */
function refusalOf(error: unknown): { refuse: string } {
  if (error instanceof HookFailure) return { refuse: checkFailed }
  throw error
}

/** Throws for an invalid decision, because a mistyped refusal must not let the call run. */
function checkDecision(decision: unknown): void {
  if (decision === undefined || decision === null) return
  const names = ['refuse', 'args', 'result', 'ask', 'stop']
  if (!isObject(decision) || !names.some((name) => name in decision))
    throw new TypeError(
      `Expected nothing, \`{ refuse }\`, \`{ args }\`, \`{ result }\`, \`{ ask }\` or \`{ stop }\`, got \`${show(decision)}\``,
    )
  if (!('args' in decision)) return
  if (!isJsonObject(decision.args)) throw new TypeError('Expected `args` to be an object')
  // Throws for a value that is not JSON, such as an object that contains itself.
  JSON.stringify(decision.args)
}

/** Lets the `afterTool` hooks change the content that the model gets. */
export function askAfterCall(run: RunContext): AroundTool {
  return (next) => async (call) => {
    const outcome = await next(call)
    const { end } = outcome
    if (end.outcome !== 'ok' && end.outcome !== 'failed' && end.outcome !== 'timeout') return outcome
    const ending: ToolEnding<never> = { ...describeCall(run, outcome.call), outcome: end.outcome, content: end.content }
    try {
      const content = await contentAfter(run, ending)
      return content === end.content ? outcome : { ...outcome, end: withContent(end, content) }
    } catch (error) {
      if (!(error instanceof HookFailure)) throw error
      return { ...outcome, end: withheld(end, error.hook) }
    }
  }
}

/** Returns the content after the hooks have changed it. Rejects with a `HookFailure` if a callback fails and is not skipped. */
async function contentAfter(run: RunContext, call: ToolEnding<never>): Promise<Content> {
  let { content } = call
  for (const callback of run.agent.callbacks.around.results) {
    const change = await askCallback(run, callback, async () => {
      const change = await callback.ask({ ...call, args: copyJson(call.args), content: copyJson(content) })
      if (isObject(change) && !isContent(change.content)) throw new TypeError('Expected `content` to be a string or an array of parts')
      return change
    })
    if (change !== undefined) content = change.content
  }
  return content
}
