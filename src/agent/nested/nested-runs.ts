import { hashOf } from '../../core/digest.ts'
import type { ChatMessage } from '../../core/messages.ts'
import type { ToolContext } from '../../tools/tool.ts'
import type { RecordKeeper } from '../journal/call-record.ts'
import type { RecordPlace } from '../journal/own-steps.ts'
import { RunRecord } from '../journal/run-record.ts'
import type { RunState } from '../types/result.ts'

/** A nested run, with its place in the record of the call. */
export interface NestedRun {
  readonly runId: string
  readonly place: RecordPlace
  /** The state that earlier executions of the call recorded. */
  readonly recorded: RunState | undefined
}

/** The runs nested in the calls of one run. */
export class NestedRuns {
  /** How many nested runs with the same input the current attempt at a call has started. */
  readonly #counts = new Map<string, number>()
  readonly #open = new Map<string, RunRecord>()

  /** Called when a call starts, for the first time or again. The count of its nested runs starts from zero. */
  restart(call: string): void {
    for (const name of this.#counts.keys()) if (name.startsWith(`${call}/`)) this.#counts.delete(name)
  }

  /**
   * The id of the next nested run with this input. Nested runs of a call are identified by their inputs, because they may start in any
   * order.
   */
  nextId({ idempotencyKey, attempt }: Pick<ToolContext, 'idempotencyKey' | 'attempt'>, input: readonly ChatMessage[]): string {
    const id = `${idempotencyKey}/${hashOf(input as never).slice(0, 8)}`
    const place = `${id} ${attempt}`
    const count = (this.#counts.get(place) ?? 0) + 1
    this.#counts.set(place, count)
    return count === 1 ? id : `${id}.${count}`
  }

  async open(keeper: RecordKeeper, name: string, runId: string, times = 1): Promise<NestedRun> {
    const again = times === 1 ? '' : `/${times}`
    const record = await RunRecord.open(keeper, name + again, runId + again)
    if (record.isSpent) return this.open(keeper, name, runId, times + 1)
    // An abandoned attempt must not record anything more.
    this.#open.get(name)?.leave()
    this.#open.set(name, record)
    return { runId: record.runId, place: { record, outer: keeper }, recorded: record.read() }
  }
}
