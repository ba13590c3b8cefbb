import { runToolRound, type StartCalls } from '../../agent/calls/tool-round.ts'
import type { RunContext } from '../../agent/run/run-context.ts'
import type { Execution } from '../../agent/types/execution.ts'
import type { ToolCallRecord } from '../../agent/types/options.ts'
import type { FinishedCall, PlannedCall, ToolRound } from '../../agent/types/recorded.ts'

interface Dispatch {
  isBegun: boolean
  /** Resolved when LangChain requests the call. */
  begun: PromiseWithResolvers<void>
  /** Resolved with the call's record. Never resolved if the call has to wait for a decision. */
  ended: PromiseWithResolvers<ToolCallRecord>
}

/** The calls of one turn. Each call starts when LangChain requests it. */
export class DispatchedRound {
  /** Resolves with the round's result once every call has run or the run is interrupted. */
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

  /** Whether LangChain has requested every call. */
  get isBegun(): boolean {
    return [...this.#dispatches.values()].every(({ isBegun }) => isBegun)
  }

  /**
   * Runs the call with this id, once. Resolves with the call's record, or with undefined if the call has to wait for a decision or doesn't
   * exist.
   */
  async runCall(id: string): Promise<ToolCallRecord | undefined> {
    const dispatch = this.#dispatches.get(id)
    if (dispatch === undefined) return undefined
    dispatch.isBegun = true
    dispatch.begun.resolve()
    const whole = this.result.then(({ records }) => records.find((record) => record.id === id))
    return Promise.race([dispatch.ended.promise, whole])
  }

  /** Waits until LangChain requests the call or the run is interrupted. In an interrupted run, the remaining calls end as `cancelled`. */
  async #whenBegun(id: string, carryOut: () => Promise<FinishedCall[]>): Promise<FinishedCall[]> {
    const dispatch = this.#dispatches.get(id)
    if (dispatch !== undefined) await this.#run.untilInterrupted(dispatch.begun.promise)
    const finished = await carryOut()
    for (const { record, question } of finished) if (question === undefined) dispatch?.ended.resolve(record)
    return finished
  }
}
