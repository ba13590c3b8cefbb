import type { Logger } from '../../core/logger.ts'
import type { RunContext } from '../run/run-context.ts'
import type { RunOptions, RunResult } from '../types/options.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { DurableInput } from './durable-run.ts'
import type { Watch } from './run-stream.ts'

/** A run as it is recorded. */
export interface RecordedStart {
  runId: string
  input: DurableInput
}

/** What a run is given in this process, by a caller or by `restore`, and who watches it. */
export interface GivenHere {
  options: RunOptions<never>
  /** The same with what its agent adds; made of `options` if absent. */
  completed?: RunOptions<never>
  watch?: Watch | undefined
}

/** How a runner opens runs that are recorded. */
export interface RunOpener {
  readonly logger: Logger
  readonly active: ActiveRuns
  open(recorded: RecordedStart, given: GivenHere): RunContext
  /** What is given, with all that the run was started with; the same object if nothing lacks. Rejects with `not_restored`. */
  restored(recorded: RecordedStart, given: GivenHere): Promise<GivenHere>
  /** One execution of a run, with what its agent does around it. `alone`: what one without a caller is given. */
  executed(run: RunContext, input: DurableInput, alone: RunOptions<never> | undefined, next: () => Promise<RunResult>): Promise<RunResult>
}

/** A run for which a caller in this process waits. */
export interface LiveRun {
  readonly run: RunContext
  readonly given: GivenHere
  /** Of what the caller has started; undefined for one who only goes on with what there is. */
  readonly inputDigest?: string | undefined
  /** Whether it was executed here, be it to its end. */
  isExecuted: boolean
}
