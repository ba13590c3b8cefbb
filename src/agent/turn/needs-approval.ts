import pTimeout from 'p-timeout'
import type { JsonObject } from '../../core/messages.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import { loggedFailure } from '../../tools/told.ts'
import { approvalKey } from '../decisions/decisions.ts'
import type { RunContext } from '../run/run-context.ts'

/** Whether a call has to be approved. Fails closed: a predicate that throws, or takes longer than a hook may, asks for an approval. */
export async function needsApproval(run: RunContext, remembered: ReadonlySet<string>, { tool, args }: PreparedCall): Promise<boolean> {
  if (tool.approval === undefined || tool.approval === false || isRemembered(tool.name, args, remembered)) return false
  if (typeof tool.approval !== 'function') return true
  try {
    const { metadata, settings } = run
    const place = { context: settings.context as never, metadata }
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
