import type { ShownRuns } from '../../agent/durable/shown-runs.ts'
import { RunControl } from '../../agent/run/run-control.ts'
import type { RunInput } from '../../agent/types.ts'
import { blamingRequest, HttpProblem } from '../http/problem.ts'
import type { ServiceRun } from './service-run.ts'

/**
 * Says something to a run, by what is shown of it if it is recorded; resolves when it will be taken up, or be in its result as `unread`. Rejects with
 * an `HttpProblem`: 409 for one that has ended.
 */
export async function sayToRun(run: ServiceRun, input: RunInput, shown: Pick<ShownRuns, 'say'> | undefined): Promise<void> {
  const hasEnded = () => new HttpProblem(409, 'run_ended', `Run ${run.id} has ended; start a new run with its messages`)
  if (!run.control.listens || run.coming?.status === 'done') throw hasEnded()
  if (shown === undefined) return blamingRequest(() => run.control.send(input))
  const said = new RunControl()
  blamingRequest(() => said.send(input))
  const messages = said.waiting.map((message) => JSON.stringify(message))
  if (!(await shown.say(run.id, messages))) throw hasEnded()
}
