import { runToolRound, type StartCalls } from '../../agent/calls/tool-round.ts'
import type { RunContext } from '../../agent/run/run-context.ts'
import type { Execution } from '../../agent/types/execution.ts'
import type { ToolCallRecord } from '../../agent/types/options.ts'
import type { FinishedCall, PlannedCall, ToolRound } from '../../agent/types/recorded.ts'

interface Dispatch {
  isBegun: boolean
  /** Resolved when the call is to run. */
  begun: PromiseWithResolvers<void>
  /** Resolved with what came of it, where it did not have to wait for somebody. */
  ended: PromiseWithResolvers<ToolCallRecord>
}

/** All calls of one turn, each of which runs when it is told to: approvals, lanes and events are those of every round. */
export class DispatchedRound {
  /** What the round came to, when every call has been run, or the run is interrupted. */
  readonly result: Promise<ToolRound>
  readonly #run: RunContext
  readonly #dispatches: ReadonlyMap<string, Dispatch>

  constructor(execution: Execution, iteration: number, planned: readonly PlannedCall[]) {
    this.#run = execution.run
    const dispatch = (): Dispatch => ({ isBegun: false, begun: Promise.withResolvers(), ended: Promise.withResolvers() })
    this.#dispatches = new Map(planned.map(({ id }) => [id, dispatch()]))
    const start: StartCalls = async (work, carryOut) =>
      (await Promise.all(work.map((one) => this.#whenBegun(one.call.id, () => carryOut([one]))))).flat()
    this.result = runToolRound(execution, iteration, planned, start)
  }

  /** Whether every call was told to run. */
  get isBegun(): boolean {
    return [...this.#dispatches.values()].every(({ isBegun }) => isBegun)
  }

  /** Runs the call of that id, once. Resolves with its record; undefined when it is left waiting for somebody, or there is no such call. */
  async runCall(id: string): Promise<ToolCallRecord | undefined> {
    const dispatch = this.#dispatches.get(id)
    if (dispatch === undefined) return undefined
    dispatch.isBegun = true
    dispatch.begun.resolve()
    const whole = this.result.then(({ records }) => records.find((record) => record.id === id))
    return Promise.race([dispatch.ended.promise, whole])
  }

  /** An interrupted run is not waited for: its calls end as cancelled. */
  async #whenBegun(id: string, carryOut: () => Promise<FinishedCall[]>): Promise<FinishedCall[]> {
    const dispatch = this.#dispatches.get(id)
    if (dispatch !== undefined) await this.#run.untilInterrupted(dispatch.begun.promise)
    const finished = await carryOut()
    for (const { record, question } of finished) if (question === undefined) dispatch?.ended.resolve(record)
    return finished
  }
}
