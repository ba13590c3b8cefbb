import pTimeout from 'p-timeout'
import { toJson } from '../../../core/json.ts'
import { copyJson, type JsonObject } from '../../../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../../../core/option-names.ts'
import type { PreparedCall } from '../../../tools/arguments.ts'
import { cancelledText, loggedFailure } from '../../../tools/told.ts'
import { approvalKey, type Verdict } from '../../decisions/decisions.ts'
import { type RunContext, tagsOf } from '../../run/run-context.ts'
import { approveStep, iterationStep } from '../../step-keys.ts'
import { approvalFailed } from '../../told.ts'
import type { Execution } from '../../types/execution.ts'
import type { ApprovalDecision } from '../../types/options.ts'
import type { PlannedCall } from '../../types/recorded.ts'
import type { PendingItem } from '../../types/result.ts'
import { applyVerdicts, itemOf, remember, tellDecision, verdictIn } from './verdict.ts'

/**
 * Whether the run has an `approve`. Recorded: a run that is resumed with a new `approve` must not decide again about calls that were
 * decided without it.
 */
export function hasApprover({ durable, run }: Execution, iteration: number): Promise<boolean> {
  return durable.step(iterationStep(iteration, 'approver'), async () => run.settings.approve !== undefined)
}

/**
 * Asks `approve` about each call that needs an approval, one after another, and applies the decisions. `times`: how often calls of this
 * round have been decided, this time included.
 */
export async function decideApprovals(
  execution: Execution,
  iteration: number,
  planned: readonly PlannedCall[],
  times: number,
): Promise<readonly PlannedCall[]> {
  const calls: PlannedCall[] = []
  for (const [index, call] of planned.entries()) {
    const place = approveStep(iteration, index, times)
    const isNew = call.approval !== undefined && (times === 1 || call.plan?.ask !== undefined)
    calls.push(isNew ? await decideApproval(execution, call, place) : call)
  }
  return calls
}

/** Returns the decided call: free to run, refused, or still waiting. */
async function decideApproval(execution: Execution, call: PlannedCall, place: string): Promise<PlannedCall> {
  const { durable, run, state } = execution
  const item = itemOf(execution, call, 'approval', place)
  const answer = await durable.step(
    place,
    async () => {
      const verdict = await askApprove(run, item)
      if (verdict !== 'cancelled' && verdict !== 'waits') tellDecision(run, { item, verdict }, tagsOf(durable, place))
      return verdict
    },
    item,
  )
  if (answer === 'waits') return call
  if (answer === 'cancelled') {
    const { approval: _, ...rest } = call
    return { ...rest, action: 'reject', refusal: { code: 'tool_cancelled', text: cancelledText(call.name) } }
  }
  const decided = { item, verdict: answer }
  remember(state, decided)
  return applyVerdicts(run, { call, decided: [decided] }).call
}

/**
 * Asks `approve` once. Fails closed: if it throws or returns an invalid decision, the call is refused. `cancelled`: the run ended before a
 * decision. `waits`: the run had an `approve` when this was recorded, and this process has none.
 */
async function askApprove(run: RunContext, item: PendingItem): Promise<Verdict | 'cancelled' | 'waits'> {
  const { approve, context } = run.settings
  const { toolCallId, tool: name, args, about, effect, said, script } = item
  if (run.interruption !== undefined) return 'cancelled'
  if (approve === undefined) return 'waits'
  let answer: ApprovalDecision | undefined
  try {
    const { runId, metadata, signal } = run
    const call = { toolCallId, tool: name, args: copyJson(args), about, effect, said, script }
    const request = { ...call, runId, context: context as never, metadata, signal }
    answer = await run.untilInterrupted(Promise.resolve(approve(request)))
    if (run.interruption !== undefined) return 'cancelled'
    return await verdictIn({ ...item, ...decisionOf(answer) }, item, {
      registry: run.agent.registry,
      where: 'approve',
      arguments: { timeoutMs: run.limits.toolTimeoutMs, signal },
    })
  } catch (error) {
    const tool = run.agent.registry.get(name)
    // The error may be about the arguments, and quote them.
    const failure = tool === undefined ? {} : loggedFailure({ tool, args: { asked: args, answer: toJson(answer) } }, error)
    run.logger.error({ runId: run.runId, tool: name, ...failure }, 'approve threw; the call is refused')
    return { approved: false, reason: approvalFailed }
  }
}

const approvalNames: OptionNames<Exclude<ApprovalDecision, boolean>> = {
  approved: true,
  reason: true,
  args: true,
  remember: true,
  by: true,
  note: true,
}

/** Throws `invalid_option` for an answer with unknown fields. */
function decisionOf(answer: ApprovalDecision | undefined): Exclude<ApprovalDecision, boolean> {
  if (typeof answer !== 'object' || answer === null) return { approved: answer === true }
  checkOptionNames(answer, approvalNames, 'an approval', 'approve')
  return answer
}

/** Whether a call has to be approved. Fails closed: a function that throws, or takes longer than a hook may, asks for an approval. */
export async function needsApproval(
  run: RunContext,
  remembered: ReadonlySet<string>,
  { tool, args }: PreparedCall,
): Promise<PlannedCall['approval']> {
  if (tool.approval === undefined || tool.approval === false || isRemembered(tool.name, args, remembered)) return undefined
  if (typeof tool.approval !== 'function') return true
  try {
    const { metadata, settings } = run
    const place = { context: settings.context as never, metadata }
    const asked = run.untilInterrupted(Promise.resolve(tool.approval(structuredClone(args), place)))
    const needed = await pTimeout(asked, { milliseconds: run.limits.toolTimeoutMs })
    if (typeof needed === 'object' && needed !== null && 'about' in needed) return { about: toJson(needed.about) }
    return needed === false ? undefined : true
  } catch (error) {
    const failure = loggedFailure({ tool, args }, error)
    run.logger.error({ runId: run.runId, tool: tool.name, ...failure }, 'approval predicate failed; the call needs an approval')
    return true
  }
}

/** Hashing large arguments takes long, so nothing is hashed unless something is remembered. */
function isRemembered(tool: string, args: JsonObject, remembered: ReadonlySet<string>): boolean {
  return remembered.size > 0 && remembered.has(approvalKey(tool, args))
}
