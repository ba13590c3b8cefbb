import type { RunState } from '../../agent/paused-run.ts'
import type { PendingItem, RunInput, RunOptions, RunResult } from '../../agent/run.ts'
import { RunControl } from '../../agent/run-control.ts'
import type { StopReason } from '../../events.ts'
import { textOf, type Usage } from '../../messages.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Caller } from '../http/auth.ts'
import { EventLog, type EventLogBounds } from './event-log.ts'
import { EventRedactor } from './event-redactor.ts'

/** What a run is started with. */
export interface RunOrder {
  id: string
  caller: Caller
  /** The agent's name: what a client asks for as `model`. */
  agent: string
  /** Where it came in. */
  kind: 'run' | 'chat'
  input: RunInput
  options: RunOptions
  /** Tools the client runs. */
  clientTools: readonly AnyTool[]
}

export type RunStatus = 'running' | 'paused' | 'done'

/** A run as it is listed. */
export interface RunSummary {
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
  stopReason?: StopReason
  output?: string
  usage?: Usage
  iterations?: number
  error?: { code: string; message: string }
  /** What it waits for; a decision names an item by its `toolCallId` and `fingerprint`. */
  pending: unknown[]
  events: { first: number; last: number }
}

/** One run of the service, from its order to what is kept of it. */
export class ServiceRun {
  readonly id: string
  readonly order: RunOrder
  readonly log: EventLog
  readonly redactor: EventRedactor
  readonly control: RunControl = new RunControl()
  readonly createdAt: Date = new Date()
  readonly #abort = new AbortController()
  #status: RunStatus = 'running'
  #finishedAt: Date | undefined
  #ending = Promise.withResolvers<void>()
  #summary: Partial<RunSummary> = {}
  /** Of a paused run: what it goes on from. Never given out. */
  #paused: { state: RunState; pending: PendingItem[] } | undefined
  /** The whole result as JSON, without secrets: its size is known, and nothing else is held by it. */
  #result = ''

  constructor(order: RunOrder, tools: Iterable<AnyTool>, bounds: EventLogBounds) {
    this.id = order.id
    this.order = order
    this.log = new EventLog(bounds)
    this.redactor = new EventRedactor(tools)
  }

  get status(): RunStatus {
    return this.#status
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get finishedAt(): Date | undefined {
    return this.#finishedAt
  }

  /** Settles when the run is `paused` or `done`. */
  get ended(): Promise<void> {
    return this.#ending.promise
  }

  /** What is kept of it, in characters. */
  get size(): number {
    return this.log.characters + this.#result.length
  }

  get pending(): readonly PendingItem[] {
    return this.#paused?.pending ?? []
  }

  abort(reason: string): void {
    this.#abort.abort(new DOMException(reason, 'AbortError'))
  }

  /** Takes up a paused run: gives the state it goes on from; undefined when it is not paused. */
  takeState(): RunState | undefined {
    const state = this.#paused?.state
    if (state === undefined) return undefined
    this.#status = 'running'
    this.#ending = Promise.withResolvers()
    return state
  }

  /** Back to `paused`: what was decided could not be carried out. */
  giveBackState(): void {
    this.#status = 'paused'
    this.#settle()
  }

  finish(result: RunResult): void {
    const { state, ...told } = result
    const isPaused = result.stopReason === 'paused' && this.order.kind === 'run' && state !== undefined
    this.#paused = isPaused ? { state, pending: result.pending } : undefined
    this.#status = isPaused ? 'paused' : 'done'
    const isRun = this.order.kind === 'run'
    // A chat's conversation is the client's own, and it has had the answer: of such a run there is the summary and the events.
    const shown = isRun ? (this.redactor.redactResult(told) as RunResult) : told
    const { stopReason, text, usage, iterations, pending, error } = shown
    this.#summary = {
      stopReason,
      output: this.redactor.redactText(text),
      usage,
      iterations,
      pending: isRun ? pending : [],
      ...(error === undefined ? {} : { error: { code: error.code, message: this.redactor.redactText(error.message) } }),
    }
    if (isRun) this.#result = JSON.stringify(shown)
    this.#settle()
  }

  /** Ends a paused run that nobody will take up again. */
  giveUp(): void {
    this.#paused = undefined
    this.#status = 'done'
    this.#summary = { ...this.#summary, stopReason: 'aborted', pending: [] }
    this.#settle()
  }

  summary(): RunSummary {
    const { id, kind, agent, caller } = this.order
    return {
      id,
      object: 'run',
      status: this.#status,
      kind,
      model: agent,
      owner: caller.name,
      input: this.redactor.redactText(beginningOf(this.order.input)).slice(0, 200),
      createdAt: this.createdAt.toISOString(),
      ...(this.#finishedAt === undefined ? {} : { finishedAt: this.#finishedAt.toISOString() }),
      pending: [],
      ...(this.#status === 'running' ? {} : this.#summary),
      events: { first: this.log.firstId, last: this.log.lastId },
    }
  }

  /** The summary with the whole result, as JSON. */
  toText(): string {
    const result = this.#status === 'running' || this.#result === '' ? 'null' : this.#result
    return `${JSON.stringify(this.summary()).slice(0, -1)},"result":${result}}`
  }

  #settle(): void {
    this.#finishedAt = new Date()
    this.#ending.resolve()
    this.log.wake()
  }
}

/** The first characters of the last thing the user says: more than are shown, so that no secret is cut before it is known for one. */
function beginningOf(input: RunInput): string {
  const last = typeof input === 'string' ? input : [input].flat().findLast(({ role }) => role === 'user')?.content
  return last === undefined ? '' : textOf(last).slice(0, 600)
}
