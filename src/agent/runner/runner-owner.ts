import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import type { Optional } from '../../core/check-options.ts'
import { InvalidOptionError, messageOf, ToolloopError } from '../../core/errors.ts'
import type { MessageInput } from '../../core/message-input.ts'
import { withoutUndefined } from '../../core/messages.ts'
import type { AgentHistory, HistoryRun } from '../conversation/agent-history.ts'
import type { RunContext } from '../run/run-context.ts'
import { RunError } from '../run/run-error.ts'
import type { ResumeOptions, RunInput, RunOptions, RunResult, RunState } from '../types/options.ts'
import type { DurableInput } from './durable-run.ts'

/** The first argument of `perform` of a `CustomAgent`: the run's input, id and options. */
export interface PerformedRun<Context = unknown> {
  /** The run's input. Absent for a run that continues. */
  readonly input?: RunInput
  /** The run's id. Absent for a new run if the caller has not chosen an id. */
  readonly runId?: string
  /** The options passed by the caller or supplied by `restore`. */
  readonly options: RunOptions<Context>
}

/**
 * The second argument of `perform` of a `CustomAgent`: executes the run. `changed` replaces the input or the options. A run that a journal
 * continues keeps its input.
 */
export type PerformRun<Context = unknown> = (changed?: Optional<Pick<PerformedRun<Context>, 'input' | 'options'>>) => Promise<RunResult>

/** The agent that a runner is part of. */
export interface RunnerOwner<Context> {
  /** Adds the owner's options to the options of a run, each time the run is executed. */
  completeOptions?(given: RunOptions<Context>): RunOptions<Context>
  /** Wraps each run: runs that callers start and resume, and runs that a journal continues. */
  perform?(run: PerformedRun<Context>, next: PerformRun<Context>): Promise<RunResult>
  history?(): AgentHistory<Context> | undefined
}

type CarryOut<Context> = (run: PerformedRun<Context>) => Promise<RunResult<never>>

/** Wraps the runs of a runner with its owner's `perform`, completes their options, and loads and saves their conversations. */
export class OwnedRuns<Context> {
  readonly #owner: RunnerOwner<Context>
  readonly #history: AgentHistory<Context> | undefined

  /** `history` is used if the owner has no history. Throws `invalid_option` if `history` lacks `load` or `save`. */
  constructor(owner: RunnerOwner<Context>, history: AgentHistory<Context> | undefined) {
    if (history !== undefined && (typeof history?.load !== 'function' || typeof history.save !== 'function'))
      throw new InvalidOptionError('history', 'the functions `load` and `save`', history)
    this.#owner = owner
    this.#history = history
  }

  /** The history to use. It is read each time, because the history of an owner may change. */
  get #keeper(): AgentHistory<Context> | undefined {
    return syncAnswer('history', this.#owner.history?.()) ?? this.#history
  }

  complete(given: RunOptions<Context>): RunOptions<Context> {
    return this.#owner.completeOptions?.(given) ?? given
  }

  /** Starts a new run for a caller. */
  start(input: RunInput, options: RunOptions<Context>, carryOut: CarryOut<Context>): Promise<RunResult<never>> {
    // Options are checked later, so `options` may not even be an object.
    const runId = options?.runId
    return this.#perform({ input, options, runId }, carryOut)
  }

  async #perform(run: PerformedRun<Context>, carryOut: CarryOut<Context>): Promise<RunResult<never>> {
    const { perform } = this.#owner
    if (perform === undefined) return carryOut(run)
    return (await perform(run, (changed) => carryOut({ ...run, ...changed }))) as RunResult<never>
  }

  /** Continues the run with this state or id, for a caller. */
  continue(
    state: RunState | string | undefined,
    options: ResumeOptions<Context>,
    carryOut: (options: ResumeOptions<Context>) => Promise<RunResult<never>>,
  ): Promise<RunResult<never>> {
    const runId = typeof state === 'string' ? state : state?.runId
    return this.#perform({ options, runId }, (run) => carryOut(run.options))
  }

  /**
   * Wraps an execution of a run. `alone`: the options of a run that has no caller. Saves the conversation before a journal records the
   * run's end.
   */
  executed(
    run: RunContext,
    input: DurableInput,
    alone: RunOptions<Context> | undefined,
    next: () => Promise<RunResult>,
  ): Promise<RunResult> {
    const carryOut = async () => {
      const result = await next()
      if (input.ownHistory === true && result.stopReason !== 'paused') await this.#save(run, result)
      return result as RunResult<never>
    }
    return alone === undefined ? carryOut() : this.#perform({ runId: run.runId, options: alone }, carryOut)
  }

  async loadHistory(run: RunContext): Promise<readonly MessageInput[] | undefined> {
    return run.untilInterrupted((async () => this.#keeper?.load(describe(run)))())
  }

  /** Rejects with a `RunError` if the conversation can't be saved. */
  async #save(run: RunContext, result: RunResult): Promise<void> {
    try {
      await this.#keeper?.save(describe(run), result)
    } catch (error) {
      const message = `The conversation of run \`${run.runId}\` could not be saved: ${messageOf(error)}`
      throw new RunError(result, new ToolloopError('session_failed', message, { cause: error }))
    }
  }
}

function describe({ runId, settings, metadata, within }: RunContext): HistoryRun<never> {
  return {
    runId,
    context: settings.context as never,
    metadata,
    ...withoutUndefined({ parentRunId: within?.runId }),
  }
}
