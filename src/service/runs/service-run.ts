import { RunControl } from '../../agent/run/run-control.ts'
import type { RunResult } from '../../agent/types.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Pauses } from '../../tools/yield-to-event-loop.ts'
import { EventLog, type EventLogBounds } from './event-log.ts'
import { EventRedactor } from './event-redactor.ts'
import { jsonInTurn } from './json-in-turn.ts'
import type { Outcome, OutcomeSummary, RunHead, StoredHead, StoredRun } from './stored/stored-run.ts'

export type RunStatus = 'running' | 'paused' | 'done'

/** A run as it is listed. */
export interface RunSummary extends OutcomeSummary {
  id: string
  object: 'run'
  status: RunStatus
  kind: 'run' | 'chat'
  model: string
  owner: string
  /** What the user said, its beginning, so that one run of a list can be told from another. */
  input: string
  createdAt: string
  finishedAt?: string
  events: { first: number; last: number }
}

/** One run of the service, from its order to what is kept of it. */
export class ServiceRun {
  #head: RunHead
  #log: EventLog
  #redactor: EventRedactor
  #control: RunControl = new RunControl()
  /** False from its end on, which it may take a while to write down. */
  takesMessages = true
  /** ISO 8601. */
  readonly createdAt: string
  #said: string
  readonly #tools: (head: RunHead) => Iterable<AnyTool>
  readonly #bounds: EventLogBounds
  /** The summary in JSON, as it was asked for last. */
  #written: { outcome: Outcome; firstEvent: number; text: string } | undefined
  /** What it has to be told while it is only on the disk. */
  #unloaded: Pick<StoredHead, 'size' | 'firstEventId' | 'input'> | undefined
  readonly #abort = new AbortController()
  #ending = Promise.withResolvers<void>()
  #outcome: Outcome | undefined
  #coming: Outcome | undefined
  /** Of a run that was taken up again: what it had come to. */
  #before: Outcome | undefined

  /** From how it is written down: anew, or by another process; or from the head of that alone, for one that is only on the disk. */
  constructor(
    stored: StoredRun | StoredHead,
    /** Asked whenever it is read. */
    tools: (head: RunHead) => Iterable<AnyTool>,
    bounds: EventLogBounds,
  ) {
    this.#tools = tools
    this.#bounds = bounds
    this.createdAt = stored.createdAt
    this.#head = stored.head
    if ('said' in stored) {
      this.#said = stored.said
      ;[this.#log, this.#redactor] = this.#open(stored)
      this.#control.send(stored.waiting)
      if (stored.outcome !== undefined) this.settle(stored.outcome)
    } else {
      this.#said = ''
      this.#unloaded = stored
      ;[this.#log, this.#redactor] = this.#nothingOf(stored.lastEventId)
      if (stored.outcome !== undefined) this.settle({ ...stored.outcome, summary: stored.outcome.summary ?? cutSummary, result: '' })
    }
  }

  get id(): string {
    return this.#head.id
  }

  get head(): RunHead {
    return this.#head
  }

  get log(): EventLog {
    return this.#log
  }

  get redactor(): EventRedactor {
    return this.#redactor
  }

  get control(): RunControl {
    return this.#control
  }

  /** Whether its result, its state and its events are in memory. */
  get isLoaded(): boolean {
    return this.#unloaded === undefined
  }

  get status(): RunStatus {
    return this.#outcome?.status ?? 'running'
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Undefined while it is running. */
  get outcome(): Outcome | undefined {
    return this.#outcome
  }

  /** What it has come to, told or about to be told. */
  get coming(): Outcome | undefined {
    return this.#outcome ?? this.#coming
  }

  /** Settles when the run is `paused` or `done`. */
  get ended(): Promise<void> {
    return this.#ending.promise
  }

  /** What is kept of it, in characters, in memory or on the disk. */
  get size(): number {
    if (this.#unloaded !== undefined) return this.#unloaded.size
    const { result = '', state = '' } = this.#outcome ?? {}
    const { clientTools } = this.#head
    return this.log.characters + result.length + state.length + (clientTools.length === 0 ? 0 : JSON.stringify(clientTools).length)
  }

  /** Forgets all but what a list needs, and of that what is large. It has to be on the disk as it is. */
  unload(): void {
    const outcome = this.#outcome
    if (outcome === undefined || this.#unloaded !== undefined) return
    const { size, firstEventId, input } = this.toHead(outcome)
    const { state: _state, summary, ...kept } = outcome
    const isSmall = this.summaryJson.length <= longestSummary
    this.#unloaded = { size, firstEventId, input }
    ;[this.#log, this.#redactor] = this.#nothingOf(this.#log.lastId)
    this.#control = new RunControl()
    this.#said = ''
    this.#head = { ...this.#head, clientTools: [] }
    this.#outcome = { ...kept, summary: isSmall ? summary : cutSummary, result: '' }
    this.#written = undefined
  }

  #nothingOf(lastEventId: number): [EventLog, EventRedactor] {
    return [new EventLog(this.#bounds, [], lastEventId), new EventRedactor([])]
  }

  /** Whether its summary is on the disk alone. */
  get isSummaryCut(): boolean {
    return this.#outcome?.summary === cutSummary
  }

  /** Is again what it was before it was unloaded. */
  load(stored: StoredRun): void {
    if (this.#unloaded === undefined || stored.outcome === undefined) return
    this.#unloaded = undefined
    this.#said = stored.said
    this.#head = stored.head
    ;[this.#log, this.#redactor] = this.#open(stored)
    this.#control.send(stored.waiting)
    this.#outcome = stored.outcome
  }

  #open({ head, events, lastEventId, secrets, hidesAll }: StoredRun): [EventLog, EventRedactor] {
    const redactor = new EventRedactor(this.#tools(head), secrets)
    if (hidesAll) redactor.secrets.hideAll()
    return [new EventLog(this.#bounds, events, lastEventId), redactor]
  }

  abort(reason: string): void {
    this.#abort.abort(new DOMException(reason, 'AbortError'))
  }

  /** It is running again. */
  takeUp(): void {
    this.#before = this.#outcome
    this.#outcome = undefined
    this.#ending = Promise.withResolvers()
  }

  /** It has come to this, which is not told before it is written down. */
  comeTo(outcome: Outcome): void {
    this.#coming = outcome
  }

  settle(outcome: Outcome): void {
    this.#outcome = outcome
    this.#coming = undefined
    this.#before = undefined
    // Nothing of them is needed any more, and they may be large.
    if (outcome.status === 'done') this.#head = { ...this.#head, clientTools: [] }
    this.#ending.resolve()
    this.log.wake()
  }

  /** What a result means for the run. */
  async outcomeOf(result: RunResult, pauses: Pauses): Promise<Outcome> {
    const { state, ...told } = result
    // A chat's conversation is the client's own, and it has had the answer: of such a run there is the summary and the events.
    const isRun = this.head.kind === 'run'
    const isPaused = isRun && result.stopReason === 'paused' && state !== undefined
    const { stopReason, text, usage, iterations, error } = result
    const shown = isRun ? await this.redactor.redactResult(told, pauses) : undefined
    await pauses.take()
    const shownJson = shown === undefined ? '' : await jsonInTurn(shown, pauses)
    await pauses.take()
    const output = this.redactor.redactText(text)
    const stateJson = isPaused ? await jsonInTurn(state, pauses) : undefined
    return {
      status: isPaused ? 'paused' : 'done',
      finishedAt: new Date().toISOString(),
      summary: {
        stopReason,
        output,
        usage,
        iterations,
        pending: shown?.pending ?? [],
        ...(error === undefined ? {} : { error: { code: error.code, message: this.redactor.redactText(error.message) } }),
      },
      result: shownJson,
      ...(stateJson === undefined ? {} : { state: stateJson }),
      waitsFor: isPaused ? result.pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint })) : [],
    }
  }

  /** As it is to be written down once it has come to `outcome`; without one, while it goes on. */
  stored(outcome?: Outcome): StoredRun {
    const before = this.#before
    return {
      head: this.head,
      createdAt: this.createdAt,
      said: this.#said,
      events: [...this.log.after(0)],
      lastEventId: this.log.lastId,
      secrets: [...this.redactor.secrets],
      ...(this.redactor.secrets.isFull ? { hidesAll: true } : {}),
      waiting: [...this.control.waiting],
      ...(outcome !== undefined ? { outcome } : before === undefined ? {} : { before: { summary: before.summary, result: before.result } }),
    }
  }

  /** What is written of it before all else. */
  toHead(outcome?: Outcome): StoredHead {
    const { status, finishedAt, waitsFor, summary } = outcome ?? {}
    return {
      head: this.head,
      createdAt: this.createdAt,
      input: this.#input,
      firstEventId: this.log.firstId,
      lastEventId: this.log.lastId,
      size: this.size,
      ...(status === undefined || finishedAt === undefined
        ? {}
        : { outcome: { status, finishedAt, waitsFor: waitsFor ?? [], ...(summary === undefined ? {} : { summary }) } }),
    }
  }

  get #input(): string {
    return this.#unloaded?.input ?? this.redactor.redactText(this.#said).slice(0, 200)
  }

  /** `whole`: its outcome's summary, where that is on the disk alone. */
  summary(whole?: OutcomeSummary): RunSummary {
    const { id, kind, agent, caller } = this.head
    return {
      id,
      object: 'run',
      status: this.status,
      kind,
      model: agent,
      owner: caller.name,
      input: this.#input,
      createdAt: this.createdAt,
      ...(this.#outcome === undefined ? { pending: [] } : { finishedAt: this.#outcome.finishedAt, ...(whole ?? this.#outcome.summary) }),
      events: { first: this.#unloaded?.firstEventId ?? this.log.firstId, last: this.log.lastId },
    }
  }

  /** The summary with the whole result, as JSON: in parts, because that may be large, and the same texts for everybody who reads them. */
  toParts(): string[] {
    const result = this.#outcome === undefined || this.#outcome.result === '' ? 'null' : this.#outcome.result
    return [this.#beginning(), result, '}']
  }

  #beginning(): string {
    return `${this.summaryJson.slice(0, -1)},"result":`
  }

  /** The summary as JSON, as far as it is in memory. */
  get summaryJson(): string {
    const outcome = this.#outcome
    if (outcome === undefined) return JSON.stringify(this.summary())
    const firstEvent = this.log.firstId
    if (this.#written?.outcome !== outcome || this.#written.firstEvent !== firstEvent)
      this.#written = { outcome, firstEvent, text: JSON.stringify(this.summary()) }
    return this.#written.text
  }
}

/** Characters of JSON of a summary that is in memory while its run is on the disk. */
const longestSummary = 8_192
/** In place of a longer one. */
const cutSummary: OutcomeSummary = { pending: [] }
