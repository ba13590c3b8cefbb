import { type CallView, emptyRunView, type RunView, reduceRun, type Stretch, type TurnView, turnText } from '../../core/runs/index.ts'
import { type CallState, stateOfCall } from '../data/calls.ts'
import type { RunWithResult } from '../data/follow-run.ts'
import type { Usage } from '../types.ts'
import { Changes } from './changes.ts'

/**
 * A bar on the timeline of a run. It stands for a model turn, a tool call, or a run inside a call that contains several runs. Times are in
 * milliseconds since 1970.
 */
export interface Span {
  key: string
  kind: 'turn' | 'call' | 'run'
  runId: string
  /** The key of the span that contains this span. `''` if unknown. */
  parent: string
  iteration: number
  /** The name of the tool or model. */
  name: string
  id: string
  /** Undefined if not known yet. */
  start: number | undefined
  /** Undefined while the span continues. */
  end: number | undefined
  state: Exclude<CallState, 'writing'>
  firstToken: number | undefined
  retries: { at: number; words: string }[]
  /** The periods in which the call waited for a decision, or for its turn. */
  waits: Stretch[]
  usage: Usage | undefined
  /** Why the model stopped, how the call ended, or what the call waits for. */
  finish: string
  args: unknown
  /** The text of the model, or the result of the tool. */
  text(): string
  /** Whether `start` is calculated from the duration, because the event of the start is no longer stored. */
  isGuess: boolean
}

/** Maximum number of spans of a run. Later spans are not shown. */
const mostSpans = 5_000

/** The spans of a run. They come from the run's events, and from its result if events are missing. */
export class Spans {
  #changes = new Changes()
  #view: RunView = emptyRunView()
  /** The spans, by key. A span that changes is updated in place: it stays the same object. */
  #spans: Map<string, Span> = new Map()
  #isCurrent = true
  #result: RunWithResult | undefined
  /** The usage of nested agents, according to the result. */
  #usage: Map<string, Usage> = new Map()
  /** Whether the run was running at the last event. */
  isLive = false
  /** The number of spans beyond the limit, which are not shown. */
  left = 0

  /** All spans. A component that reads them re-renders when they change. */
  get all(): Span[] {
    this.#changes.watch()
    if (!this.#isCurrent) {
      this.left = 0
      this.#addRun(this.#view, '')
      this.#isCurrent = true
    }
    return [...this.#spans.values()]
  }

  /** Undefined before the first event. */
  get start(): number | undefined {
    const created = this.#result && Date.parse(this.#result.createdAt)
    return created === undefined ? this.#view.startedAt : Math.min(this.#view.startedAt ?? created, created)
  }

  /** Undefined while the run continues. */
  get end(): number | undefined {
    const { status, finishedAt } = this.#result ?? {}
    return this.#view.endedAt ?? (status === 'ended' && finishedAt !== undefined ? Date.parse(finishedAt) : undefined)
  }

  /** The periods in which the run was paused. */
  get pauses(): Stretch[] {
    return this.#view.pauses
  }

  /** Called after the view has handled an event. */
  take(view: RunView): void {
    this.#view = view
    this.isLive = view.status === 'running'
    this.#change()
  }

  /** Called when the run has paused or ended. Adds data from the result that no event contained. */
  fill(view: RunView, run: RunWithResult): void {
    this.#view = view
    this.#result = run
    this.isLive = false
    this.#change()
    const { steps = [], toolCalls = [] } = run.result ?? {}
    const turns = new Map(view.turns.map((turn) => [turn.iteration, turn]))
    const calls = Map.groupBy(toolCalls, ({ iteration }) => iteration)
    let at = this.start ?? 0
    for (const step of steps) {
      at = Math.max(at, fillTurn(view, turns.get(step.iteration), step, at))
      for (const call of calls.get(step.iteration) ?? []) {
        if (call.nested?.usage !== undefined) this.#usage.set(call.id, call.nested.usage)
        at = Math.max(at, fillCall(view, call, at))
      }
    }
  }

  #change(): void {
    this.#isCurrent = false
    this.#changes.tell()
  }

  /** Adds the spans of a run. `outside` is the key of the call that contains the run. */
  #addRun(run: RunView, outside: string): void {
    for (const turn of run.turns) {
      if (turn.startedAt !== undefined || turn.firstTokenAt !== undefined || turn.endedAt !== undefined) this.#addTurn(run, turn, outside)
      for (const part of turn.parts) if (part.type === 'call') this.#addCall(run, part.call)
    }
    // Adds the calls that belong to no known turn.
    for (const call of run.calls.values()) if (call.iteration === undefined) this.#addCall(run, call)
  }

  #addTurn({ runId }: RunView, turn: TurnView, parent: string): void {
    const { iteration, provider, model, startedAt, endedAt, durationMs, errorCode, finishReason, usage } = turn
    const start = startedAt ?? (endedAt !== undefined && durationMs !== undefined ? endedAt - durationMs : undefined)
    const isGuess = startedAt === undefined && start !== undefined
    const name = provider === undefined ? '' : `${provider} / ${model}`
    const isFailed = errorCode !== undefined || finishReason === undefined || finishReason === 'error'
    this.#put({
      ...{ key: `${runId} turn ${iteration}`, kind: 'turn', runId, parent, iteration, name, id: '', start, end: endedAt, isGuess, usage },
      state: endedAt === undefined ? 'running' : isFailed ? 'failed' : 'ok',
      firstToken: start === undefined ? undefined : turn.firstTokenAt,
      retries: turn.retries.map(({ time, errorCode, error, delayMs }) => ({
        at: time,
        words: `${errorCode}: ${error}; again after ${delayMs} ms`,
      })),
      waits: turn.waits,
      finish: errorCode ?? finishReason ?? '',
      args: undefined,
      text: () => turnText(turn),
    })
  }

  #addCall(run: RunView, call: CallView): void {
    const { id, tool: name, iteration = 0, args, waits, startedAt, endedAt: end, durationMs, outcome, runs } = call
    const { runId } = run
    const key = `${runId} ${id}`
    const began = startedAt ?? waits[0]?.from
    const start = began ?? (end === undefined ? undefined : end - (durationMs ?? 0))
    const state = stateOfCall(call)
    const isGuess = began === undefined && start !== undefined && state !== 'rejected'
    const inside = runs.flatMap(({ usage }) => usage ?? []).at(-1)
    this.#put({
      ...{ key, kind: 'call', runId, parent: `${runId} turn ${iteration}`, iteration, name, id, start, end, isGuess, args, waits },
      state: state === 'writing' ? 'running' : state,
      firstToken: undefined,
      retries: [],
      usage: (this.#view === run ? this.#usage.get(id) : undefined) ?? inside,
      finish: outcome ?? (state === 'waiting' ? (call.waitsFor ?? '') : ''),
      text: () => call.result,
    })
    for (const [at, nested] of runs.entries()) this.#addRun(nested, runs.length === 1 ? key : this.#addNested(nested, key, at + 1))
  }

  /** Adds a span for a run inside a call, if the call contains several runs. Returns the key of the span. */
  #addNested(
    { runId, turns, status, stopReason, errorCode, usage, pauses, startedAt, endedAt }: RunView,
    parent: string,
    at: number,
  ): string {
    const key = `${runId} run`
    const isGood = stopReason === 'answered' || stopReason === 'stopped'
    const last = turns.at(-1)
    this.#put({
      ...{ key, kind: 'run', runId, parent, iteration: 0, name: `Run ${at}`, id: runId, start: startedAt, end: endedAt, isGuess: false },
      state: status !== 'ended' ? status : isGood ? 'ok' : 'failed',
      firstToken: undefined,
      retries: [],
      waits: pauses,
      usage,
      finish: errorCode ?? stopReason ?? '',
      args: undefined,
      text: () => (last === undefined ? '' : turnText(last)),
    })
    return key
  }

  #put(span: Span): void {
    const known = this.#spans.get(span.key)
    if (known !== undefined) Object.assign(known, span)
    else if (this.#spans.size < mostSpans) this.#spans.set(span.key, span)
    else this.left++
  }
}

type Result = NonNullable<RunWithResult['result']>

/** Adds a turn's data to the view if no event contained it. `after` is the earliest possible start. Returns the end of the turn. */
function fillTurn(view: RunView, known: TurnView | undefined, result: NonNullable<Result['steps']>[number], after: number): number {
  const { iteration, durationMs, timeToFirstTokenMs, ...step } = result
  const time = known?.endedAt ?? (known?.startedAt ?? after) + durationMs
  const meta = { runId: view.runId, iteration, durationMs, time }
  if (known?.finishReason === undefined) reduceRun(view, { ...step, type: 'MODEL_END', meta })
  const turn = known ?? view.turns.findLast((one) => one.iteration === iteration)
  if (timeToFirstTokenMs !== undefined && turn !== undefined)
    turn.firstTokenAt ??= (turn.startedAt ?? time - durationMs) + timeToFirstTokenMs
  return time
}

function fillCall(view: RunView, result: NonNullable<Result['toolCalls']>[number], after: number): number {
  const { id, iteration, tool, args, rawArguments = '', content, outcome, durationMs } = result
  const known = view.calls.get(id)
  const time = known?.endedAt ?? (known?.startedAt ?? after) + durationMs
  const event = { tool, meta: { runId: view.runId, iteration, durationMs, time, toolCallId: id } }
  const text = typeof content === 'string' ? content : ''
  const given = args ?? rawArguments
  if (known?.outcome === undefined) {
    if (outcome === 'ok' || outcome === 'failed' || outcome === 'timeout' || outcome === 'cancelled')
      reduceRun(view, { ...event, type: 'TOOL_CALL_END', result: text, bytes: 0, outcome })
    else reduceRun(view, { ...event, type: 'TOOL_CALL_REJECTED', args: given, error: text, outcome, errorCode: 'tool_denied' })
  }
  const call = view.calls.get(id)
  if (call !== undefined) call.args ??= given
  return time
}
