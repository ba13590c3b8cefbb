import { RunControl } from '../../agent/conversation/run-input.ts'
import type { RunInput } from '../../agent/types/options.ts'
import { blamingRequest, HttpProblem } from '../http/problem.ts'
import type { Execution } from './execution.ts'
import type { ServiceRun } from './service-run.ts'

/**
 * Sends a message to a run. Resolves when delivery is certain: the run will read the message, or list it as `unread` in its result. Rejects
 * with an `HttpProblem` 409 if the run has ended.
 */
export async function sayToRun(run: ServiceRun, input: RunInput, execution: Execution): Promise<void> {
  const hasEnded = () => new HttpProblem(409, 'run_ended', `Run ${run.id} has ended; start a new run with its messages`)
  if (!run.control.listens || run.coming?.status === 'ended') throw hasEnded()
  const said = new RunControl()
  blamingRequest(() => said.send(input))
  if (!(await execution.say(run, said.waiting))) throw hasEnded()
}
