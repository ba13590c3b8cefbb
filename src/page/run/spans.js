/**
 * @typedef {object} Span A model turn or a tool call, as a bar on the run's time line. Times are in milliseconds since 1970.
 * @property {string} key
 * @property {'turn' | 'call'} kind
 * @property {string} runId
 * @property {string} parent The key of the span it belongs to; `''`: none is known.
 * @property {number} iteration
 * @property {string} name Of the tool, or of the model.
 * @property {string} id Of the call.
 * @property {number | undefined} start Undefined: not known yet.
 * @property {number | undefined} end Undefined: it goes on.
 * @property {'running' | 'waiting' | 'ok' | 'failed' | 'rejected'} state
 * @property {number | undefined} firstToken
 * @property {{ at: number, words: string }[]} retries
 * @property {{ from: number, to: number | undefined }[]} waits Times in which it waited for somebody, or for its turn.
 * @property {import('../types.js').Usage | undefined} usage
 * @property {string} finish Why the model stopped, or how the call ended.
 * @property {unknown} args
 * @property {string} text The beginning of what the model said, or what the tool gave.
 * @property {boolean} isGuess Its start is worked out from how long it took: what told of it is not stored any more.
 */

/** Characters of what a model says that are kept here; its answer is in the result. */
const mostText = 200_000
/** Spans of one run; of more, those that come later are not shown. */
const mostSpans = 5_000

/** Puts the time line of a run together from its events, and from its result where there are none of them any more. */
export class Spans {
  /** @type {Map<string, Span>} In the order they began. */
  #spans = new Map()
  /** The call inside which a run is. @type {Map<string, string>} */
  #outside = new Map()
  /** The turn that a run is in. @type {Map<string, Span>} */
  #turns = new Map()
  /** Pauses of the run itself: it waits for somebody, and nothing works. @type {{ from: number, to: number | undefined }[]} */
  pauses = []
  /** Undefined before the first event. @type {number | undefined} */
  start
  /** Undefined while it goes on. @type {number | undefined} */
  end
  left = 0

  get all() {
    return [...this.#spans.values()]
  }

  /** @param {any} event */
  take(event) {
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

  /**
   * What the result says, for what no event has told.
   * @param {any} run
   */
  fill(run) {
    const { result, createdAt, finishedAt } = run
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

  /**
   * @param {Span} span
   * @param {number} after Where it can have begun, if nothing else is known.
   * @param {number} durationMs
   */
  #place(span, after, durationMs) {
    if (span.start === undefined) {
      span.start = span.end === undefined ? after : span.end - durationMs
      span.isGuess = true
    }
    span.end ??= span.start + durationMs
  }

  /** @param {any} event */
  #takeCall({ type, meta, ...event }) {
    const id = meta.toolCallId ?? event.toolCallId ?? event.id
    if (typeof id !== 'string' || typeof event.tool !== 'string') return
    const { runId, time, iteration = 0 } = meta
    const span = this.#span(`${runId} ${id}`, { kind: 'call', runId, iteration, name: event.tool, id })
    if (span === undefined) return
    if (type !== 'DECISION_NEEDED' && type !== 'TOOL_PROGRESS') for (const wait of span.waits) wait.to ??= time
    if (event.args !== undefined) span.args = event.args
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
        span.waits.push({ from: time, to: undefined })
    }
  }

  /**
   * @param {string} runId
   * @param {any} event
   */
  #endRun(runId, { stopReason, meta: { time, parentRunId } }) {
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

  /**
   * @param {string} key
   * @param {Pick<Span, 'kind' | 'runId' | 'iteration' | 'name'> & { id?: string }} known
   * @returns {Span | undefined}
   */
  #span(key, { kind, runId, iteration, name, id = '' }) {
    const there = this.#spans.get(key)
    if (there !== undefined) return there
    if (this.#spans.size >= mostSpans) {
      this.left++
      return undefined
    }
    /** @type {Span} */
    const span = {
      ...{ key, kind, runId, iteration, name, id, start: undefined, end: undefined, state: 'running', firstToken: undefined },
      ...{ retries: [], waits: [], usage: undefined, finish: '', args: undefined, text: '', isGuess: false },
      parent: kind === 'call' ? `${runId} turn ${iteration}` : (this.#outside.get(runId) ?? ''),
    }
    this.#spans.set(key, span)
    return span
  }
}

/**
 * Where moments are on a time line of which long pauses take only a little: waiting for somebody for an hour must not hide what took a second.
 * @param {{ start: number, end: number, pauses: readonly { from: number, to: number | undefined }[] }} times
 * @returns {{ at(time: number): number, gaps: { at: number, width: number, ms: number }[], workMs: number }} Places are from 0 to 1.
 */
export function timeScale({ start, end, pauses }) {
  const whole = Math.max(1, end - start)
  const known = pauses
    .map(({ from, to }) => ({ from: Math.max(start, from), to: Math.min(end, to ?? end) }))
    .filter(({ from, to }) => to > from)
  const paused = known.reduce((sum, { from, to }) => sum + to - from, 0)
  const workMs = Math.max(1, whole - paused)
  /** What is left of a pause, in milliseconds of the line. */
  const shown = known.map(({ from, to }) => ({ from, to, width: Math.min(to - from, workMs * pauseShare) }))
  const total = Math.max(1, workMs + shown.reduce((sum, { width }) => sum + width, 0))
  /** @param {number} time */
  const at = (time) => {
    let place = Math.min(Math.max(time, start), end) - start
    for (const { from, to, width } of shown) if (time > from) place -= (Math.min(time, to) - from) * (1 - width / (to - from))
    return place / total
  }
  return { at, workMs, gaps: shown.map(({ from, to, width }) => ({ at: at(from), width: width / total, ms: to - from })) }
}

/** Of the time in which something was done. */
const pauseShare = 0.08
