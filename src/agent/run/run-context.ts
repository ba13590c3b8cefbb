import { isSetupFault, messageOf, ToolloopError } from '../../core/errors.ts'
import {
  copyForListener,
  Event,
  type EventBus,
  type EventMeta,
  type EventName,
  type EventPayloads,
  type RunEvent,
  type StopReason,
} from '../../core/events.ts'
import type { Logger } from '../../core/logger.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import { type ToolSet, ToolView } from '../../tools/registry.ts'
import type { AnyTool, RunScope } from '../../tools/tool.ts'
import { ToolRunner } from '../../tools/tool-runner.ts'
import { namedBeside, type OutputFormat } from '../output/output.ts'
import { chooseCallForm, concernsText, openTextCalls } from '../text-calls/mode.ts'
import type { TextCalls } from '../text-calls/text-calls.ts'
import { usable } from '../turn/turn-request.ts'
import type { RunLimits, RunOptions } from '../types.ts'
import { Budget, type ResolvedLimits } from './limits.ts'

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
  output?: OutputFormat
  /** Where it is inside another run. */
  parent?: RunParent
  /** Whether it listens to a `RunControl`; known from its start on, so that a replay does the same. */
  steerable?: boolean
}

/** The call of another run that a run was made inside of. */
export interface RunParent {
  run: LiveRun
  toolCallId: string
  /** Whether those who watch the other run see this one's events too. */
  forwards: boolean
}

/**
 * What of a run lives only in this process: its model and tools, the caller's signal and context, where its events go. Everything the
 * loop decides by is elsewhere, as plain data. `dispose` releases every timer and listener.
 */
export class LiveRun implements RunScope {
  readonly runId: string
  readonly depth: number
  readonly steerable: boolean
  readonly toolRunner: ToolRunner
  readonly limits: ResolvedLimits
  readonly settings: RunOptions<never>
  readonly logger: Logger
  /** How many answers of this run were not accepted. */
  objections = 0
  /** Calls made ready by the plan, by id; a resumed run makes them again. */
  readonly prepared: Map<string, PreparedCall> = new Map()
  /** Values tools returned, by call id: too rich for the record, so kept only here. */
  readonly values: Map<string, unknown> = new Map()
  /** Errors as they were thrown, by step key: the record has only their plain form. */
  readonly errors: Map<string, ToolloopError> = new Map()
  /** Approvals that need not be asked for again: those handed in, and those given in this run. */
  readonly remembered: Set<string>
  readonly #parent: RunParent | undefined
  readonly #lineage: Pick<EventMeta, 'parentRunId' | 'parentToolCallId' | 'depth'>
  readonly #first: { model: ChatModel; tools: ToolSet }
  #model: ChatModel
  #output: OutputFormat | undefined
  #offered: ToolSet
  #registry: ToolSet
  #view: { of: ToolSet; more: AnyTool; view: ToolSet } | undefined
  readonly #controller = new AbortController()
  readonly #textCalls = new Map<ChatModel, Promise<TextCalls>>()
  readonly #bus: EventBus
  readonly #tap: EventTap | undefined
  readonly #release = new Set<() => void>()
  /** Told of an interruption; a plain set, because listeners on a signal cost more than the rest of a turn's bookkeeping. */
  readonly #waiting = new Set<() => void>()
  #interruption: Extract<StopReason, 'aborted' | 'deadline'> | undefined
  #abortError: ToolloopError | undefined

  #budget: Budget
  #onTextFailed = false

  constructor(parts: LiveRunParts) {
    const {
      runId = `run_${crypto.randomUUID()}`,
      model,
      registry,
      limits,
      settings,
      bus,
      logger,
      tap,
      output,
      parent,
      steerable = false,
    } = parts
    this.runId = runId
    this.depth = parent === undefined ? 0 : parent.run.depth + 1
    this.#output = output
    this.steerable = steerable
    this.#parent = parent
    this.#lineage = parent === undefined ? {} : { parentRunId: parent.run.runId, parentToolCallId: parent.toolCallId, depth: this.depth }
    this.#first = { model, tools: registry }
    this.#model = model
    this.#offered = registry
    this.#registry = this.#withAnswer(registry)
    this.toolRunner = new ToolRunner({ get: (name) => this.#registry.get(name), names: () => this.#registry.names() })
    this.limits = limits
    this.#budget = this.#openBudget()
    this.settings = settings
    this.remembered = new Set(settings.remembered)
    this.logger = logger
    this.#bus = bus
    this.#tap = joinTaps(tap, parent?.forwards === true ? parent.run.#tap : undefined)
    if (settings.signal !== undefined) this.follow(settings.signal)
    if (parent !== undefined) this.#endWith(parent.run)
    if (Number.isFinite(limits.deadlineMs)) this.#startDeadline(limits.deadlineMs)
  }

  /** How deep runs may be nested: as the outermost one says. */
  get depthLimit(): number {
    return this.#parent?.run.depthLimit ?? this.limits.depth
  }

  /** What a model has to be able to tell of its cost: this run, or one it is inside of, is limited by it. */
  get costLimit(): RunLimits | undefined {
    return Number.isFinite(this.limits.costUsd) ? this.settings.limits : this.#parent?.run.costLimit
  }

  get model(): ChatModel {
    return this.#model
  }

  /** How the answer is to be given, where it has a schema. */
  get output(): OutputFormat | undefined {
    return this.#output
  }

  /** The tools the model is told of. */
  get offered(): ToolSet {
    return this.#offered
  }

  /** Where a call's tool is found: among those that are offered, and the one that gives the answer. */
  get registry(): ToolSet {
    return this.#registry
  }

  /** Of the execution under way. */
  get budget(): Budget {
    return this.#budget
  }

  /** An execution begins, the first or a later one: what an earlier one came to is in the record alone. */
  begin(): Budget {
    this.handTo(this.#first)
    this.objections = 0
    this.#budget = this.#openBudget()
    return this.#budget
  }

  /** Goes on with another model and other tools. */
  handTo({ model, tools }: { model: ChatModel; tools: ToolSet }): void {
    this.#model = model
    this.#offered = tools
    this.#output &&= namedBeside(this.#output, tools)
    this.#registry = this.#withAnswer(tools)
  }

  /** The model to ask throughout one turn. */
  modelForTurn(): ChatModel {
    const chosen = this.settings.control?.takeModel()
    if (chosen !== undefined) this.#changeModel(chosen)
    return this.#model.forTurn?.() ?? this.#model
  }

  /** `tools` and one more. The same view for the same tools: what is sent of them is converted once. */
  view(tools: ToolSet, more: AnyTool): ToolSet {
    if (this.#view?.of !== tools || this.#view.more !== more) this.#view = { of: tools, more, view: new ToolView(tools, { also: [more] }) }
    return this.#view.view
  }

  /** Aborted when the caller aborts, the consumer goes away, or the deadline passes. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why the run has to end now, if it has to. */
  get interruption(): 'aborted' | 'deadline' | undefined {
    return this.#interruption
  }

  /** Why it was aborted, if it was in this process. */
  get abortError(): ToolloopError | undefined {
    return this.#abortError
  }

  interrupt(why: 'aborted' | 'deadline', reason?: unknown): void {
    if (this.#interruption !== undefined) return
    this.#interruption = why
    if (why === 'aborted') this.#abortError = abortErrorOf(reason)
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

  /** The run outside ends this one too, also when the attempt at the call it was made in is over, and that one's signal silent. */
  #endWith(outer: LiveRun): void {
    const abort = () => this.interrupt('aborted', outer.signal.reason)
    if (outer.interruption !== undefined) abort()
    outer.#waiting.add(abort)
    this.#release.add(() => outer.#waiting.delete(abort))
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
    return this.#tap !== undefined || this.#bus.hasListeners(name) || (name === Event.TEXT_DELTA && this.settings.onText !== undefined)
  }

  emit<K extends EventName>(type: K, payload: EventPayloads[K], meta: Omit<EventMeta, 'runId'>): void {
    if (!this.hears(type)) return
    const whole = { ...meta, ...this.#lineage, runId: this.runId }
    // Each audience gets a copy of its own: a listener may do with it what it likes. Deltas are flat and made for the occasion, and there
    // are thousands of them: spreading them is copy enough.
    const isNested = nestedPayloads.has(type)
    const copy: EventPayloads[K] = isNested && this.#tap !== undefined ? copyForListener(payload) : payload
    // The union is indexed by `type`, which the compiler can't follow through a spread.
    const event = this.#tap && ({ type, meta: { ...whole }, ...copy } as RunEvent)
    this.#bus.emit(type, isNested && this.#bus.hasListeners(type) ? copyForListener(payload) : payload, whole)
    if (event !== undefined) this.#tap?.(event)
  }

  /**
   * A cheap `emit` for the thousands of deltas of one turn, or undefined when nobody listens. They share one frozen meta. Silent once the
   * run is interrupted.
   */
  deltas<K extends DeltaName>(type: K, meta: Omit<EventMeta, 'runId'>): ((payload: EventPayloads[K]) => void) | undefined {
    if (!this.hears(type)) return undefined
    const whole = Object.freeze({ ...meta, ...this.#lineage, runId: this.runId })
    const bus = this.#bus
    const tap = this.#tap
    const onText = type === Event.TEXT_DELTA ? this.#guardedOnText() : undefined
    return (payload) => {
      if (this.#interruption !== undefined) return
      if (onText !== undefined && 'text' in payload) onText(payload.text)
      const event = tap && ({ type, meta: whole, ...payload } as RunEvent)
      bus.emit(type, payload, whole)
      if (event !== undefined) tap?.(event)
    }
  }

  #guardedOnText(): ((text: string) => void) | undefined {
    const { onText } = this.settings
    if (onText === undefined) return undefined
    return (text) => {
      try {
        onText(text)
      } catch (error) {
        if (!this.#onTextFailed) this.logger.error({ runId: this.runId, error: messageOf(error) }, 'onText threw; the run goes on')
        this.#onTextFailed = true
      }
    }
  }

  #changeModel(model: ChatModel): void {
    try {
      this.#model = usable(this, model)
    } catch (error) {
      this.logger.error(
        { runId: this.runId, error: messageOf(error) },
        'the run can’t be gone on with by the model it was to use; it keeps its own',
      )
    }
  }

  #withAnswer(tools: ToolSet): ToolSet {
    return this.output === undefined ? tools : this.view(tools, this.output.tool)
  }

  #openBudget(): Budget {
    const { limits, runId } = this
    const parent = this.#parent
    return new Budget(limits, parent && { budget: parent.run.budget, toolCallId: parent.toolCallId, runId })
  }

  dispose(): void {
    for (const release of this.#release) release()
  }

  #startDeadline(milliseconds: number): void {
    // A timer that is longer fires at once: what is left is waited for in parts.
    const longest = 2 ** 31 - 1
    let timer: NodeJS.Timeout
    const waitFor = (left: number) => {
      timer = setTimeout(() => (left > longest ? waitFor(left - longest) : this.interrupt('deadline')), Math.min(left, longest))
    }
    waitFor(milliseconds)
    this.#release.add(() => clearTimeout(timer))
  }
}

function abortErrorOf(reason: unknown): ToolloopError {
  if (isSetupFault(reason)) return reason
  // What `controller.abort()` gives for a reason of its own says nothing.
  const isDefault = reason instanceof DOMException && reason.name === 'AbortError' && reason.message === 'This operation was aborted'
  const why = reason === undefined || isDefault ? '' : `: ${messageOf(reason)}`
  return new ToolloopError('aborted', `The run was aborted${why}`, { cause: reason })
}

function joinTaps(own: EventTap | undefined, outer: EventTap | undefined): EventTap | undefined {
  if (own === undefined || outer === undefined) return own ?? outer
  return (event) => {
    own(event)
    outer(event)
  }
}

const nestedPayloads: ReadonlySet<EventName> = new Set<EventName>([
  'RUN_START',
  'RUN_END',
  'MODEL_END',
  'TOOL_CALL_START',
  'TOOL_CALL_REJECTED',
  'TOOL_PROGRESS',
  'DECISION_NEEDED',
])
