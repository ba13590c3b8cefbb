import { isTurn } from '../../agent/durable/journal.ts'
import type { RecordingPart, ShownRuns } from '../../agent/durable/shown-runs.ts'
import type { RecordedScope, RecordedVerdict, RunRecorder } from '../../agent/observe/recorder.ts'
import type { RunResult } from '../../agent/run/result.ts'
import { messageOf } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import { isJsonObject, type Json } from '../../core/messages.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { firstMessages, shortCall, shortTurn } from '../../recording/file/recording-file.ts'
import type { RecordedInput, RecordedRun, RecordedTurn } from '../../recording/format.ts'
import { headOf } from '../../recording/recorder.ts'
import type { RecordingSecrets } from '../../recording/secrets.ts'
import { Pauses } from '../../tools/yield-to-event-loop.ts'
import { type Asked, BoundedRecorder, type Calls, longestRecording, type Steered, tooLong } from './bounded-recorder.ts'
import { partName, type RecordingInParts, type TurnPart } from './recording-parts.ts'

/** A run, as its recording sees it. */
interface RunRecorded {
  readonly id: string
  /** The execution under way. */
  readonly attempt: string | undefined
  readonly redactor: { readonly secrets: Iterable<string> }
}

export interface StoredRecordingParts {
  run: RunRecorded
  shown: Pick<ShownRuns, 'keepRecording'>
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
  /** The characters of each part that is written. */
  readonly #sizes: Map<string, number>
  /** Names of parts that are to be written. */
  readonly #changed = new Set<string>()
  readonly #pauses = new Pauses()
  #given: { input: RecordedInput; secrets: number } | undefined
  /** How many secrets were known when something was written first, or all of it anew. */
  #secretsWritten: number | undefined
  #writing: Promise<void> = Promise.resolve()

  /** `left`: names of parts that are there, and belong to nothing: to make room, others were deleted. */
  constructor(parts: StoredRecordingParts, earlier?: RecordingInParts, left: readonly string[] = []) {
    const { id } = parts.run
    const sizes = new Map(earlier?.sizes)
    super(parts.grown, earlier && { recording: { ...headOf(id), ...earlier.run }, characters: sumOf(sizes) })
    this.#sizes = sizes
    this.#parts = parts
    this.#secrets = parts.secrets
    this.#steps = [...(earlier?.steps ?? [])]
    for (const name of left) this.#changed.add(name)
    // What is written already was written without knowing more.
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
    if (last?.calls?.some(({ place }) => place === step)) last.calls = last.calls.filter(({ place }) => place !== step)
  }

  /** A step is done, and about to be recorded: what is new is written down. Never rejects: what could not be written is tried again with the next. */
  async keep(step: string): Promise<void> {
    const { live } = this
    if (live === undefined) return
    while (this.#steps.length < live.turns.length) this.#steps.push(step)
    this.#secrets.add(this.#parts.run.redactor.secrets)
    if (step === 'end' && (this.#secretsWritten ?? this.#secrets.size) < this.#secrets.size) this.#changeAll(live)
    if (this.#changed.size === 0) return
    this.#writing = this.#writing.then(() => this.#write(live))
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

  override asks(run: RecordedScope, call: Asked): ReturnType<RunRecorder['asks']> {
    const answered = super.asks(run, call)
    return (response) => {
      const before = this.live?.turns.length ?? 0
      answered(response)
      if (this.#isOwn(run) && this.#last >= before) this.#changed.add(partName.turn(this.#last))
    }
  }

  override watched(run: RecordedScope, model: ChatModel): ChatModel {
    const watched = super.watched(run, model)
    if (watched === model || !this.#isOwn(run)) return watched
    const { provider, capabilities } = model
    const generate: ChatModel['generate'] = async (request, sink) => {
      const asked = watched.generate(request, sink)
      const turn = this.#last
      try {
        return await asked
      } finally {
        this.#changed.add(partName.turn(turn))
      }
    }
    return { provider, model: model.model, capabilities, generate }
  }

  override calls(run: RecordedScope, call: Calls): ReturnType<RunRecorder['calls']> {
    const ended = super.calls(run, call)
    if (!this.#isOwn(run)) return ended
    const turn = this.#last
    return (end) => {
      ended(end)
      // A run inside it may have gone on in what is recorded of it already.
      for (const { id, place } of this.live?.turns[turn]?.calls ?? [])
        if (id === call.call.id) this.#changed.add(partName.call(turn, place))
    }
  }

  override decided(run: RecordedScope, decision: RecordedVerdict): void {
    super.decided(run, decision)
    if (!this.#isOwn(run)) return
    const turn = this.live?.turns.findIndex(({ decisions = [] }) => decisions.some(({ place }) => place === decision.place)) ?? -1
    if (turn >= 0) this.#changed.add(partName.decided(turn))
  }

  override steered(run: RecordedScope, steering: Steered): void {
    super.steered(run, steering)
    if (this.#isOwn(run) && this.#last >= 0) this.#changed.add(partName.decided(this.#last))
  }

  override ended(run: RecordedScope, result: RunResult): void {
    super.ended(run, result)
    if (!this.#isOwn(run)) return
    this.#changed.add(partName.result)
    const last = this.live?.turns.at(-1)
    // Its model may still be at it, and nothing of that counts.
    if (last !== undefined && last.response === undefined && last.error === undefined) this.#changed.add(partName.turn(this.#last))
  }

  #isOwn({ runId }: RecordedScope): boolean {
    return runId === this.#parts.run.id
  }

  get #last(): number {
    return (this.live?.turns.length ?? 0) - 1
  }

  /** What has turned out to be secret may be in any part. */
  #changeAll({ turns }: RecordedRun): void {
    this.#secretsWritten = this.#secrets.size
    this.#changed.add(partName.given)
    for (const [at, { calls = [], decisions, steering }] of turns.entries()) {
      this.#changed.add(partName.turn(at))
      if (decisions !== undefined || steering !== undefined) this.#changed.add(partName.decided(at))
      for (const { place } of calls) this.#changed.add(partName.call(at, place))
    }
  }

  async #write(live: RecordedRun): Promise<void> {
    const { run, shown, logger } = this.#parts
    const names = [...this.#changed]
    if (names.length === 0) return
    this.#changed.clear()
    try {
      for (const name of names) {
        this.#learn(live, name)
        await this.#pauses.take()
      }
      const parts: RecordingPart[] = []
      for (const name of names) {
        const value = this.#textOf(live, name)
        parts.push({ name, value })
        this.#sizes.set(name, value.length)
        await this.#pauses.take()
      }
      this.#secretsWritten ??= this.#secrets.size
      await shown.keepRecording(run.id, run.attempt ?? '', parts)
      if (sumOf(this.#sizes) > longestRecording) this.stop(tooLong)
    } catch (error) {
      for (const name of names) this.#changed.add(name)
      logger.warn({ runId: run.id, error: messageOf(error) }, 'the recording of a run could not be written yet')
    }
  }

  #learn({ given, turns }: RecordedRun, name: string): void {
    const { turn, at, call } = partOf(turns, name)
    if (turn === undefined) return
    const { request, response } = turn
    const before = turns[at - 1]?.request.messages ?? []
    const isNew = request.messages.findIndex((message, index) => message !== before[index])
    const messages = isNew < 0 ? [] : request.messages.slice(isNew)
    const news =
      call === undefined
        ? { request: { ...request, messages }, ...(response === undefined ? {} : { response }) }
        : { request: { messages: [] }, calls: [call] }
    this.#secrets.learn({ given, turns: [news] })
  }

  /** A part without secrets, as JSON; `''` where it is no more. */
  #textOf(live: RecordedRun, name: string): string {
    if (name === partName.given) return JSON.stringify(this.#cleanGiven(live))
    if (name === partName.result) return live.result === undefined ? '' : JSON.stringify(this.#secrets.clean(live.result))
    const { turn, at, kind, call } = partOf(live.turns, name)
    if (turn === undefined) return ''
    if (kind === 'call') {
      const clean = call && this.#clean({ request: { messages: [] }, calls: [call] }).calls?.[0]
      return clean === undefined ? '' : JSON.stringify(shortCall(clean))
    }
    const { calls: _, decisions, steering, ...asked } = turn
    if (kind === 'decided') return JSON.stringify(this.#secrets.clean({ decisions, steering }))
    const given = this.#cleanGiven(live)
    const before = live.turns[at - 1]
    const messages = before === undefined ? firstMessages(given) : this.#secrets.clean(before.request.messages)
    const part: TurnPart = { step: this.#steps[at] ?? '', turn: shortTurn(given, messages, this.#clean(asked)) as RecordedTurn }
    return JSON.stringify(part)
  }

  #clean(turn: RecordedTurn): RecordedTurn {
    const { turns } = this.#secrets.cleanRun({ given: nothing, turns: [turn] })
    return turns[0] ?? turn
  }

  #cleanGiven({ given }: RecordedRun): RecordedInput {
    const { size } = this.#secrets
    if (this.#given?.secrets !== size || this.#given.input.partial !== given.partial)
      this.#given = { input: this.#secrets.cleanRun({ given, turns: [] }).given, secrets: size }
    return this.#given.input
  }
}

const nothing: RecordedInput = {
  model: { provider: '', model: '', capabilities: { nativeTools: true } },
  messages: [],
  earlier: 0,
  tools: [],
  settings: {},
}

function sumOf(sizes: ReadonlyMap<string, number>): number {
  let sum = 0
  for (const size of sizes.values()) sum += size
  return sum
}

/** What a part's name says. */
function partOf(turns: readonly RecordedTurn[], name: string) {
  const [number, kind, place] = name.split(' ')
  const at = Number(number)
  const turn = turns[at]
  return { at, turn, kind, call: kind === 'call' ? turn?.calls?.find((one) => one.place === place) : undefined }
}
