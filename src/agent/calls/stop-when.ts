import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { messageOf } from '../../core/errors.ts'
import { iterationStep } from '../step-keys.ts'
import type { Execution } from '../types/execution.ts'

/**
 * Calls the caller's `stopWhen`. If it throws, the run continues. The return value is recorded, because a second call during a replay could
 * return something else.
 */
export async function isStopped({ durable, run, state }: Execution, iteration: number): Promise<boolean> {
  return durable.step(iterationStep(iteration, 'stop'), async () =>
    run.agent.stopWhen.some((one) => {
      try {
        return syncAnswer('stopWhen', one({ iteration, steps: state.steps, messages: state.history.slice() })) === true
      } catch (error) {
        run.logger.error({ runId: run.runId, error: messageOf(error) }, 'stopWhen threw; the run continues')
        return false
      }
    }),
  )
}
