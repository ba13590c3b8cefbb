import { copyJson } from '../../core/messages.ts'
import { cancelledText, loggedFailure } from '../../tools/tool-runner.ts'
import type { PlannedCall } from '../calls/prepare-calls.ts'
import type { Durable } from '../durable/journal.ts'
import type { LiveRun } from '../run/run-context.ts'
import type { ApprovalDecision } from '../types.ts'

/**
 * Asks for each approval in turn, where there is someone to ask. An approved call runs, a refused one is answered with the reason. Whether
 * there is someone is recorded: a run resumed with an `approve` it did not have before must not decide anew what was decided without it.
 */
export async function decideApprovals(
  durable: Durable,
  run: LiveRun,
  iteration: number,
  planned: readonly PlannedCall[],
): Promise<PlannedCall[]> {
  const { approve } = run.settings
  if (planned.every(({ approval }) => approval === undefined)) return [...planned]
  const isAsked = await durable.step(`${iteration}.approver`, async () => approve !== undefined)
  if (!isAsked) return [...planned]
  const calls: PlannedCall[] = []
  for (const [index, call] of planned.entries()) {
    if (call.approval === undefined) {
      calls.push(call)
      continue
    }
    const decision = await durable.step(`${iteration}.approve.${index}`, async (): Promise<Decision> => {
      const cancelled = { approved: false, cancelled: true }
      try {
        if (run.interruption !== undefined) return cancelled
        // Recorded as there, and gone in the process that goes on: then the call waits for a decision.
        if (approve === undefined) return { approved: false, waits: true }
        const request = {
          toolCallId: call.id,
          tool: call.name,
          args: copyJson(call.args ?? {}),
          runId: run.runId,
          context: run.settings.context as never,
          signal: run.signal,
        }
        const answer = await run.untilInterrupted(Promise.resolve(approve(request)))
        return run.interruption === undefined ? readDecision(answer) : cancelled
      } catch (error) {
        const tool = run.registry.get(call.name)
        const failure = tool === undefined ? {} : loggedFailure({ tool, args: call.args ?? {} }, error)
        run.logger.error({ runId: run.runId, tool: call.name, ...failure }, 'approve threw; the call is refused')
        return { approved: false, reason: 'the approval failed' }
      }
    })
    if (decision.waits) {
      calls.push(call)
      continue
    }
    if (decision.approved) {
      const { approval: _, ...approved } = call
      calls.push(approved)
      continue
    }
    const { approval: _, ...refused } = call
    const text = `The call to \`${call.name}\` was refused${decision.reason === undefined ? '.' : `: ${decision.reason}`}`
    const refusal: PlannedCall['refusal'] = decision.cancelled
      ? { code: 'tool_cancelled', text: cancelledText(call.name) }
      : { code: 'tool_denied', text }
    calls.push({ ...refused, action: 'reject', refusal })
  }
  return calls
}

interface Decision {
  approved: boolean
  reason?: string
  /** The run ended before there was a decision. */
  cancelled?: boolean
  /** There was nobody to ask: it is decided as in a run that has no `approve`. */
  waits?: boolean
}

function readDecision(answer: ApprovalDecision | undefined): Decision {
  if (typeof answer === 'object' && answer !== null) {
    return { approved: answer.approved === true, ...(typeof answer.reason === 'string' ? { reason: answer.reason } : {}) }
  }
  return { approved: answer === true }
}
