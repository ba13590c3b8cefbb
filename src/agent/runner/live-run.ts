import type { Logger } from '../../core/logger.ts'
import type { RunContext } from '../run/run-context.ts'
import type { RunOptions, RunResult } from '../types/options.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { DurableInput } from './durable-run.ts'
import type { Watch } from './run-stream.ts'

/** The recorded start of a run. */
export interface RecordedStart {
  runId: string
  input: DurableInput
}

/** The options of a run in this process, which come from its caller or from `restore`. */
export interface GivenHere {
  options: RunOptions<never>
  /** `options`, completed with the options of the agent. If absent, the runner completes them itself. */
  completed?: RunOptions<never>
  watch?: Watch | undefined
}

/** The methods of a runner that open and execute recorded runs. */
export interface RunOpener {
  readonly logger: Logger
  readonly active: ActiveRuns
  open(recorded: RecordedStart, given: GivenHere): RunContext
  /**
   * Adds the options that can't be stored, by calling `restore`. Returns `given` itself if no option is missing. Rejects with
   * `not_restored` if an option is still missing.
   */
  restored(recorded: RecordedStart, given: GivenHere): Promise<GivenHere>
  /** Executes a run inside its agent's `perform`. `alone`: the options of a run that has no caller. */
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
