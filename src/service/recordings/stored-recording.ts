import { createHash } from 'node:crypto'
import type { RecordingPart, ShownRuns } from '../../agent/journal/shown-runs.ts'
import type { RecordedScope } from '../../agent/observe/recorder.ts'
import { isSteering, isTurn } from '../../agent/step-keys.ts'
import type { RunResult } from '../../agent/types/result.ts'
import { messageOf } from '../../core/errors.ts'
import { writeJson } from '../../core/json/json-pieces.ts'
import type { Logger } from '../../core/logger.ts'
import { isJsonObject, type Json, withoutUndefined } from '../../core/messages.ts'
import { type InParts, inTurns } from '../../core/time/give-way.ts'
import { firstMessages, shortCall, shortTurn } from '../../recording/file/recording-file.ts'
import type { RecordedCall, RecordedRun, RecordedTurn } from '../../recording/format.ts'
import { headOf, ordered } from '../../recording/recorder.ts'
import type { RecordingSecrets } from '../../recording/secrets.ts'
import { BoundedRecorder, longestRecording, tooLong } from './bounded-recorder.ts'
import { partName, type RecordingInParts, type TurnPart } from './recording-parts.ts'

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
  /** The steps that turns were made in. */
  readonly #steps: string[]
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
    this.#steps = [...(earlier?.steps ?? [])]
    for (const name of left) this.#changed.add(name)
    // What is written already may have been written without knowing more.
    if (earlier !== undefined) this.#secretsWritten = this.#secrets.size
  }

  /** A step is about to be carried out; where it was before, by a process that died before it was recorded, that is forgotten. */
  redo(step: string): void {
    const turns = this.live?.turns ?? []
    const first = this.#steps.indexOf(step)
    if (first >= 0) {
      for (const [at, { calls = [] }] of turns.entries()) {
        if (at < first) continue
        const names = [partName.turn(at), partName.decided(at), ...calls.map(({ place }) => partName.call(at, place))]
        for (const name of names) this.#changed.add(name)
      }
      turns.length = first
      this.#steps.length = first
    }
    const last = turns.at(-1)
    if (last?.calls?.some(({ place }) => place === step) !== true) return
    last.calls = last.calls.filter(({ place }) => place !== step)
    this.#changed.add(partName.call(turns.length - 1, step))
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
    const { given } = this.live ?? {}
    if (given === undefined || this.isStopped || !isTurn(step) || this.#steps.includes(step)) return
    if (!isJsonObject(value) || value.kind !== 'reply' || given.partial !== undefined) return
    given.partial = 'a part of it was carried out without being recorded'
    this.#changed.add(partName.given)
  }

  release(): void {
    this.#parts.released()
  }

  override stop(why: string): void {
    if (this.isStopped) return
    super.stop(why)
    this.#changed.add(partName.given)
  }

  override begins(run: RecordedScope, input: Json): void {
    super.begins(run, input)
    if (this.#isOwn(run) && this.live?.turns.length === 0) this.#changed.add(partName.given)
  }

  override step(run: RecordedScope, key: string, value: unknown, about?: object): void {
    super.step(run, key, value, about)
    const turns = this.live?.turns
    if (turns === undefined || !this.#isOwn(run)) return
    for (let at = this.#steps.length; at < turns.length; at++) {
      this.#steps.push(key)
      this.#changed.add(partName.turn(at))
    }
    const last = turns.length - 1
    if (about !== undefined) {
      const at = turns.findLastIndex(({ decisions = [] }) => decisions.some(({ place }) => place === key))
      if (at >= 0) this.#changed.add(partName.decided(at))
    } else if (isSteering(key) && turns[last]?.steering !== undefined) this.#changed.add(partName.decided(last))
    const { calls = [] } = turns[last] ?? {}
    const done = calls.find(({ place }) => place === key)
    // A run inside a call that is made again is recorded with the call that began it.
    for (const { id, place } of calls) if (id === done?.id) this.#changed.add(partName.call(last, place))
  }

  override ended(run: RecordedScope, result: RunResult): void {
    super.ended(run, result)
    if (!this.#isOwn(run)) return
    this.#changed.add(partName.result)
    const { turns = [] } = this.live ?? {}
    const last = turns.at(-1)
    // Its model may still be at it, and nothing of that counts.
    if (last !== undefined && last.response === undefined && last.error === undefined) this.#changed.add(partName.turn(turns.length - 1))
  }

  #isOwn({ runId }: RecordedScope): boolean {
    return runId === this.#parts.run.id
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
    const changed = [...names].map((name) => this.#partOf(live, name))
    for (const part of changed) await inTurns(this.#learn(live, part))
    const { size } = this.#secrets
    // A run may never end: what is secret is in no part from when that is known.
    if ((this.#secretsWritten ?? size) < size) {
      for (const name of namesOf(live)) {
        if (names.has(name)) continue
        names.add(name)
        changed.push(this.#partOf(live, name))
      }
    }
    this.#secretsWritten = size
    const parts: RecordingPart[] = []
    for (const part of changed) {
      const { name } = part
      const value = await this.#textOf(live, part)
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

  /** What there is of a part now. */
  #partOf({ turns }: RecordedRun, name: string): Part {
    const [number, kind, place] = name.split(' ')
    const at = Number(number)
    const { [at]: whole } = turns
    if (whole === undefined) return { name, at, kind }
    const { calls = [], ...turn } = whole
    const call = kind === 'call' ? calls.find((one) => one.place === place) : undefined
    const runs = call?.runs && { runs: call.runs.map(ordered) }
    return { name, at, kind, step: this.#steps[at] ?? '', turn, ...withoutUndefined({ call: call && { ...call, ...runs } }) }
  }

  *#learn({ given, turns }: RecordedRun, { at, turn, call }: Part): InParts<void> {
    if (turn === undefined) return
    const { request, response } = turn
    const before = turns[at - 1]?.request.messages ?? []
    const isNew = request.messages.findIndex((message, index) => message !== before[index])
    const messages = isNew < 0 ? [] : request.messages.slice(isNew)
    const news =
      call === undefined
        ? { request: { ...request, messages }, ...withoutUndefined({ response }) }
        : { request: { messages: [] }, calls: [call] }
    yield* this.#secrets.learn({ given, turns: [news] })
  }

  /** A part without secrets, as JSON; `''` where it is no more, or there is no room for it. */
  async #textOf({ given, turns, result }: RecordedRun, { name, at, kind, step = '', turn, call }: Part): Promise<string> {
    const secrets = this.#secrets
    if (name === partName.given) return this.#jsonOf(name, given, () => secrets.cleanInput(given))
    if (name === partName.result) return this.#jsonOf(name, result, () => secrets.clean(result))
    if (turn === undefined) return ''
    if (kind === 'call')
      return this.#jsonOf(name, call, function* () {
        return call && shortCall(yield* secrets.cleanCall(call))
      })
    const { decisions, steering, ...asked } = turn
    if (kind === 'decided') return this.#jsonOf(name, { decisions, steering }, () => secrets.clean({ decisions, steering }))
    // What is not written is not looked through either.
    const short = shortTurn(given, turns[at - 1]?.request.messages ?? firstMessages(given), asked) as RecordedTurn
    return this.#jsonOf(name, short, function* (): InParts<TurnPart> {
      return { step, turn: yield* secrets.cleanTurn(short) }
    })
  }

  /** To look through what is too long to be written would hold up everybody else. */
  async #jsonOf(name: string, value: object | undefined, clean: () => InParts<object | undefined>): Promise<string> {
    if (value === undefined) return ''
    const isNeeded = name === partName.given || name === partName.result
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
  /** The number of its turn, and what of that it is. */
  at: number
  kind: string | undefined
  /** The step that the turn was made in. */
  step?: string
  turn?: Omit<RecordedTurn, 'calls'>
  call?: RecordedCall
}

function namesOf({ turns }: RecordedRun): string[] {
  const names = turns.flatMap(({ calls = [], decisions, steering }, at) => [
    partName.turn(at),
    ...(decisions === undefined && steering === undefined ? [] : [partName.decided(at)]),
    ...calls.map(({ place }) => partName.call(at, place)),
  ])
  return [partName.given, ...names]
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
