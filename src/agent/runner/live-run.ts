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

/** The options that a run has in this process, from its caller or from `restore`, and the run's watcher. */
export interface GivenHere {
  options: RunOptions<never>
  /** The same options, completed with the agent's options. If absent, the runner completes `options` itself. */
  completed?: RunOptions<never>
  watch?: Watch | undefined
}

/** The methods of a runner that open and execute recorded runs. */
export interface RunOpener {
  readonly logger: Logger
  readonly active: ActiveRuns
  open(recorded: RecordedStart, given: GivenHere): RunContext
  /**
   * Adds the missing options that the run was started with. Returns the same object if no option is missing. Rejects with `not_restored`.
   */
  restored(recorded: RecordedStart, given: GivenHere): Promise<GivenHere>
  /** Executes a run, wrapped by its agent. `alone`: the options to use for a run without a caller. */
  executed(run: RunContext, input: DurableInput, alone: RunOptions<never> | undefined, next: () => Promise<RunResult>): Promise<RunResult>
}

/** A run that a caller in this process waits for. */
export interface LiveRun {
  readonly run: RunContext
  readonly given: GivenHere
  /** The digest of the input that the caller passed. Undefined for a caller that only continues a run. */
  readonly inputDigest?: string | undefined
  /** Whether this process has executed the run, even if it has ended. */
  isExecuted: boolean
}
