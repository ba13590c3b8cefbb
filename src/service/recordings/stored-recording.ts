import { createHash } from 'node:crypto'
import type { RecordingPart, ShownRuns } from '../../agent/journal/shown-runs.ts'
import type { RecordedScope } from '../../agent/observe/recorder.ts'
import { compareSteps, isTurn } from '../../agent/step-keys.ts'
import { messageOf } from '../../core/errors.ts'
import { writeJson } from '../../core/json/json-pieces.ts'
import type { Logger } from '../../core/logger.ts'
import { type ChatMessage, isJsonObject } from '../../core/messages.ts'
import { type InParts, inTurns } from '../../core/time/give-way.ts'
import { firstMessages, lastMessages, shortStep } from '../../recording/file/recording-file.ts'
import { isCall, type RecordedPart, type RecordedRun, type RecordedStep } from '../../recording/format.ts'
import { headOf, orderedStep } from '../../recording/recorder.ts'
import type { RecordingSecrets } from '../../recording/secrets.ts'
import { BoundedRecorder, longestRecording, tooLong } from './bounded-recorder.ts'
import type { RecordingInParts } from './recording-parts.ts'

/** Characters there is room for in any case: for how the run ended, and that this is not the whole. */
const keptForEnd = 10_000

/** A run, as its recording sees it. */
interface RunRecorded {
  readonly id: string
  /** The execution under way. */
  readonly attempt: string | undefined
  readonly redactor: { readonly secrets: Iterable<string> }
}

export interface StoredRecordingParts {
  run: RunRecorded
  shown: Pick<ShownRuns, 'keepRecording' | 'writesInOrder'>
  /** What is not to be in it, as far as that is known before the run begins. */
  secrets: RecordingSecrets
  grown(by: number): void
  /** Called when nothing more is recorded here. */
  released(): void
  logger: Logger
}

/**
 * Records a run beside its journal. What came of a step is there, without secrets, before the journal has the step: so any process that goes on
 * with the run goes on with its recording too, and a step that is carried out again takes the place of what was recorded of it.
 */
export class StoredRecording extends BoundedRecorder {
  readonly #parts: StoredRecordingParts
  readonly #secrets: RecordingSecrets
  /** The characters of each part that is written, and of all. */
  readonly #sizes: Map<string, number>
  #characters = 0
  /** What was written as each part: most have nothing of what turns out to be secret later, and stay as they are. */
  readonly #digests = new Map<string, string>()
  /** Names of parts that are to be written. */
  readonly #changed = new Set<string>()
  /** How many secrets were known when something was last written. */
  #secretsWritten: number | undefined
  #writing: Promise<void> = Promise.resolve()

  /** `left`: names of parts that are there, and belong to nothing: to make room, others were deleted. */
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
    // What is written already may have been written without knowing more.
    if (earlier !== undefined) this.#secretsWritten = this.#secrets.size
  }

  /**
   * Writes what is new, and takes what has turned out to be secret out of what is written. Resolves when the step that is done may be recorded.
   * Never rejects: what can't be written is tried again the next time.
   */
  async keep(): Promise<void> {
    const { live } = this
    if (live === undefined) return
    this.#writing = this.#writing.then(() => this.#write(live)).catch((error: unknown) => this.#failed([], error))
    await this.#writing
  }

  /** A step was carried out by an earlier execution. One that was not recorded is missing. */
  passed(step: string, value: unknown): void {
    const { given, steps = {} } = this.live ?? {}
    if (given === undefined || this.isStopped || !isTurn(step) || step in steps) return
    if (!isJsonObject(value) || value.kind !== 'reply' || given.partial !== undefined) return
    given.partial = 'a part of it was carried out without being recorded'
    this.#changed.add('given')
  }

  release(): void {
    this.#parts.released()
  }

  override stop(why: string): void {
    if (this.isStopped) return
    super.stop(why)
    this.#changed.add('given')
  }

  protected override noted(run: RecordedScope, part: string, value: RecordedPart | undefined): void {
    super.noted(run, part, value)
    // A run inside a call is written with its call.
    if (run.runId !== this.#parts.run.id) return
    this.#changed.add(part)
    const { steps = {} } = this.live ?? {}
    const { [part]: call } = steps
    if (!isCall(call)) return
    // A run inside a call that is made again is recorded with the call that began it.
    for (const [key, step] of Object.entries(steps)) if (isCall(step) && step.id === call.id) this.#changed.add(key)
  }

  async #write(live: RecordedRun): Promise<void> {
    const names = new Set(this.#changed)
    this.#changed.clear()
    const { isStopped } = this
    const written = await this.#handOver(live, names).catch((error: unknown) => this.#failed(names, error))
    if (!this.#parts.shown.writesInOrder) await written?.stored
    // That there was no room for all may be the last there is to say.
    if (!isStopped && this.isStopped) await this.#write(live)
  }

  /** Resolves as soon as they are handed over, with when they are stored. */
  async #handOver(live: RecordedRun, names: Set<string>): Promise<{ stored: Promise<unknown> }> {
    const { run, shown } = this.#parts
    this.#secrets.add(run.redactor.secrets)
    // The run goes on meanwhile, and of what comes now nobody has looked at what is secret.
    const changed = [...names].toSorted(compareSteps).map((name) => partOf(live, name))
    for (const { name, value } of changed) {
      if (isStep(name, value)) await inTurns(this.#secrets.learn({ given: live.given, steps: { [name]: value } }))
    }
    const { size } = this.#secrets
    // A run may never end: what is secret is in no part from when that is known.
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

  /** A part without secrets, as JSON; `''` where it is no more, or there is no room for it. */
  #textOf(given: RecordedRun['given'], { name, value, before }: Part): Promise<string> {
    const secrets = this.#secrets
    if (name === 'given') return this.#jsonOf(name, given, () => secrets.cleanInput(given))
    if (!isStep(name, value)) return this.#jsonOf(name, value, () => secrets.clean(value))
    // What is not written is not looked through either.
    const short = shortStep(given, before, value)
    return this.#jsonOf(name, short, () => secrets.cleanStep(short))
  }

  /** To look through what is too long to be written would hold up everybody else. */
  async #jsonOf(name: string, value: object | undefined, clean: () => InParts<object | undefined>): Promise<string> {
    if (value === undefined) return ''
    const isNeeded = name === 'given' || name === 'result'
    // Nothing follows what is missing.
    if (this.isStopped && !isNeeded && !this.#sizes.get(name)) return ''
    const room = longestRecording - this.#characters + (this.#sizes.get(name) ?? 0) + (isNeeded ? keptForEnd : 0)
    if (sizeUpTo(room, value) <= room) {
      const json = await writeJson((await inTurns(clean())) ?? {})
      // Quotes and the like are longer in JSON.
      if (json.length <= room) return json
    }
    this.stop(tooLong)
    return ''
  }
}

/** A part as the run has it at one time. */
interface Part {
  name: string
  value: RecordedPart | undefined
  /** The messages of the last request before it. */
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

/** Roughly how long a value is as JSON, as far as that is needed to know that it is longer than `most`. */
function sizeUpTo(most: number, value: unknown): number {
  if (typeof value === 'string') return value.length + 3
  let size = 3
  if (typeof value !== 'object' || value === null) return size
  for (const key in value) {
    size += sizeUpTo(most - size, value[key as keyof typeof value])
    if (size > most) break
  }
  return size
}
