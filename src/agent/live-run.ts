import { randomUUID } from 'node:crypto'
import type { ToolloopError } from '../errors.ts'
import type { EventBus, EventMeta, EventName, EventPayloads, RunEvent, StopReason } from '../events.ts'
import type { Logger } from '../log.ts'
import type { ChatModel } from '../models/model.ts'
import type { PreparedCall } from '../tools/arguments.ts'
import type { ToolSet } from '../tools/registry.ts'
import { ToolRunner } from '../tools/runner.ts'
import { chooseCallForm, concernsText, openTextCalls } from './call-form.ts'
import type { ResolvedLimits } from './limits.ts'
import type { RunOptions } from './run.ts'
import type { TextCalls } from './text-calls.ts'

type DeltaName = 'TEXT_DELTA' | 'REASONING_DELTA' | 'TOOL_INPUT_START' | 'TOOL_INPUT_DELTA'

/** Receives every event of one run, synchronously. Must not throw. */
export type EventTap = (event: RunEvent) => void

export interface LiveRunParts {
  runId?: string
  model: ChatModel
  registry: ToolSet
  limits: ResolvedLimits
  settings: RunOptions<never>
  bus: EventBus
  logger: Logger
  tap?: EventTap
}

/**
 * What of a run lives only in this process: its model and tools, the caller's signal and context, where its events go. Everything the
 * loop decides by is elsewhere, as plain data. `dispose` releases every timer and listener.
 */
export class LiveRun {
  readonly runId: string
  readonly model: ChatModel
  readonly registry: ToolSet
  readonly toolRunner: ToolRunner
  readonly limits: ResolvedLimits
  readonly settings: RunOptions<never>
  readonly logger: Logger
  /** Calls made ready by the plan, by id; a resumed run makes them again. */
  readonly prepared: Map<string, PreparedCall> = new Map()
  /** Values tools returned, by call id: too rich for the record, so kept only here. */
  readonly values: Map<string, unknown> = new Map()
  /** Errors as they were thrown, by step key: the record has only their plain form. */
  readonly errors: Map<string, ToolloopError> = new Map()
  /** Approvals that need not be asked for again: those handed in, and those given in this run. */
  readonly remembered: Set<string>
  readonly #controller = new AbortController()
  readonly #textCalls = new Map<ChatModel, Promise<TextCalls>>()
  readonly #bus: EventBus
  readonly #tap: EventTap | undefined
  readonly #release = new Set<() => void>()
  /** Told of an interruption; a plain set, because listeners on a signal cost more than the rest of a turn's bookkeeping. */
  readonly #waiting = new Set<() => void>()
  #interruption: Extract<StopReason, 'aborted' | 'deadline'> | undefined

  constructor({ runId = `run_${randomUUID()}`, model, registry, limits, settings, bus, logger, tap }: LiveRunParts) {
    this.runId = runId
    this.model = model
    this.registry = registry
    this.toolRunner = new ToolRunner(registry)
    this.limits = limits
    this.settings = settings
    this.remembered = new Set(settings.remembered)
    this.logger = logger
    this.#bus = bus
    this.#tap = tap
    if (settings.signal !== undefined) this.follow(settings.signal)
    if (Number.isFinite(limits.deadlineMs)) this.#startDeadline(limits.deadlineMs)
  }

  /** Aborted when the caller aborts, the consumer goes away, or the deadline passes. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why the run has to end now, if it has to. */
  get interruption(): 'aborted' | 'deadline' | undefined {
    return this.#interruption
  }

  interrupt(why: 'aborted' | 'deadline', reason?: unknown): void {
    if (this.#interruption !== undefined) return
    this.#interruption = why
    this.#controller.abort(reason)
    for (const stopWaiting of this.#waiting) stopWaiting()
  }

  /**
   * How calls reach this model as text and come back; undefined where they don't. Rejects with `invalid_option` where settings and model
   * don't agree.
   */
  async textCallsFor(model: ChatModel, hasTools: boolean): Promise<TextCalls | undefined> {
    const form = chooseCallForm(this.settings, model)
    if (!concernsText(form, hasTools)) return undefined
    const made = this.#textCalls.get(model) ?? openTextCalls(form, this.settings)
    this.#textCalls.set(model, made)
    return made
  }

  /** Ends the run when `signal` is aborted; returns the function that stops following it. */
  follow(signal: AbortSignal): () => void {
    const abort = () => this.interrupt('aborted', signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    const release = () => {
      signal.removeEventListener('abort', abort)
      this.#release.delete(release)
    }
    this.#release.add(release)
    return release
  }

  /** The outcome of `work`, or undefined as soon as the run is interrupted. Work left behind is not waited for; its late failure is no one's. */
  untilInterrupted<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const stopWaiting = () => resolve(undefined)
      this.#waiting.add(stopWaiting)
      if (this.#interruption !== undefined) stopWaiting()
      work.then(
        (value) => {
          this.#waiting.delete(stopWaiting)
          resolve(value)
        },
        (error: unknown) => {
          this.#waiting.delete(stopWaiting)
          reject(error)
        },
      )
    })
  }

  hears(name: EventName): boolean {
    return this.#tap !== undefined || this.#bus.hasListeners(name)
  }

  emit<K extends EventName>(type: K, payload: EventPayloads[K], meta: Omit<EventMeta, 'runId'>): void {
    if (!this.hears(type)) return
    const whole = { ...meta, runId: this.runId }
    // Each audience gets a copy of its own: a listener may do with it what it likes. Deltas are flat and made for the occasion, and there
    // are thousands of them: spreading them is copy enough.
    const isNested = nestedPayloads.has(type)
    const copy: EventPayloads[K] = isNested && this.#tap !== undefined ? structuredClone(payload) : payload
    // The union is indexed by `type`, which the compiler can't follow through a spread.
    const event = this.#tap && ({ type, meta: { ...whole }, ...copy } as RunEvent)
    this.#bus.emit(type, isNested && this.#bus.hasListeners(type) ? structuredClone(payload) : payload, whole)
    if (event !== undefined) this.#tap?.(event)
  }

  /**
   * A cheap `emit` for the thousands of deltas of one turn, or undefined when nobody listens. They share one frozen meta. Silent once the
   * run is interrupted.
   */
  deltas<K extends DeltaName>(type: K, meta: Omit<EventMeta, 'runId'>): ((payload: EventPayloads[K]) => void) | undefined {
    if (!this.hears(type)) return undefined
    const whole = Object.freeze({ ...meta, runId: this.runId })
    const bus = this.#bus
    const tap = this.#tap
    return (payload) => {
      if (this.#interruption !== undefined) return
      const event = tap && ({ type, meta: whole, ...payload } as RunEvent)
      bus.emit(type, payload, whole)
      if (event !== undefined) tap?.(event)
    }
  }

  dispose(): void {
    for (const release of this.#release) release()
  }

  #startDeadline(milliseconds: number): void {
    const longest = 2 ** 31 - 1
    const timer = setTimeout(() => this.interrupt('deadline'), Math.min(milliseconds, longest))
    this.#release.add(() => clearTimeout(timer))
  }
}

const nestedPayloads: ReadonlySet<EventName> = new Set<EventName>([
  'RUN_START',
  'RUN_END',
  'MODEL_END',
  'TOOL_CALL_START',
  'TOOL_CALL_REJECTED',
  'TOOL_PROGRESS',
])
