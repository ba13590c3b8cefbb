import { RunControl } from '../../agent/conversation/run-control.ts'
import type { RunResult } from '../../agent/types/options.ts'
import { writeJson } from '../../core/json/json-pieces.ts'
import type { Usage } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { EventLog, type EventLogBounds } from '../../ui/web/event-log.ts'
import type { StoredRecording } from '../recordings/stored-recording.ts'
import { EventRedactor } from '../redaction/event-redactor.ts'
import { type Outcome, type OutcomeSummary, type RunHead, type StoredRun, wordsOf } from './stored-run.ts'

/** A run as it is listed. */
export interface RunSummary extends OutcomeSummary {
  id: string
  object: 'run'
  status: RunStatus
  kind: 'run' | 'chat'
  model: string
  owner: string
  /** The chat or thread that it belongs to. */
  session?: string | undefined
  /** What the user said, its beginning, so that one run of a list can be told from another. */
  input: string
  createdAt: string
  finishedAt?: string
  events: { first: number; last: number }
}

/** Tools that are named in a summary: a model may make names up. */
const mostTools = 50

let runs = 0

/** One run of the service, from its order to what is kept of it. */
export class ServiceRun {
  #head: RunHead
  readonly log: EventLog
  readonly redactor: EventRedactor
  readonly control: RunControl = new RunControl()
  /** In the order in which this process has seen them. */
  readonly number: number = ++runs
  /** ISO 8601. */
  readonly createdAt: string
  /** The beginning of what the user said. */
  readonly said: string
  /** The summary in JSON, as it was asked for last. */
  #written: { outcome: Outcome; firstEvent: number; text: string } | undefined
  /** Who has decided what, each as JSON, without secrets. */
  decisions: readonly string[]
  /** The newest of its events that is stored; undefined: the run is not stored. */
  storedEvents: number | undefined
  readonly #knownSecrets: number
  /** What records it beside its journal, while it is carried out here. */
  recording: StoredRecording | undefined
  readonly #abort = new AbortController()
  #ending = Promise.withResolvers<void>()
  #outcome: Outcome | undefined
  #coming: Outcome | undefined
  #attempt: string | undefined
  #usedBefore: Usage | undefined

  /** From how it is written down: anew, or by another process. */
  constructor(stored: StoredRun, tools: Iterable<AnyTool>, bounds: EventLogBounds, known: readonly string[] = []) {
    const { head, createdAt, said, firstEventId, lastEventId, secrets, hidesAll, attempt, outcome, decisions = [] } = stored
    this.decisions = decisions
    this.createdAt = createdAt
    this.#head = head
    this.said = said
    this.redactor = new EventRedactor(tools, known)
    this.#knownSecrets = [...this.redactor.secrets].length
    for (const secret of secrets) this.redactor.secrets.add(secret)
    if (hidesAll) this.redactor.secrets.hideAll()
    this.log = new EventLog(bounds, { first: firstEventId, last: lastEventId })
    this.#attempt = attempt
    if (outcome !== undefined) this.settle(outcome)
  }

  get id(): string {
    return this.#head.id
  }

  get head(): RunHead {
    return this.#head
  }

  /** The execution that it is carried out in, or was last, where that is recorded. */
  get attempt(): string | undefined {
    return this.#attempt
  }

  /** What it had used when it was paused, if it has gone on since. */
  get usedBefore(): Usage | undefined {
    return this.#usedBefore
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

  /** Resolves when the run waits or has ended. */
  get ended(): Promise<void> {
    return this.#ending.promise
  }

  /** Values that must not be shown, without those that are secret in every run. */
  get ownSecrets(): string[] {
    return [...this.redactor.secrets].slice(this.#knownSecrets)
  }

  abort(reason: string): void {
    this.#abort.abort(new DOMException(reason, 'AbortError'))
  }

  /** It is running again. What was said to it is still to be taken up. */
  takeUp(): void {
    this.#coming = undefined
    if (this.#outcome === undefined) return
    this.#usedBefore = this.#outcome.summary.usage
    this.#outcome = undefined
    this.#ending = Promise.withResolvers()
  }

  /** An execution begins that is recorded under this name. */
  beginAttempt(attempt: string): void {
    this.#attempt = attempt
  }

  /** Nobody here is told any more what becomes of it: it goes on elsewhere, or later. */
  leave(): void {
    this.#ending.resolve()
    this.#releaseRecording()
    this.log.wake()
  }

  /** It has come to this, which is not told before it is written down. */
  comeTo(outcome: Outcome): void {
    this.#coming = outcome
  }

  settle(outcome: Outcome): void {
    this.#outcome = outcome
    this.#coming = undefined
    // Nothing of them is needed any more, and they may be large.
    if (outcome.status === 'ended') this.#head = { ...this.#head, clientTools: [] }
    this.#ending.resolve()
    this.#releaseRecording()
    this.log.wake()
  }

  #releaseRecording(): void {
    this.recording?.release()
    this.recording = undefined
  }

  /** What a result means for the run. */
  async outcomeOf(result: RunResult): Promise<Outcome> {
    const { state, ...told } = result
    // A chat's conversation is the client's own, and it has had the answer: of such a run there is the summary and the events.
    const isRun = this.head.kind === 'run'
    const isPaused = isRun && result.stopReason === 'paused'
    const { stopReason, text, usage, iterations, steps, toolCalls, error } = result
    const last = steps.at(-1)
    const shown = isRun ? await this.redactor.redactResult(told) : undefined
    const shownJson = shown === undefined ? '' : await writeJson(shown)
    const output = this.redactor.redactText(text)
    const stateJson = isPaused && state !== undefined ? await writeJson(state) : undefined
    return {
      status: isPaused ? 'waiting' : 'ended',
      finishedAt: new Date().toISOString(),
      summary: {
        stopReason,
        answeredBy: last && `${last.provider}/${last.model}`,
        output,
        usage,
        iterations,
        toolCalls: toolCalls.reduce((sum, { nested }) => sum + 1 + (nested?.toolCalls ?? 0), 0),
        tools: [...new Set(toolCalls.map(({ tool }) => this.redactor.redactText(tool)))].slice(0, mostTools),
        pending: shown?.pending ?? [],
        error: error && { code: error.code, message: this.redactor.redactText(error.message) },
      },
      result: shownJson,
      state: stateJson,
      waitsFor: isPaused ? result.pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint })) : [],
    }
  }

  /** What it is found by besides its title, when it has come to this. */
  wordsOf(summary: OutcomeSummary): string {
    return wordsOf(this.id, this.head, summary)
  }

  /** What it is listed by. */
  get title(): string {
    return this.redactor.redactText(this.said).slice(0, 200)
  }

  summary(): RunSummary {
    const { id, kind, agent, caller, thread } = this.head
    return {
      id,
      object: 'run',
      status: this.status,
      kind,
      model: agent,
      owner: caller.name,
      session: thread,
      input: this.title,
      createdAt: this.createdAt,
      ...(this.#outcome === undefined ? { pending: [] } : { finishedAt: this.#outcome.finishedAt, ...this.#outcome.summary }),
      events: { first: this.log.firstId, last: this.log.lastId },
    }
  }

  /** The summary with the whole result, as JSON: in parts, because that may be large, and the same texts for everybody who reads them. */
  toParts(): string[] {
    const result = this.#outcome === undefined || this.#outcome.result === '' ? 'null' : this.#outcome.result
    return [`${this.summaryJson.slice(0, -1)},"decisions":[${this.decisions.join()}],"result":`, result, '}']
  }

  /** The summary as JSON. */
  get summaryJson(): string {
    const outcome = this.#outcome
    if (outcome === undefined) return JSON.stringify(this.summary())
    const firstEvent = this.log.firstId
    if (this.#written?.outcome !== outcome || this.#written.firstEvent !== firstEvent)
      this.#written = { outcome, firstEvent, text: JSON.stringify(this.summary()) }
    return this.#written.text
  }
}
