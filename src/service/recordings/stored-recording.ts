import { createHash } from 'node:crypto'
import type { RecordingPart, ShownRuns } from '../../agent/journal/shown-runs.ts'
import type { RecordedScope, RunRecorder } from '../../agent/observe/recorder.ts'
import { compareSteps, isTurn } from '../../agent/step-keys.ts'
import type { RunResult } from '../../agent/types/result.ts'
import { messageOf } from '../../core/errors.ts'
import { writeJson } from '../../core/json/json-pieces.ts'
import { isLargerThan } from '../../core/json.ts'
import type { Logger } from '../../core/logger.ts'
import type { ChatMessage } from '../../core/messages.ts'
import { type InParts, inTurns } from '../../core/time/give-way.ts'
import { firstMessages, lastMessages, shortStep } from '../../recording/file/recording-file.ts'
import { isCall, type RecordedPart, type RecordedRun, type RecordedStep } from '../../recording/format.ts'
import { headOf, orderedStep } from '../../recording/recorder.ts'
import type { RecordingSecrets } from '../../recording/secrets.ts'
import { BoundedRecorder, longestRecording, tooLong } from './bounded-recorder.ts'
import type { RecordingInParts } from './recording-parts.ts'

/** Number of characters reserved for the end of the run and for the note that the recording is incomplete. */
const keptForEnd = 10_000

interface RunRecorded {
  readonly id: string
  /** The id of the current execution. */
  readonly attempt: string | undefined
  readonly redactor: { readonly secrets: Iterable<string> }
}

export interface StoredRecordingParts {
  run: RunRecorded
  shown: Pick<ShownRuns, 'keepRecording' | 'writesInOrder'>
  /** The known secrets. The recording adds those that it finds. */
  secrets: RecordingSecrets
  grown(by: number): void
  /** Called when this process stops recording the run. */
  released(): void
  logger: Logger
}

/**
 * Records a run in the store of its journal. A step's recording is stored before the journal records the step, so that a process that
 * resumes the run can continue the recording.
 */
export class StoredRecording extends BoundedRecorder {
  readonly #parts: StoredRecordingParts
  readonly #secrets: RecordingSecrets
  /** The size of each stored part, in characters. */
  readonly #sizes: Map<string, number>
  #characters = 0
  /**
   * The digests of the stored parts. A part is stored again only if its digest changes, for example because another secret in it was found.
   */
  readonly #digests = new Map<string, string>()
  /** The names of the parts that must be stored. */
  readonly #changed = new Set<string>()
  /** The number of secrets that were known at the last write. */
  #secretsWritten: number | undefined
  #writing: Promise<void> = Promise.resolve()

  /** `left` contains the names of stored parts of a recording whose beginning was deleted to make room. */
  constructor(parts: StoredRecordingParts, earlier?: RecordingInParts, left: readonly string[] = []) {
    const { id } = parts.run
    const sizes = new Map(earlier?.sizes)
    const characters = [...sizes.values()].reduce((sum, size) => sum + size, 0)
    super(parts.grown, earlier && { recording: { ...headOf(id), ...earlier.run }, characters })
    this.#sizes = sizes
    this.#characters = characters
    this.#parts = parts
    this.#secrets = parts.secrets
    for (const name of left) this.#changed.add(name)
    // The known secrets are already redacted in the stored parts.
    if (earlier !== undefined) this.#secretsWritten = this.#secrets.size
  }

  /**
   * Stores new parts, and redacts newly found secrets in stored parts. Resolves when the journal may record the completed step. Never
   * rejects: a failed write is repeated with the next parts.
   */
  async keep(): Promise<void> {
    const { live } = this
    if (live === undefined) return
    this.#writing = this.#writing.then(() => this.#write(live)).catch((error: unknown) => this.#failed([], error))
    await this.#writing
  }

  override async aroundExecution(...given: Parameters<RunRecorder['aroundExecution']>): Promise<RunResult> {
    try {
      return await super.aroundExecution(...given)
    } finally {
      if (given[0].runId === this.#parts.run.id) this.#parts.released()
    }
  }

  override stop(why: string): void {
    if (this.isStopped) return
    super.stop(why)
    this.#changed.add('given')
  }

  /** Nested runs are ignored here, because they are stored with the call that started them. */
  protected override async stepEnded({ runId }: RecordedScope): Promise<void> {
    if (runId === this.#parts.run.id) await this.keep()
  }

  protected override noted(run: RecordedScope, part: string, value: RecordedPart | undefined): void {
    super.noted(run, part, value)
    if (run.runId !== this.#parts.run.id) return
    this.#changed.add(part)
    const { steps = {} } = this.live ?? {}
    const { [part]: call } = steps
    if (!isCall(call)) return
    // If a call is repeated, its nested run changes. Every step with this call is therefore stored again.
    for (const [key, step] of Object.entries(steps)) if (isCall(step) && step.id === call.id) this.#changed.add(key)
  }

  async #write(live: RecordedRun): Promise<void> {
    const names = new Set(this.#changed)
    this.#changed.clear()
    const { isStopped } = this
    const written = await this.#handOver(live, names).catch((error: unknown) => this.#failed(names, error))
    if (!this.#parts.shown.writesInOrder) await written?.stored
    // The recording may have been stopped during this write. The part `given` then notes the reason.
    if (!isStopped && this.isStopped) await this.#write(live)
  }

  /** Resolves when the parts are handed over to the store. `stored` resolves when they are stored. */
  async #handOver(live: RecordedRun, names: Set<string>): Promise<{ stored: Promise<unknown> }> {
    const { run, shown } = this.#parts
    this.#secrets.add(run.redactor.secrets)
    // The parts are copied first, because the run may change them while they are searched for secrets.
    const changed = [...names].toSorted(compareSteps).map((name) => partOf(live, name))
    for (const { name, value } of changed) {
      if (isStep(name, value)) await inTurns(this.#secrets.learn({ given: live.given, steps: { [name]: value } }))
    }
    const { size } = this.#secrets
    // Newly found secrets are redacted in all stored parts.
    if ((this.#secretsWritten ?? size) < size) {
      for (const name of ['given', ...Object.keys(live.steps)]) {
        if (names.has(name)) continue
        names.add(name)
        changed.push(partOf(live, name))
      }
    }
    this.#secretsWritten = size
    const parts: RecordingPart[] = []
    for (const part of changed) {
      const { name } = part
      const value = await this.#textOf(live.given, part)
      const digest = createHash('sha256').update(value).digest('base64')
      if (this.#digests.get(name) !== digest) parts.push({ name, value })
      this.#digests.set(name, digest)
      this.#characters += value.length - (this.#sizes.get(name) ?? 0)
      this.#sizes.set(name, value.length)
    }
    if (parts.length === 0) return { stored: Promise.resolve() }
    return { stored: shown.keepRecording(run.id, run.attempt ?? '', parts).catch((error: unknown) => this.#failed(names, error)) }
  }

  #failed(names: Iterable<string>, error: unknown): void {
    const { run, logger } = this.#parts
    for (const name of names) {
      this.#changed.add(name)
      this.#digests.delete(name)
    }
    logger.warn({ runId: run.id, error: messageOf(error) }, 'the recording of a run could not be written yet')
  }

  /** Returns a redacted part as JSON. Returns `''` if the part no longer exists, or if there is no room for it. */
  #textOf(given: RecordedRun['given'], { name, value, before }: Part): Promise<string> {
    const secrets = this.#secrets
    if (name === 'given') return this.#jsonOf(name, given, () => secrets.cleanInput(given))
    if (!isStep(name, value)) return this.#jsonOf(name, value, () => secrets.clean(value))
    const short = shortStep(given, before, value)
    return this.#jsonOf(name, short, () => secrets.cleanStep(short))
  }

  /**
   * Converts a part to redacted JSON. The size is checked before the search, because searching an oversized part would block other work.
   */
  async #jsonOf(name: string, value: object | undefined, clean: () => InParts<object | undefined>): Promise<string> {
    if (value === undefined) return ''
    const isNeeded = name === 'given' || name === 'result'
    // A stopped recording gets no new steps.
    if (this.isStopped && !isNeeded && !this.#sizes.get(name)) return ''
    const room = longestRecording - this.#characters + (this.#sizes.get(name) ?? 0) + (isNeeded ? keptForEnd : 0)
    if (!isLargerThan(room, value)) {
      const json = await writeJson((await inTurns(clean())) ?? {})
      // JSON escapes make the text longer, so its final size is checked again.
      if (json.length <= room) return json
    }
    this.stop(tooLong)
    return ''
  }
}

interface Part {
  name: string
  value: RecordedPart | undefined
  /** The messages of the last model request before this part. */
  before: readonly ChatMessage[]
}

function partOf({ given, steps, result }: RecordedRun, name: string): Part {
  const { [name]: step } = steps
  if (step === undefined) return { name, value: name === 'given' ? given : name === 'result' ? result : undefined, before: [] }
  const keys = Object.keys(steps)
  const earlier = keys.slice(0, keys.indexOf(name)).findLast((key) => isTurn(key))
  const before = earlier === undefined ? undefined : lastMessages(steps[earlier])
  return { name, value: orderedStep(step), before: before ?? firstMessages(given) }
}

function isStep(name: string, value: RecordedPart | undefined): value is RecordedStep {
  return value !== undefined && name !== 'given' && name !== 'result'
}
