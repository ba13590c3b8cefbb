import { askReconcile } from '../../../tools/call/reconcile.ts'
import { endOf } from '../../../tools/tool-runner.ts'
import { runsAgent } from '../../nested/nested-items.ts'
import { type RunContext, tagsOf } from '../../run/run-context.ts'
import { uncertainText } from '../../run-texts.ts'
import { againStep, leftStep, uncertainPlace } from '../../step-keys.ts'
import type { Execution } from '../../types/execution.ts'
import type { FinishedCall } from '../../types/recorded.ts'
import type { AroundTool, CallWork, CarryOut } from '../../types/running-call.ts'
import { CallEnvironment, publishRejection } from '../tool-call.ts'

/**
 * Prevents an `unsafe` call from running twice. If an earlier execution may have run the call, asks the tool's `reconcile`. If `reconcile`
 * gives no answer, the outcome is `uncertain`.
 */
export function notTwice(run: RunContext): AroundTool {
  return (next) => async (call) => {
    // If the plan supplied the result, the function has not run in any execution.
    if (!call.mayHaveRun || call.call.effect !== 'unsafe' || call.call.plan?.result !== undefined) return next(call)
    const { tool } = call.prepared
    // In a preview, a nested agent has not run calls with effects, so the agent can run again.
    if (run.settings.effects === 'preview' && call.answered === undefined && runsAgent(tool)) return next(call)
    const found = await askReconcile(call.prepared, new CallEnvironment(run, call), 1)
    if (found === undefined) return { call, end: { outcome: 'uncertain' } }
    return found.ran ? { call, end: endOf(tool, found.value, run.limits.takenResultBytes) } : next(call)
  }
}

/**
 * Asks for a decision on each call whose effect is unknown: run it again, or continue without it. Without a decision, the model is told
 * that the outcome is not known.
 */
export async function settleUncertain(
  { durable, run }: Execution,
  iteration: number,
  batch: readonly CallWork[],
  finished: readonly FinishedCall[],
  runAgain: CarryOut,
): Promise<FinishedCall[]> {
  const again = new Map<number, CallWork>()
  for (const [at, { record }] of finished.entries()) {
    const work = batch[at]
    if (record.outcome !== 'uncertain' || work === undefined) continue
    const { call, key } = work
    const about = { kind: 'uncertain', toolCallId: call.id, tool: call.name, args: call.args ?? {} }
    const decision = await durable.wait<{ run: boolean }>(uncertainPlace(key), { about })
    if (decision?.run === true) again.set(at, { ...work, key: againStep(key) })
    else await leave(leftStep(key), call)
  }
  if (again.size === 0) return [...finished]
  const rerun = await runAgain([...again.values()])
  const positions = [...again.keys()]
  return finished.map((one, at) => rerun[positions.indexOf(at)] ?? one)

  /** Emits that the call was not run again because its outcome is unknown. */
  async function leave(key: string, call: CallWork['call']): Promise<void> {
    await durable.step(key, async () => {
      const place = { iteration, call, tags: tagsOf(durable, key) }
      publishRejection(run, place, { code: 'tool_uncertain', text: uncertainText(call.name) })
      return null
    })
  }
}
