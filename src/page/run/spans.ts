import type { RunWithResult } from '../data/follow-run.ts'
import type { RunEvent, Usage } from '../types.ts'
import { Changes } from './changes.ts'

/** A stretch of time. `to` is undefined while it goes on. */
export interface Stretch {
  from: number
  to: number | undefined
}

/** A model turn or a tool call, as a bar on the run's time line. Times are in milliseconds since 1970. */
export interface Span {
  key: string
  kind: 'turn' | 'call'
  runId: string
  /** The key of the span it belongs to; `''`: none is known. */
  parent: string
  iteration: number
  /** Of the tool, or of the model. */
  name: string
  /** Of the call. */
  id: string
  /** Undefined: not known yet. */
  start: number | undefined
  /** Undefined: it goes on. */
  end: number | undefined
  state: 'running' | 'waiting' | 'ok' | 'failed' | 'rejected'
  firstToken: number | undefined
  retries: { at: number; words: string }[]
  /** Times in which it waited for somebody, or for its turn. */
  waits: Stretch[]
  usage: Usage | undefined
  /** Why the model stopped, or how the call ended. */
  finish: string
  args: unknown
  /** The beginning of what the model said, or what the tool gave. */
  text: string
  /** Its start is worked out from how long it took: what told of it is not stored any more. */
  isGuess: boolean
}

/** Characters of what a model says that are kept here; its answer is in the result. */
const mostText = 200_000
/** Spans of one run; of more, those that come later are not shown. */
const mostSpans = 5_000

/** Puts the time line of a run together from its events, and from its result where there are none of them any more. */
export class Spans {
  #changes = new Changes()
  /** In the order they began. */
  #spans: Map<string, Span> = new Map()
  /** The call inside which a run is. */
  #outside: Map<string, string> = new Map()
  /** The turn that a run is in. */
  #turns: Map<string, Span> = new Map()
  /** Pauses of the run itself: it waits for somebody, and nothing works. */
  readonly pauses: Stretch[] = []
  /** Undefined before the first event. */
  start: number | undefined
  /** Undefined while it goes on. */
  end: number | undefined
  /** Whether the last event told of something that goes on. */
  isLive = false
  /** How many there are besides those that are kept. */
  left = 0

  /** All of them; a component that reads them is drawn anew when they have changed. */
  get all(): Span[] {
    this.#changes.watch()
    return [...this.#spans.values()]
  }

  take(event: RunEvent): void {
    this.#take(event)
    this.isLive = event.type !== 'RUN_END' || event.meta.parentRunId !== undefined
    this.#changes.tell()
  }

  #take(event: RunEvent) {
    const { type, meta } = event
    const { runId, time, iteration = 0, parentRunId, parentToolCallId } = meta
    this.start = Math.min(this.start ?? time, time)
    if (parentRunId !== undefined) this.#outside.set(runId, `${parentRunId} ${parentToolCallId}`)
    const turn = this.#turns.get(runId)
    switch (type) {
      case 'RUN_START':
        if (parentRunId !== undefined) return
        this.end = undefined
        for (const pause of this.pauses) pause.to ??= time
        return
      case 'MODEL_START': {
        const now = this.#span(`${runId} turn ${iteration}`, { kind: 'turn', runId, iteration, name: `${event.provider} / ${event.model}` })
        if (now === undefined) return
        now.start ??= time
        now.state = 'running'
        this.#turns.set(runId, now)
        return
      }
      case 'TEXT_DELTA':
      case 'REASONING_DELTA':
      case 'TOOL_INPUT_START': {
        const now =
          turn?.iteration === iteration ? turn : this.#span(`${runId} turn ${iteration}`, { kind: 'turn', runId, iteration, name: '' })
        if (now === undefined) return
        this.#turns.set(runId, now)
        if (now.start !== undefined) now.firstToken ??= time
        if (type === 'TEXT_DELTA' && now.text.length < mostText) now.text += event.text
        return
      }
      case 'MODEL_QUEUED':
        turn?.waits.push({ from: time, to: undefined })
        return
      case 'MODEL_RETRY':
        if (event.discards && turn !== undefined) {
          turn.text = ''
          turn.firstToken = undefined
        }
        turn?.retries.push({ at: time, words: `${event.errorCode}: ${event.error}; again after ${event.delayMs} ms` })
        return
      case 'MODEL_END': {
        const now = this.#span(`${runId} turn ${iteration}`, { kind: 'turn', runId, iteration, name: '' })
        if (now === undefined) return
        now.name = `${event.provider} / ${event.model}`
        now.end = time
        now.usage = event.usage
        now.finish = event.errorCode ?? event.finishReason ?? ''
        now.state = event.errorCode === undefined ? 'ok' : 'failed'
        return
      }
      case 'RUN_END':
        return this.#endRun(runId, event)
      default:
        return this.#takeCall(event)
    }
  }

  /** The run waits, or is over: what its result says, for what no event has told. */
  fill(run: RunWithResult): void {
    const { result, createdAt, finishedAt } = run
    this.isLive = false
    this.#changes.tell()
    if (result === null || result === undefined) return
    const runId = run.id
    this.start = Math.min(this.start ?? Number.POSITIVE_INFINITY, Date.parse(createdAt))
    let at = this.start
    for (const step of result.steps ?? []) {
      const now = this.#span(`${runId} turn ${step.iteration}`, { kind: 'turn', runId, iteration: step.iteration, name: '' })
      if (now === undefined) break
      now.name = `${step.provider} / ${step.model}`
      this.#place(now, at, step.durationMs)
      if (step.timeToFirstTokenMs !== undefined && now.start !== undefined) now.firstToken ??= now.start + step.timeToFirstTokenMs
      now.usage ??= step.usage
      now.finish ||= step.finishReason
      if (now.state === 'running') now.state = step.finishReason === 'error' ? 'failed' : 'ok'
      at = now.end ?? at
      for (const call of result.toolCalls ?? []) {
        if (call.iteration !== step.iteration) continue
        const span = this.#span(`${runId} ${call.id}`, { kind: 'call', runId, iteration: call.iteration, name: call.tool, id: call.id })
        if (span === undefined) break
        this.#place(span, now.end ?? at, call.durationMs)
        span.args ??= call.args ?? call.rawArguments
        if (typeof call.content === 'string') span.text ||= call.content
        span.finish = call.outcome
        if (span.state === 'running' || span.state === 'waiting')
          span.state = call.outcome === 'ok' ? 'ok' : call.attempts > 0 ? 'failed' : 'rejected'
        if (call.nested?.usage !== undefined) span.usage ??= call.nested.usage
        at = Math.max(at, span.end ?? at)
      }
    }
    if (run.status === 'done' && finishedAt !== undefined) this.end ??= Math.max(Date.parse(finishedAt), at)
  }

  /** `after` is where it can have begun, if nothing else is known. */
  #place(span: Span, after: number, durationMs: number): void {
    if (span.start === undefined) {
      span.start = span.end === undefined ? after : span.end - durationMs
      span.isGuess = true
    }
    span.end ??= span.start + durationMs
  }

  #takeCall({ type, meta, ...event }: RunEvent): void {
    const id = meta.toolCallId ?? event.toolCallId ?? event.id
    if (typeof id !== 'string' || typeof event.tool !== 'string') return
    const { runId, time, iteration = 0 } = meta
    const span = this.#span(`${runId} ${id}`, { kind: 'call', runId, iteration, name: event.tool, id })
    if (span === undefined) return
    if (type !== 'DECISION_NEEDED' && type !== 'TOOL_PROGRESS') for (const wait of span.waits) wait.to ??= time
    // What an agent inside the call waits for has arguments of its own.
    if (event.args !== undefined && event.path === undefined) span.args = event.args
    switch (type) {
      case 'TOOL_CALL_START':
        span.start ??= time
        span.end = undefined
        span.state = 'running'
        return
      case 'TOOL_CALL_END':
        span.end = time
        if (span.start === undefined) {
          span.start = time - (meta.durationMs ?? 0)
          span.isGuess = true
        }
        span.state = meta.ok === false ? 'failed' : 'ok'
        span.finish = event.outcome ?? ''
        span.text = String(event.result ?? '')
        return
      case 'TOOL_CALL_REJECTED':
        span.start ??= time
        span.end = time
        span.state = 'rejected'
        span.finish = event.outcome ?? ''
        span.text = String(event.error ?? '')
        return
      case 'DECISION_NEEDED':
        span.start ??= time
        span.end = undefined
        span.state = 'waiting'
        // A tool that asks has ended its call with what it asks, which is not its result.
        span.text = ''
        span.waits.push({ from: time, to: undefined })
    }
  }

  #endRun(runId: string, { stopReason, meta: { time, parentRunId } }: RunEvent): void {
    const isPaused = stopReason === 'paused'
    for (const span of this.#spans.values()) {
      if (span.runId !== runId || span.end !== undefined || (isPaused && span.state === 'waiting')) continue
      span.end = time
      if (span.state === 'running') span.state = span.kind === 'turn' ? 'failed' : 'rejected'
      for (const wait of span.waits) wait.to ??= time
    }
    if (parentRunId !== undefined) return
    if (isPaused) this.pauses.push({ from: time, to: undefined })
    else this.end = time
  }

  #span(
    key: string,
    { kind, runId, iteration, name, id = '' }: Pick<Span, 'kind' | 'runId' | 'iteration' | 'name'> & { id?: string },
  ): Span | undefined {
    const there = this.#spans.get(key)
    if (there !== undefined) return there
    if (this.#spans.size >= mostSpans) {
      this.left++
      return undefined
    }
    const span: Span = {
      ...{ key, kind, runId, iteration, name, id, start: undefined, end: undefined, state: 'running', firstToken: undefined },
      ...{ retries: [], waits: [], usage: undefined, finish: '', args: undefined, text: '', isGuess: false },
      parent: kind === 'call' ? `${runId} turn ${iteration}` : (this.#outside.get(runId) ?? ''),
    }
    this.#spans.set(key, span)
    return span
  }
}
