import { RunControl } from '../../agent/conversation/run-input.ts'
import type { RunResult } from '../../agent/types/options.ts'
import { writeJson } from '../../core/json/json-pieces.ts'
import type { Usage } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { EventLog, type EventLogBounds } from '../../ui/web/event-log.ts'
import { EventRedactor } from '../redaction/event-redactor.ts'
import type { ShownEvents } from './shown-events.ts'
import { type Outcome, type OutcomeSummary, type RunHead, type RunSnapshot, wordsOf, workedFor } from './stored-run.ts'

/** A run in the form of a list entry. */
export interface RunObject extends OutcomeSummary {
  id: string
  object: 'run'
  status: RunStatus
  kind: 'run' | 'chat'
  model: string
  owner: string
  /** The chat or thread of the run. */
  session?: string | undefined
  /** The beginning of the user's message, which distinguishes runs in a list. */
  input: string
  createdAt: string
  finishedAt?: string
  workedMs?: number
  waitedMs: number
  events: { first: number; last: number }
}

/** Maximum number of tool names in a summary. The limit is needed because a model may invent names. */
const mostTools = 50

/** Settings for the redaction of a run's events. They apply in addition to the settings of the run's tools. */
export interface Hiding {
  secrets?: Iterable<string>
  /** The limit on the number of values in a call's arguments. Default: the service's limit. */
  maxArgumentValues?: number
}

let runs = 0

export class ServiceRun {
  #head: RunHead
  readonly log: EventLog
  /** Buffers the events of the current execution until they are shown. */
  shownEvents: ShownEvents | undefined
  /** The tools whose secret arguments are hidden. */
  tools: readonly AnyTool[]
  readonly #hiding: { known: Iterable<string>; maxArgumentValues: number | undefined; secrets: readonly string[]; hidesAll: boolean }
  #redactor: EventRedactor | undefined
  readonly control: RunControl = new RunControl()
  /** A number that increases with each run that this process creates or reads. */
  readonly number: number = ++runs
  /** The latest summary, as JSON. */
  #written: { outcome: Outcome; firstEvent: number; text: string } | undefined
  /** The decisions on the run, each as redacted JSON that says who made it. */
  decisions: readonly string[]
  /** The number of the newest stored event. Undefined if the run is not stored. */
  storedEvents: number | undefined
  #knownSecrets = 0
  readonly #abort = new AbortController()
  #ending = Promise.withResolvers<void>()
  #outcome: Outcome | undefined
  #coming: Outcome | undefined
  #attempt: string | undefined
  #usedBefore: Usage | undefined
  #waitedMs: number

  constructor(
    stored: RunSnapshot,
    tools: readonly AnyTool[],
    bounds: EventLogBounds,
    { secrets: known = [], maxArgumentValues }: Hiding = {},
  ) {
    const {
      head,
      firstEventId = 1,
      lastEventId = 0,
      secrets = [],
      hidesAll = false,
      attempt,
      outcome,
      decisions = [],
      waitedMs = 0,
    } = stored
    this.decisions = decisions
    this.#head = head
    this.tools = tools
    this.#hiding = { known, maxArgumentValues, secrets, hidesAll }
    this.log = new EventLog(bounds, { first: firstEventId, last: lastEventId })
    this.#attempt = attempt
    this.#waitedMs = waitedMs
    if (outcome !== undefined) this.settle(outcome)
  }

  get id(): string {
    return this.#head.id
  }

  /** Created on first use, because most chats need no redaction: only their client reads them. */
  get redactor(): EventRedactor {
    this.#redactor ??= this.#newRedactor()
    return this.#redactor
  }

  #newRedactor(): EventRedactor {
    const { known, maxArgumentValues, secrets, hidesAll } = this.#hiding
    const redactor = new EventRedactor(this.tools, known, maxArgumentValues)
    this.#knownSecrets = [...redactor.secrets].length
    for (const secret of secrets) redactor.secrets.add(secret)
    if (hidesAll) redactor.secrets.hideAll()
    return redactor
  }

  get head(): RunHead {
    return this.#head
  }

  /** The id of the current or latest execution, if the execution is recorded. */
  get attempt(): string | undefined {
    return this.#attempt
  }

  /** The usage before the last pause. Undefined unless the run was resumed. */
  get usedBefore(): Usage | undefined {
    return this.#usedBefore
  }

  /** Total time that the run has waited for decisions, in milliseconds. A wait in progress is not included. */
  get waitedMs(): number {
    return this.#waitedMs
  }

  get status(): RunStatus {
    return this.#outcome?.status ?? 'running'
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** The outcome that clients see. Undefined while the run is running. */
  get outcome(): Outcome | undefined {
    return this.#outcome
  }

  /** The outcome, even if clients can't see it yet. */
  get coming(): Outcome | undefined {
    return this.#outcome ?? this.#coming
  }

  /** Resolves when the run has paused or ended. */
  get ended(): Promise<void> {
    return this.#ending.promise
  }

  /** The secrets that were found in this run, without the secrets that are known for all runs. */
  get ownSecrets(): string[] {
    const all = [...this.redactor.secrets]
    return all.slice(this.#knownSecrets)
  }

  abort(reason: string): void {
    this.#abort.abort(new DOMException(reason, 'AbortError'))
  }

  /** Marks the run as running again. */
  takeUp(): void {
    this.#coming = undefined
    if (this.#outcome === undefined) return
    this.#usedBefore = this.#outcome.summary.usage
    this.#waitedMs += Math.max(0, Date.now() - Date.parse(this.#outcome.finishedAt))
    this.#outcome = undefined
    this.#ending = Promise.withResolvers()
  }

  beginAttempt(attempt: string): void {
    this.#attempt = attempt
  }

  /** Called when this process stops following the run, which continues elsewhere or later. */
  leave(): void {
    this.#ending.resolve()
    this.log.wake()
  }

  /** Sets the outcome that is about to be stored. */
  comeTo(outcome: Outcome): void {
    this.#coming = outcome
  }

  settle(outcome: Outcome): void {
    this.#outcome = outcome
    this.#waitedMs = outcome.waitedMs ?? this.#waitedMs
    this.#coming = undefined
    if (outcome.status === 'ended') this.forgetClientTools()
    this.#ending.resolve()
    this.log.wake()
  }

  /** Returns the data that is needed to show the run later. */
  toStored(): RunSnapshot {
    const secrets = this.#redactor === undefined ? [] : this.ownSecrets
    return { head: this.#head, secrets, hidesAll: this.#redactor?.secrets.isFull === true }
  }

  /** Drops the client's tools to save memory. Redaction doesn't need them, because client tools have no secret arguments. */
  forgetClientTools(): void {
    if (this.#head.clientTools.length === 0) return
    const ofClient = new Set(this.#head.clientTools)
    this.tools = this.tools.filter((tool) => !ofClient.has(tool))
    this.#head = { ...this.#head, clientTools: [] }
  }

  async outcomeOf(result: RunResult): Promise<Outcome> {
    const { state, ...told } = result
    // Only the summary and the events of a chat are stored, because its client has the conversation and the answer.
    const isRun = this.head.kind === 'run'
    const isPaused = isRun && result.stopReason === 'paused'
    const shown = isRun ? await this.redactor.redactResult(told) : undefined
    const shownJson = shown === undefined ? '' : await writeJson(shown)
    const ended = endOf(result)
    const summary = { ...this.redactSummary(ended.summary), pending: shown?.pending ?? [] }
    const stateJson = isPaused && state !== undefined ? await writeJson(state) : undefined
    return {
      ...ended,
      status: isPaused ? 'waiting' : 'ended',
      summary,
      result: shownJson,
      state: stateJson,
      waitsFor: isPaused ? result.pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint })) : [],
    }
  }

  redactSummary({ output, tools, error, ...others }: OutcomeSummary): OutcomeSummary {
    const redacted = (text: string) => this.redactor.redactText(text)
    return {
      ...others,
      output: output && redacted(output),
      tools: [...new Set(tools?.map(redacted))].slice(0, mostTools),
      error: error && { code: error.code, message: redacted(error.message) },
    }
  }

  /** Returns the words that a search of runs matches, in addition to the title. */
  wordsOf(summary: OutcomeSummary): string {
    return wordsOf(this.id, this.head, summary)
  }

  /** The title of the run in lists. */
  get title(): string {
    return this.redactor.redactText(this.#head.said).slice(0, 200)
  }

  summary(): RunObject {
    const { id, kind, agent, caller, thread, createdAt } = this.head
    return {
      id,
      object: 'run',
      status: this.status,
      kind,
      model: agent,
      owner: caller.name,
      session: thread,
      input: this.title,
      createdAt,
      waitedMs: this.#waitedMs,
      ...(this.#outcome === undefined ? { pending: [] } : { ...this.#timesOf(this.#outcome), ...this.#outcome.summary }),
      events: { first: this.log.firstId, last: this.log.lastId },
    }
  }

  #timesOf({ finishedAt }: Outcome): { finishedAt: string; workedMs: number } {
    return {
      finishedAt,
      workedMs: workedFor({ createdAt: Date.parse(this.head.createdAt), finishedAt: Date.parse(finishedAt), waitedMs: this.#waitedMs }),
    }
  }

  /** Returns the summary with the whole result, as parts of a JSON text. All readers share the parts, because they may be large. */
  toParts(): string[] {
    const result = this.#outcome === undefined || this.#outcome.result === '' ? 'null' : this.#outcome.result
    return [`${this.summaryJson.slice(0, -1)},"decisions":[${this.decisions.join()}],"result":`, result, '}']
  }

  /** The summary of the run, as JSON. */
  get summaryJson(): string {
    const outcome = this.#outcome
    if (outcome === undefined) return JSON.stringify(this.summary())
    const firstEvent = this.log.firstId
    if (this.#written?.outcome !== outcome || this.#written.firstEvent !== firstEvent)
      this.#written = { outcome, firstEvent, text: JSON.stringify(this.summary()) }
    return this.#written.text
  }
}

/** Returns the outcome of a run without its result. It is not redacted yet. */
export function endOf({ stopReason, text, usage, iterations, steps, toolCalls, error }: RunResult): Outcome {
  const last = steps.at(-1)
  return {
    status: 'ended',
    finishedAt: new Date().toISOString(),
    summary: {
      stopReason,
      answeredBy: last && `${last.provider}/${last.model}`,
      output: text,
      usage,
      iterations,
      toolCalls: toolCalls.reduce((sum, { nested }) => sum + 1 + (nested?.toolCalls ?? 0), 0),
      tools: toolCalls.map(({ tool }) => tool),
      pending: [],
      error: error && { code: error.code, message: error.message },
    },
    result: '',
    waitsFor: [],
  }
}
