import type { RunRecorder } from '../../agent/observe/recorder.ts'
import { isSecretKey } from '../../core/logger.ts'
import { Pauses } from '../../tools/yield-to-event-loop.ts'
import { HttpProblem } from '../http/problem.ts'
import type { ServiceRun } from '../runs/service-run.ts'
import { BoundedRecorder } from './bounded-recorder.ts'
import { recordingText } from './recording-text.ts'

/** Runs at once. */
const mostRecorded = 10_000

/** Recordings of the runs that this process carries out, in memory: the oldest make room for others. */
export class RunRecordings {
  readonly #secrets: readonly string[]
  readonly #maxCharacters: () => number
  /** The one that went on last is the last. */
  readonly #recorders = new Map<string, BoundedRecorder>()
  #characters = 0

  /** Keys in the environment are never in a recording. `maxCharacters`: of all of them together; 0: runs are not recorded. */
  constructor(env: Readonly<Record<string, string | undefined>>, maxCharacters: () => number) {
    this.#maxCharacters = maxCharacters
    this.#secrets = Object.entries(env).flatMap(([name, value = '']) => (value.length >= 8 && isSecretKey(name) ? [value] : []))
  }

  /** What records an execution of a run; undefined: nothing does. */
  recorderOf(run: ServiceRun): RunRecorder | undefined {
    if (this.#maxCharacters() === 0) return undefined
    const recorder = this.#recorders.get(run.id) ?? new BoundedRecorder((by) => this.#grow(by))
    this.#recorders.delete(run.id)
    this.#recorders.set(run.id, recorder)
    // Those that were too long take up nothing, but their places.
    const [oldest] = this.#recorders.keys()
    if (this.#recorders.size > mostRecorded && oldest !== undefined) this.#forget(oldest)
    return recorder
  }

  /** How many there are, those included of which there is nothing any more. */
  get size(): number {
    return this.#recorders.size
  }

  /** The file of a run's recording. Rejects with an `HttpProblem`: 404 where there is none, 409 while the run goes on. */
  async fileOf(run: ServiceRun): Promise<string[]> {
    if (run.status === 'running') throw new HttpProblem(409, 'still_running', `Run ${run.id} is still running`)
    const recorded = this.#recorders.get(run.id)?.recorded
    const { secrets } = run.redactor
    if (recorded === undefined || secrets.isFull) throw new HttpProblem(404, 'not_recorded', `There is no recording of run ${run.id}`)
    return recordingText(recorded, [...this.#secrets, ...secrets], new Pauses())
  }

  #grow(by: number): void {
    this.#characters += by
    const max = this.#maxCharacters()
    for (const runId of this.#recorders.keys()) {
      if (this.#characters <= max) return
      this.#forget(runId)
    }
  }

  #forget(runId: string): void {
    const recorder = this.#recorders.get(runId)
    this.#recorders.delete(runId)
    this.#characters -= recorder?.size ?? 0
    recorder?.drop()
  }
}
