import { Event, type EventMeta, type EventPayloads, type RunEvent } from '../../../core/events.ts'
import { isLargerThan, jsonOrText } from '../../../core/json.ts'
import { hasToolCalls, isJsonObject, type JsonObject, textOf, withoutUndefined } from '../../../core/messages.ts'
import { redact } from '../../../core/redaction/redact.ts'
import { REDACTED } from '../../../core/redaction/spans.ts'
import { giveWay } from '../../../core/time/give-way.ts'
import type { ToolSet } from '../../../tools/registry.ts'
import { mostShown, shownInput, shownRejection, shownResult } from '../../calls/shown-call.ts'
import { fingerprintOf } from '../../decisions/decisions.ts'
import { shownItem } from '../../nested/nested-items.ts'
import { decisionPlace, isTurn, iterationOf } from '../../step-keys.ts'
import type { EventTap } from '../../types/event-tap.ts'
import type { PendingItem, RunResult, ToolCallRecord } from '../../types/result.ts'
import type { ReplayedTurn, ReplayedTurns } from './recorded-turns.ts'

/** The followed run, and the agent that it started with. */
export interface ToldRun {
  runId: string
  createdAt: number
  metadata?: JsonObject
  provider: string
  model: string
  tools: ToolSet
  /** Names of the secret arguments of a tool. Undefined if this process doesn't know the tool. */
  secretsOf(tool: string): readonly string[] | undefined
}

/**
 * Creates events from the record of a run. Each turn, call and decision is emitted only once. Events that were already emitted live are not
 * emitted again.
 */
export class RecordEvents {
  readonly #run: ToldRun
  readonly #tap: Pick<EventTap, 'take' | 'hide'>
  /** The number of emitted turns per iteration. */
  readonly #turns = new Map<number, number>()
  /** The keys of the emitted turns. */
  readonly #keys = new Set<string>()
  readonly #calls = new Set<string>()
  /** The positions of calls in their turns. */
  readonly #positions = new Map<string, number>()
  readonly #needed = new Set<string>()
  readonly #decided = new Set<string>()
  /** The keys of turns, calls and nested runs that are emitted live. */
  readonly #live = new Set<string>()
  /** Whether the previous turn was cut off, so that the next turn continues its text. */
  #isCut = false
  /** Whether the record has been emitted. Later events are not marked as recorded. */
  hasCaughtUp = false

  constructor(run: ToldRun, tap: Pick<EventTap, 'take' | 'hide'>) {
    this.#run = run
    this.#tap = tap
  }

  start(): void {
    const { provider, model, tools } = this.#run
    this.#emit(Event.RUN_START, { provider, model, tools: tools.list().map(({ name }) => name) }, { iteration: 0 })
  }

  /** Whether an event is the beginning of a turn or call that has not been emitted. */
  begins({ type, meta: { runId, step = '', toolCallId = '' } }: RunEvent): boolean {
    if (runId !== this.#run.runId) return false
    if (type === Event.MODEL_START) return !this.#keys.has(step)
    return (type === Event.TOOL_CALL_START || type === Event.TOOL_CALL_REJECTED) && !this.#calls.has(toolCallId)
  }

  /** Whether to emit a live event. False if the event's turn or call is emitted from the record instead. */
  claim(event: RunEvent): boolean {
    const { type, meta } = event
    const { runId, iteration, step = '', toolCallId = '', parentRunId, parentToolCallId = '' } = meta
    if (runId !== this.#run.runId) {
      const isShown = parentRunId === this.#run.runId ? this.#live.has(parentToolCallId) : this.#live.has(parentRunId ?? '')
      if (isShown) this.#live.add(runId)
      return isShown
    }
    switch (type) {
      case Event.MODEL_START:
        if (this.begins(event)) {
          this.#countTurn(iteration, step)
          this.#live.add(step)
        }
        return this.#live.has(step)
      case Event.TOOL_CALL_START:
      case Event.TOOL_CALL_REJECTED:
        if (isNew(this.#calls, toolCallId)) this.#live.add(toolCallId)
        return this.#live.has(toolCallId)
      case Event.TOOL_CALL_END:
      case Event.TOOL_PROGRESS:
        return this.#live.has(toolCallId)
      case Event.DECISION_NEEDED:
        return isNew(this.#needed, event.place)
      case Event.DECISION_MADE:
        this.#decided.add(toolCallId)
        return isNew(this.#decided, event.place)
      case Event.RUN_END:
        // `RUN_END` is emitted by `end`, after the items that the run waits for.
        return false
      default:
        return !isTurn(step) || this.#live.has(step)
    }
  }

  /**
   * Emits the turns and calls that have not been emitted. Yields to the event loop, because records may be long and many runs may be read
   * at once.
   */
  async add({ turns, calls }: ReplayedTurns): Promise<void> {
    const open = [...turns]
    for (const { step } of turns) for (const [at, { id }] of step.toolCalls.entries()) this.#positions.set(id, at)
    const before = new Map(this.#turns)
    for (const iteration of new Set(
      [...turns.map(({ step }) => step.iteration), ...calls.map((call) => call.iteration)].toSorted((a, b) => a - b),
    )) {
      const own = open.filter(({ step }) => step.iteration === iteration)
      const untold = own.filter(({ key }, at) => (key === undefined ? at >= (before.get(iteration) ?? 0) : !this.#keys.has(key)))
      await giveWay()
      for (const turn of untold) this.#turn(turn)
      this.#round(calls.filter((call) => call.iteration === iteration))
    }
  }

  /** Emits the event that says that the run waits or has ended. */
  end({ stopReason, usage, iterations, error, pending }: RunResult<never>): void {
    for (const item of pending) if (isNew(this.#needed, item.place)) this.#need(shownItem(item))
    this.#emit(Event.RUN_END, { stopReason, usage, iterations, ...withoutUndefined({ errorCode: error?.code }) }, { iteration: iterations })
  }

  #turn({ step, message, key }: ReplayedTurn): void {
    const { iteration, provider, model, finishReason, usage, durationMs } = step
    this.#countTurn(iteration, key)
    this.#emit(Event.MODEL_START, { provider, model, ...(this.#isCut ? { continues: true } : {}) }, { iteration })
    const text = message === undefined ? '' : textOf(message.content)
    if (text !== '') this.#emit(Event.TEXT_DELTA, { text }, { iteration })
    for (const [
      index,
      {
        id,
        function: { name: tool, arguments: json },
      },
    ] of (message !== undefined && hasToolCalls(message) ? message.toolCalls : []).entries()) {
      this.#emit(Event.TOOL_INPUT_START, { index, id, tool }, { iteration })
      this.#emit(Event.TOOL_INPUT_DELTA, { index, id, json: this.#inputOf(tool, json) }, { iteration })
    }
    this.#emit(Event.MODEL_END, { provider, model, finishReason, ...withoutUndefined({ usage }) }, { iteration, durationMs })
    this.#isCut = finishReason === 'length' && step.toolCalls.length === 0
  }

  #round(calls: readonly ToolCallRecord[]): void {
    const untold = calls.filter(({ id }) => !this.#calls.has(id))
    const decided = untold.filter(({ id, decision }) => decision !== undefined && !this.#decided.has(id))
    const items = decided.flatMap((call) => this.#itemOf(call))
    for (const item of items) if (isNew(this.#needed, item.place)) this.#need(item)
    // `RUN_START` tells listeners that the run continues after the items were decided, as in a live run.
    if (items.length > 0) this.start()
    for (const call of untold) {
      const { id: toolCallId, tool, iteration, decision } = call
      if (decision !== undefined && isNew(this.#decided, toolCallId)) {
        const place = this.#placeOf(call)
        this.#emit(Event.DECISION_MADE, { ...decision, toolCallId, tool, place }, { iteration, toolCallId })
      }
      this.#call(call)
    }
  }

  /** The items that a call has waited for. A tool's question is not included, because it is not recorded with the call. */
  #itemOf(call: ToolCallRecord): PendingItem[] {
    const { id: toolCallId, tool, args = {}, decision } = call
    if (decision === undefined || decision.path !== undefined || decision.kind === 'question') return []
    const named = { toolCallId, tool, args }
    const secrets = this.#run.secretsOf(tool)
    const item = {
      ...named,
      args: secrets === undefined ? {} : args,
      kind: decision.kind,
      fingerprint: fingerprintOf(this.#run.runId, named),
      place: this.#placeOf(call),
    }
    return [shownItem({ ...item, ...(secrets === undefined || secrets.length === 0 ? {} : { secrets: [...secrets] }) })]
  }

  #placeOf({ id, iteration }: ToolCallRecord): string {
    return decisionPlace(iteration, this.#positions.get(id) ?? 0, 1)
  }

  #need(item: PendingItem): void {
    const { toolCallId, place, path } = item
    this.#emit(Event.DECISION_NEEDED, item, { iteration: iterationOf(place), toolCallId: path?.[0]?.toolCallId ?? toolCallId })
  }

  #call({
    id: toolCallId,
    tool,
    args,
    rawArguments,
    iteration,
    outcome,
    content,
    errorCode,
    attempts,
    durationMs,
    repairs,
  }: ToolCallRecord): void {
    this.#calls.add(toolCallId)
    const secrets = this.#run.secretsOf(tool)
    const place = { iteration, toolCallId, ...withoutUndefined({ repairs }) }
    const hasRun = outcome === 'ok' || outcome === 'failed' || outcome === 'timeout' || (outcome === 'cancelled' && attempts > 0)
    if (!hasRun) {
      if (secrets === undefined && errorCode !== 'tool_not_found') {
        this.#emit(Event.TOOL_CALL_REJECTED, { tool, args: {}, error: REDACTED, outcome, errorCode: errorCode ?? 'tool_denied' }, place)
        return
      }
      const known = secrets && { secrets: [...secrets] }
      const { hidden, ...shown } = shownRejection(known, args ?? rawArguments, textOf(content))
      this.#tap.hide?.(hidden)
      this.#emit(Event.TOOL_CALL_REJECTED, { tool, ...shown, outcome, errorCode: errorCode ?? 'tool_denied' }, place)
      return
    }
    const isShown = secrets !== undefined && !isLargerThan(mostShown, args)
    const shown = isShown ? (redact(args ?? {}, new Set(secrets)) as JsonObject) : {}
    this.#emit(Event.TOOL_CALL_START, { tool, args: shown }, place)
    const result = secrets === undefined ? REDACTED : shownResult({ secrets: [...secrets] }, args ?? {}, textOf(content))
    const end = { tool, result, bytes: Buffer.byteLength(result), outcome, args: shown, ...withoutUndefined({ errorCode }) }
    this.#emit(Event.TOOL_CALL_END, end, { iteration, toolCallId, durationMs, ok: outcome === 'ok' })
  }

  /** Returns the arguments as the model wrote them, without secrets. */
  #inputOf(tool: string, json: string): string {
    const given = jsonOrText(json)
    const secrets = this.#run.secretsOf(tool)
    if (!isJsonObject(given) || secrets === undefined) return ''
    const { args, hidden } = shownInput({ secrets: [...secrets] }, given)
    this.#tap.hide?.(hidden)
    return JSON.stringify(args)
  }

  #countTurn(iteration: number, key: string | undefined): void {
    this.#turns.set(iteration, (this.#turns.get(iteration) ?? 0) + 1)
    if (key !== undefined) this.#keys.add(key)
  }

  #emit<K extends RunEvent['type']>(type: K, payload: EventPayloads[K], place: Omit<EventMeta, 'runId' | 'time' | 'metadata'>): void {
    const { runId, createdAt, metadata } = this.#run
    const time = this.hasCaughtUp ? { time: Date.now() } : { time: createdAt, recorded: true as const }
    const meta: EventMeta = { ...place, runId, ...time, ...withoutUndefined({ metadata }) }
    this.#tap.take({ type, meta, ...payload } as never as RunEvent)
  }
}

function isNew(known: Set<string>, name: string): boolean {
  if (known.has(name)) return false
  known.add(name)
  return true
}
