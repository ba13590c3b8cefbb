import type { AgentRunner } from '../../agent/agent-runner.ts'
import type { ShownRuns } from '../../agent/journal/shown-runs.ts'
import type { RunStream } from '../../agent/runner/run-stream.ts'
import type { ResumeOptions } from '../../agent/types/options.ts'
import type { ChatMessage } from '../../core/messages.ts'
import type { Agent } from '../agents/agent-host.ts'
import type { EventSink } from './follow-run.ts'
import type { ServiceRun } from './service-run.ts'
import type { Outcome } from './stored-run.ts'

/** How runs are executed: with their steps in a journal, or by this process alone. Either way, the store has what becomes of them. */
export interface Execution {
  /** Beside which a run is recorded; undefined: in memory. */
  readonly recordings: ShownRuns | undefined
  runnerOf(agent: Agent): AgentRunner
  /** Resumes a run that waits. */
  resume(run: ServiceRun, agent: Agent, options: ResumeOptions): Promise<RunStream>
  /** Where the events of an execution go. */
  sinkOf(run: ServiceRun): EventSink
  /** Keeps what is said to a run until it is taken up; false if nothing can be said to it any more. */
  say(run: ServiceRun, messages: readonly ChatMessage[]): Promise<boolean>
  /** An execution has come to this: settles the run, and writes it down. Rejects if that can't be done. */
  end(run: ServiceRun, outcome: Outcome): Promise<void>
  /** An execution could not be followed to its end. */
  breakOff(run: ServiceRun): Promise<void>
  /** A run could not be begun. */
  discard(run: ServiceRun): void
}
