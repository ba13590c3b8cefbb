import type { RecordingPart, ShownRuns } from '../../agent/journal/shown-runs.ts'
import type { RunRecorder } from '../../agent/observe/recorder.ts'
import type { Logger } from '../../core/logger.ts'
import { recordingText } from '../../recording/file/recording-text.ts'
import type { RecordedRun } from '../../recording/format.ts'
import { RecordingSecrets } from '../../recording/secrets.ts'
import { HttpProblem } from '../http/problem.ts'
import { BoundedRecorder } from '../recordings/bounded-recorder.ts'
import { recordingOfParts } from '../recordings/recording-parts.ts'
import { StoredRecording } from '../recordings/stored-recording.ts'
import type { RunBounds } from '../run-bounds.ts'
import type { ServiceRun } from './service-run.ts'

type Shown = Pick<ShownRuns, 'keepRecording' | 'recording' | 'writesInOrder'>

/** The option that records an execution. Empty if the execution is not recorded. */
export interface RecordOption {
  recorder?: RunRecorder
}

type RecordingBounds = Pick<RunBounds, 'recordingCharacters' | 'recordsInMemory'>

/**
 * The recordings of runs. A run with a journal is recorded in the store, and other runs in memory. If there are too many, the oldest
 * recordings are deleted.
 */
export class RunRecordings {
  readonly #secrets: Iterable<string>
  readonly #bounds: () => RecordingBounds
  readonly #logger: Logger
  /** The recorders by run. The run whose execution started longest ago comes first. */
  readonly #recorders = new Map<string, BoundedRecorder>()
  #characters = 0

  /** `secrets` contains texts that are redacted in every recording. */
  constructor(secrets: Iterable<string>, bounds: () => RecordingBounds, logger: Logger) {
    this.#bounds = bounds
    this.#logger = logger
    this.#secrets = secrets
  }

  /** Returns the recording option of an execution that is about to start. `shown` is the store of a run that has a journal. */
  async optionFor(run: ServiceRun, shown: Shown | undefined): Promise<RecordOption> {
    const { recordingCharacters, recordsInMemory } = this.#bounds()
    if (recordingCharacters === 0 || (shown === undefined && !recordsInMemory)) return {}
    const known = this.#recorders.get(run.id)
    const recorder = shown === undefined ? (known ?? this.#inMemory(run)) : await this.#stored(run, shown)
    if (known !== recorder) this.forget(run)
    this.#recorders.delete(run.id)
    this.#recorders.set(run.id, recorder)
    this.#grow(known === recorder ? 0 : recorder.size)
    return { recorder }
  }

  /**
   * Returns the file of a run's recording, in pieces. Rejects with an `HttpProblem`: 404 if there is no recording, 409 while the run is
   * running.
   */
  async fileOf(run: ServiceRun, shown: Shown | undefined): Promise<string[]> {
    if (run.status === 'running') throw new HttpProblem(409, 'still_running', `Run ${run.id} is still running`)
    const { secrets } = run.redactor
    const recorded = secrets.isFull ? undefined : await this.#recorded(run, shown)
    if (recorded === undefined) throw new HttpProblem(404, 'not_recorded', `There is no recording of run ${run.id}`)
    const { given, result } = recorded
    const isWhole = result !== undefined || given.partial !== undefined
    const whole = isWhole ? recorded : { ...recorded, given: { ...given, partial: 'how it ended is not recorded' } }
    return recordingText({ runId: run.id, run: whole }, new RecordingSecrets([...this.#secrets, ...secrets]))
  }

  /** Deletes recordings from memory if their runs are no longer stored. `known` returns the ids of the stored runs. */
  async forgetUnknown(known: (runIds: readonly string[]) => Promise<ReadonlySet<string>>): Promise<void> {
    const ids = [...this.#recorders.keys()]
    const kept = ids.length === 0 ? undefined : await known(ids)
    for (const id of ids) if (kept?.has(id) === false) this.forget({ id })
  }

  /** Deletes a run's recording from memory. */
  forget({ id }: Pick<ServiceRun, 'id'>): void {
    this.#characters -= this.#recorders.get(id)?.size ?? 0
    this.#recorders.delete(id)
  }

  #inMemory({ id }: ServiceRun): BoundedRecorder {
    const recorder: BoundedRecorder = new BoundedRecorder((by) => this.#grown(id, recorder, by))
    return recorder
  }

  async #stored(run: ServiceRun, shown: Shown): Promise<StoredRecording> {
    const written = await allParts(shown, run.id)
    const earlier = await recordingOfParts(written)
    const left = earlier === undefined ? written.map(({ name }) => name) : []
    const recording: StoredRecording = new StoredRecording(
      {
        run,
        shown,
        secrets: new RecordingSecrets(this.#secrets),
        grown: (by) => this.#grown(run.id, recording, by),
        released: () => {
          if (this.#recorders.get(run.id) === recording) this.forget(run)
        },
        logger: this.#logger,
      },
      earlier,
      left,
    )
    return recording
  }

  async #recorded(run: ServiceRun, shown: Shown | undefined): Promise<RecordedRun | undefined> {
    if (shown === undefined) return this.#recorders.get(run.id)?.recorded()?.run
    return (await recordingOfParts(await allParts(shown, run.id)))?.run
  }

  #grown(runId: string, recorder: BoundedRecorder, by: number): void {
    // A deleted recorder may still be recording, but no longer counts.
    if (this.#recorders.get(runId) === recorder) this.#grow(by)
  }

  #grow(by: number): void {
    this.#characters += by
    const { recordingCharacters: max } = this.#bounds()
    for (const [runId, recorder] of this.#recorders) {
      if (this.#characters <= max) return
      this.#recorders.delete(runId)
      this.#characters -= recorder.size
      recorder.stop('there was no room for more of it')
    }
  }
}

/** Reads all parts of a run's recording, in as many queries as necessary. */
async function allParts(shown: Shown, runId: string): Promise<RecordingPart[]> {
  const all: RecordingPart[] = []
  for (;;) {
    const more = await shown.recording(runId, all.at(-1)?.name ?? '')
    if (more.length === 0) return all
    for (const part of more) all.push(part)
  }
}
