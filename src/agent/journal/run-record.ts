import { copyAsJson } from '../../core/json.ts'
import { isJsonObject, type Json } from '../../core/messages.ts'
import { isDoneAgain, iterationOf } from '../step-keys.ts'
import type { PendingItem, RunState } from '../types/result.ts'
import { CallRecord, type RecordKeeper } from './call-record.ts'

const inputMark = 'input'
const stepMark = 'step '
const pauseMark = 'paused'
const decisionMark = 'decided '
const spentMark = 'spent'

/** The parts of a run's state that a pause records. */
type Pause = Pick<RunState, 'pending' | 'waitingSince'>

/**
 * The record of a nested run, which is part of the record of its call: the run's input, steps, pauses and decisions, in order. If the call
 * runs again, the nested run continues from its record.
 */
export class RunRecord {
  readonly runId: string
  readonly #record: CallRecord
  /**
   * Whether the run is ending because of a failure or an interruption. Later steps are then not recorded, because the call may run again.
   */
  #isBreakingOff = false

  private constructor(runId: string, record: CallRecord) {
    this.runId = runId
    this.#record = record
  }

  static async open(keeper: RecordKeeper, name: string, runId: string): Promise<RunRecord> {
    return new RunRecord(runId, await CallRecord.open(keeper, name))
  }

  /** The state of the run after earlier executions. Undefined if there was no earlier execution. */
  read(): RunState | undefined {
    const steps = new Map<string, Json>()
    const decisions: RunState['decisions'] = {}
    let pause: Pause = { pending: [], waitingSince: {} }
    let input: Json | undefined
    for (const { fingerprint, value } of this.#record.entries) {
      if (fingerprint === inputMark) input = value
      else if (fingerprint.startsWith(stepMark)) steps.set(fingerprint.slice(stepMark.length), value)
      else if (fingerprint.startsWith(decisionMark)) decisions[fingerprint.slice(decisionMark.length)] = value
      else if (fingerprint === pauseMark) {
        pause = value as never as Pause
        const iteration = iterationOf(pause.pending[0]?.place)
        for (const key of steps.keys()) if (isDoneAgain(key, iteration)) steps.delete(key)
      }
    }
    if (input === undefined) return undefined
    return { version: 1, runId: this.runId, input, steps: Object.fromEntries(steps), decisions, ...copyAsJson(pause) }
  }

  /** Whether the run can't be continued. The call that started this run then starts another nested run if it runs again. */
  get isSpent(): boolean {
    return this.#record.entries.at(-1)?.fingerprint === spentMark
  }

  async spend(): Promise<void> {
    await this.#record.add(spentMark, null)
  }

  async begin(input: Json): Promise<void> {
    await this.#record.add(inputMark, input)
  }

  /** Records a step if the next execution can use it. `isOver`: whether the run was interrupted before the step ended. */
  async addStep(key: string, value: unknown, isOver: boolean): Promise<void> {
    if (this.#isProgress(value, isOver)) await this.#record.add(stepMark + key, (value ?? null) as Json)
  }

  async pause(pending: readonly PendingItem[], { waitingSince }: Pick<RunState, 'waitingSince'>): Promise<void> {
    // `about` is left out, because the call that asked the question has it in its own record.
    const items = pending.map(({ about: _, ...item }) => item)
    await this.#record.add(pauseMark, copyAsJson({ pending: items, waitingSince }) as never)
  }

  /** Records the decisions made since the pause. */
  async decide({ decisions: earlier }: RunState, { decisions }: RunState): Promise<void> {
    for (const [place, verdict] of Object.entries(decisions)) {
      if (!Object.hasOwn(earlier, place)) await this.#record.add(decisionMark + place, verdict)
    }
  }

  leave(): void {
    this.#record.leave()
  }

  /** Whether a step has to be recorded. The end of a call always has to be recorded, unless the call was interrupted. */
  #isProgress(value: unknown, isOver: boolean): boolean {
    if (isJsonObject(value) && 'record' in value) return value.interrupted === undefined
    this.#isBreakingOff ||= isOver || isFailure(value)
    return !this.#isBreakingOff
  }
}

/** Whether a step's value is a failed turn that may succeed when it is repeated. */
function isFailure(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  return value.kind === 'failed' || (value.kind === 'refused' && isJsonObject(value.error) && value.error.code === 'hook_failed')
}
