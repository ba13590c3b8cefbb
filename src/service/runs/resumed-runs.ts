import type { RunStream } from '../../agent/runner/run-stream.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import type { Agent, AgentHost } from '../agents/agent-host.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import { type Decided, DecisionNote, describeDecisions, signed } from './describe-decisions.ts'
import type { Execution } from './execution.ts'
import { isUnknownRun, notStored, notWaiting, RunsElsewhere } from './recorded/problems.ts'
import type { RecordedRuns } from './recorded/recorded-runs.ts'
import type { RecordOption } from './run-recordings.ts'
import type { RunningRuns } from './running-runs.ts'
import type { ServiceRun } from './service-run.ts'
import type { Outcome, RunHead } from './stored-run.ts'

interface ResumedRunsParts {
  host: AgentHost
  limiter: RateLimiter
  running: RunningRuns
  logger: Logger
  stored(): RecordedRuns
  executionOf(head: RunHead): Execution
  /** Starts to follow a run. Resolves when the run has started again. */
  follow(run: ServiceRun, how: { giveBack(): void }, begin: (record: RecordOption) => RunStream | Promise<RunStream>): Promise<void>
}

/** Resumes waiting runs after a decision, and runs that no process executes. */
export class ResumedRuns {
  readonly #parts: ResumedRunsParts

  constructor(parts: ResumedRunsParts) {
    this.#parts = parts
  }

  /** Returns the outcome of a waiting run. Throws an `HttpProblem` 409 if the run doesn't wait. */
  pauseOf(run: ServiceRun): Outcome {
    const isHere = this.#parts.running.has(run.id)
    if (run.outcome?.status !== 'waiting' || isHere) throw notWaiting(run, isHere ? 'running' : run.status)
    return run.outcome
  }

  /**
   * Carries out decisions on a waiting run. Resolves when the run has started again. Rejects with an `HttpProblem` if the decisions can't
   * be carried out, for example because the run was already decided.
   */
  async resume(run: ServiceRun, outcome: Outcome, { decisions, by, context }: Decided): Promise<void> {
    const { host, limiter, running } = this.#parts
    const tools = await host.toolsFor(run.head.clientTools)
    const agent = this.#agentOf(run)
    const execution = this.#parts.executionOf(run.head)
    const stored = this.#parts.stored()
    const { shown, followed } = stored
    // The run may have been resumed meanwhile, and may now wait for another decision.
    if (this.pauseOf(run) !== outcome) throw notWaiting(run, 'decided already')
    const { control, signal } = run
    // The limit is checked first, so that the run is unchanged if the caller is refused.
    const giveBack = limiter.admitRun(run.head.caller.name)
    running.add(run)
    run.takeUp()
    const note = new DecisionNote(run, shown)
    try {
      await note.write(describeDecisions(decisions, outcome.summary.pending, { by: by.name, redactor: run.redactor }))
      await stored.readEvents(run)
      await this.#parts.follow(run, { giveBack }, (record) => {
        control.useModel(agent.model.current)
        const options = { decisions: signed(decisions, by), tools, control, signal, context, ...record }
        return execution.resume(run, agent, options)
      })
    } catch (error) {
      giveBack()
      const isElsewhere = error instanceof RunsElsewhere
      if (isElsewhere && error.isDecided) {
        // Another process has resumed the run for another decision, and also carries out this decision.
        followed.follow(run)
        running.delete(run)
        return
      }
      await note.withdraw()
      run.settle(outcome)
      running.delete(run)
      const isLate = isUnknownRun(error) || (ToolloopError.isInstance(error) && error.code === 'decision_refused')
      throw isLate || isElsewhere ? notWaiting(run, 'decided already') : notStored('The decision', error)
    }
  }

  /** Resumes a run that no process executes. */
  async carryOn(run: ServiceRun): Promise<void> {
    const { limiter, running, logger } = this.#parts
    const recorded = this.#parts.stored()
    const restored = await recorded.restore(run.head)
    const agent = this.#agentOf(run)
    if (running.has(run.id)) return
    const { control, signal } = run
    running.add(run)
    run.takeUp()
    // The limit was checked when the run started.
    const giveBack = limiter.countRun(run.head.caller.name)
    try {
      await recorded.readEvents(run)
      await this.#parts.follow(run, { giveBack }, (record) => {
        control.useModel(agent.model.current)
        return recorded.resume(run, agent, { ...restored, control, signal, ...record })
      })
      logger.info({ runId: run.id, caller: run.head.caller.name }, 'resumed a run of an earlier process')
    } catch (error) {
      giveBack()
      if (error instanceof RunsElsewhere) recorded.followed.follow(run)
      running.delete(run)
      throw error
    }
  }

  /** Returns the agent of a run. Throws an `HttpProblem` if the configuration no longer has it. */
  #agentOf({ id, head }: ServiceRun): Agent {
    const agent = this.#parts.host.agents.find(({ name }) => name === head.agent)
    if (agent !== undefined) return agent
    throw new HttpProblem(409, 'model_not_found', `Run ${id} stays paused: its model ${head.agent} is no longer in the configuration`)
  }
}
