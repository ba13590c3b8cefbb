import pTimeout from 'p-timeout'
import { InvalidOptionError } from '../../core/errors.ts'
import { Event, type EventPlace, type MadeDecision } from '../../core/events.ts'
import { copyAsJson, isDeepEqual, toJson } from '../../core/json.ts'
import { copyJson, type JsonObject } from '../../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import { type PreparedCall, prepareArguments } from '../../tools/arguments.ts'
import { cancelledText, loggedFailure } from '../../tools/told.ts'
import type { PlannedCall, Refusal } from '../recorded.ts'
import type { Execution } from '../run/execution.ts'
import { type RunContext, tagsOf } from '../run/run-context.ts'
import { approvalFailed, otherArgumentsNote, refusedText } from '../told.ts'
import type { ApprovalDecision } from '../types.ts'
import { approvalKey, madeDecision, type Signature, signatureOf } from './decisions.ts'

/** Whether a call has to be approved. Fails closed: a predicate that throws, or takes longer than a hook may, asks for an approval. */
export async function needsApproval(run: RunContext, remembered: ReadonlySet<string>, { tool, args }: PreparedCall): Promise<boolean> {
  if (tool.approval === undefined || tool.approval === false || isRemembered(tool.name, args, remembered)) return false
  if (typeof tool.approval !== 'function') return true
  try {
    const { metadata, settings } = run
    const place = { context: settings.context as never, ...(metadata === undefined ? {} : { metadata }) }
    const asked = run.untilInterrupted(Promise.resolve(tool.approval(structuredClone(args), place)))
    const needed = await pTimeout(asked, { milliseconds: run.limits.toolTimeoutMs })
    return needed !== false
  } catch (error) {
    const failure = loggedFailure({ tool, args }, error)
    run.logger.error({ runId: run.runId, tool: tool.name, ...failure }, 'approval predicate failed; the call needs an approval')
    return true
  }
}

/** Hashing arguments takes long where they are large: done only where something is remembered. */
function isRemembered(tool: string, args: JsonObject, remembered: ReadonlySet<string>): boolean {
  return remembered.size > 0 && remembered.has(approvalKey(tool, args))
}

/**
 * Asks for each approval in turn, where there is someone to ask. An approved call runs, a refused one is answered with the reason. Whether
 * there is someone is recorded: a run resumed with an `approve` it did not have before must not decide anew what was decided without it.
 */
export async function decideApprovals(
  { durable, run }: Execution,
  iteration: number,
  planned: readonly PlannedCall[],
): Promise<readonly PlannedCall[]> {
  const isAsked = await durable.step(`${iteration}.approver`, async () => run.settings.approve !== undefined)
  if (!isAsked) return planned
  const calls: PlannedCall[] = []
  for (const [index, call] of planned.entries()) {
    if (call.approval === undefined) calls.push(call)
    else {
      const place = `${iteration}.approve.${index}`
      const meta = { iteration, toolCallId: call.id, ...tagsOf(durable, place) }
      calls.push(applied(run, await durable.step(place, () => askAndRecord(run, call, place, meta)), call))
    }
  }
  return calls
}

/** What `approve` said of one call, as it is recorded. */
interface Approval extends Signature {
  approved: boolean
  reason?: string
  /** It is to run with these, which fit its tool. */
  args?: JsonObject
  /** The run ended before anything was said. */
  cancelled?: boolean
  /** There was nobody to ask: it is decided as in a run that has no `approve`. */
  waits?: boolean
}

async function askAndRecord(run: RunContext, call: PlannedCall, place: string, meta: EventPlace): Promise<Approval> {
  const approval = await askFor(run, call)
  if (approval.waits || approval.cancelled) return approval
  const { id: toolCallId, name: tool } = call
  run.recorder?.decided(run, { place, toolCallId, tool, args: call.args ?? {}, verdict: approval })
  run.emit(Event.DECISION_MADE, { ...decisionOf(approval), toolCallId, tool, place }, meta)
  return approval
}

function decisionOf({ approved, ...said }: Approval): MadeDecision {
  return madeDecision({ kind: 'approval' }, { approved, ...said })
}

/** An `approve` that throws has refused. */
async function askFor(run: RunContext, call: PlannedCall): Promise<Approval> {
  const { approve, context } = run.settings
  const cancelled = { approved: false, cancelled: true }
  let answer: ApprovalDecision | undefined
  try {
    if (run.interruption !== undefined) return cancelled
    // Recorded as there, and gone in the process that goes on: then the call waits for a decision.
    if (approve === undefined) return { approved: false, waits: true }
    answer = await run.untilInterrupted(
      Promise.resolve(
        approve({
          toolCallId: call.id,
          tool: call.name,
          args: copyJson(call.args ?? {}),
          runId: run.runId,
          context: context as never,
          ...(run.metadata === undefined ? {} : { metadata: run.metadata }),
          signal: run.signal,
        }),
      ),
    )
    return run.interruption === undefined ? await readApproval(run, call, answer) : cancelled
  } catch (error) {
    const tool = run.agent.registry.get(call.name)
    // It may be about the arguments that were given, and quote them.
    const args = { asked: call.args ?? {}, answer: toJson(answer) }
    const failure = tool === undefined ? {} : loggedFailure({ tool, args }, error)
    run.logger.error({ runId: run.runId, tool: call.name, ...failure }, 'approve threw; the call is refused')
    return { approved: false, reason: approvalFailed }
  }
}

const approvalNames: OptionNames<Exclude<ApprovalDecision, boolean>> = { approved: true, reason: true, args: true, by: true, note: true }

/** Rejects with `invalid_option` for arguments that the tool doesn't take, and for what is no part of an answer. */
async function readApproval(run: RunContext, call: PlannedCall, answer: ApprovalDecision | undefined): Promise<Approval> {
  if (typeof answer !== 'object' || answer === null) return { approved: answer === true }
  checkOptionNames(answer, approvalNames, 'an approval', 'approve')
  const { approved, reason, args } = answer
  const said = typeof reason === 'string' ? { reason } : {}
  const approval: Approval = { approved: approved === true, ...said, ...signatureOf(answer, 'approve') }
  if (!approval.approved || args === undefined) return approval
  const edited = copyAsJson(args)
  if (isDeepEqual(edited, call.args ?? {})) return approval
  const tool = run.agent.registry.get(call.name)
  const terms = { timeoutMs: run.limits.toolTimeoutMs, signal: run.signal }
  const prepared = tool === undefined ? undefined : await prepareArguments(tool, JSON.stringify(edited), terms)
  if (prepared?.ok === false) throw new InvalidOptionError('args', `arguments of \`${call.name}\` (${prepared.problem.message})`, args)
  return { ...approval, args: edited }
}

/** The call as it runs with other arguments than the model's. */
export function withArguments(run: RunContext, call: PlannedCall, args: JsonObject): PlannedCall {
  run.prepared.delete(call.id)
  const { asText: _, ...edited } = call
  const repairs = [...(call.repairs ?? []), 'arguments changed by whoever approved the call']
  return { ...edited, args, rawArguments: JSON.stringify(args), repairs, note: otherArgumentsNote(args) }
}

/** The call as it is after that: free to run, refused, or waiting as before. */
function applied(run: RunContext, approval: Approval, call: PlannedCall): PlannedCall {
  const { approved, reason, args, cancelled, waits } = approval
  if (waits) return call
  const { approval: _, ...rest } = call
  const decided = cancelled ? rest : { ...rest, decision: decisionOf(approval) }
  if (approved) return args === undefined ? decided : withArguments(run, decided, args)
  const refusal: Refusal = cancelled
    ? { code: 'tool_cancelled', text: cancelledText(call.name) }
    : { code: 'tool_denied', text: refusedText(call.name, reason) }
  return { ...decided, action: 'reject', refusal }
}
