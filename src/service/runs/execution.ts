import type { AgentRunner } from '../../agent/agent-runner.ts'
import type { ShownRuns } from '../../agent/journal/shown-runs.ts'
import type { RunStream } from '../../agent/runner/run-stream.ts'
import type { ResumeOptions } from '../../agent/types/options.ts'
import type { ChatMessage } from '../../core/messages.ts'
import type { Agent } from '../agents/agent-host.ts'
import type { EventSink } from './follow-run.ts'
import type { ServiceRun } from './service-run.ts'
import type { Outcome } from './stored-run.ts'

/**
 * Executes runs. One implementation records the steps of runs in a journal. The other has no journal, so its runs end with this process.
 * Both store the results.
 *
 * Contract: returned promises are awaited. Unless documented otherwise, they may reject if the store fails.
 */
export interface Execution {
  /** The store of the recordings. Undefined if recordings are in memory. */
  readonly recordings: ShownRuns | undefined
  runnerOf(agent: Agent): AgentRunner
  resume(run: ServiceRun, agent: Agent, options: ResumeOptions): Promise<RunStream>
  sinkOf(run: ServiceRun): EventSink
  /** Stores messages for a run until the run reads them. Resolves with false if the run can't receive messages any more. */
  say(run: ServiceRun, messages: readonly ChatMessage[]): Promise<boolean>
  /** Stores the outcome of a run that has ended or paused. Rejects if storing fails. */
  end(run: ServiceRun, outcome: Outcome): Promise<void>
  /** Called if this process can't follow the run to its end because of an error. */
  breakOff(run: ServiceRun): Promise<void>
  /** Called if a run could not be started. */
  discard(run: ServiceRun): void
}
