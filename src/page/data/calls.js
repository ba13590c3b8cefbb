/**
 * @typedef {object} Call A tool call, as far as its events have told.
 * @property {string} key
 * @property {string} id
 * @property {string} runId
 * @property {string} topRunId Of the run outside, for a call of a run that is inside a call; else as `runId`.
 * @property {string} within The tool whose call that is; `''`: the run is inside of none.
 * @property {string} tool
 * @property {unknown} args Undefined: still being written.
 * @property {string} result
 * @property {string} progress
 * @property {'writing' | 'waiting' | 'running' | 'ok' | 'failed' | 'rejected'} state
 * @property {'approval' | 'client_tool' | 'question'} waitsFor Of one that waits.
 * @property {number | undefined} durationMs
 * @property {number | undefined} since When it began to run or to wait, in milliseconds since 1970.
 * @property {number} depth How many runs it is inside of.
 * @property {number} version Goes up with every change.
 */

/** Puts the calls of runs together from their events; of very many it keeps the latest. */
export class Calls {
  /** @type {Map<string, Call>} In the order they began. */
  #calls = new Map()
  #most

  /** @param {number} most */
  constructor(most) {
    this.#most = most
  }

  /** The latest first. */
  get latest() {
    return [...this.#calls.values()].reverse()
  }

  /**
   * @param {any} event
   * @returns {Call | undefined} The call the event is about.
   */
  take({ type, meta, ...event }) {
    const id = meta?.toolCallId ?? event.toolCallId ?? event.id
    if (typeof id !== 'string' || typeof event.tool !== 'string') return undefined
    /** @type {Partial<Call> | undefined} */
    const change = changes[type]?.(event, meta)
    if (change === undefined) return undefined
    const key = `${meta.runId} ${id}`
    const call = this.#calls.get(key) ?? this.#begin(key, id, meta, event.tool)
    Object.assign(call, change)
    call.version++
    return call
  }

  /**
   * Calls of a run that is over have ended, whether or not their last event has been seen.
   * @param {string} runId
   */
  settle(runId) {
    const open = [...this.#calls.values()].filter((call) => call.runId === runId && ['writing', 'running'].includes(call.state))
    for (const call of open) {
      call.state = 'rejected'
      call.result ||= 'The run ended before this call did.'
      call.version++
    }
    return open
  }

  /**
   * @param {string} key
   * @param {string} id
   * @param {any} meta
   * @param {string} tool
   * @returns {Call}
   */
  #begin(key, id, { runId, parentRunId, parentToolCallId, depth = 0 }, tool) {
    const outside = this.#calls.get(`${parentRunId} ${parentToolCallId}`)
    /** @type {Call} */
    const call = {
      key,
      id,
      runId,
      topRunId: outside?.topRunId ?? parentRunId ?? runId,
      within: outside?.tool ?? '',
      tool,
      args: undefined,
      result: '',
      progress: '',
      state: 'writing',
      waitsFor: 'approval',
      durationMs: undefined,
      since: undefined,
      depth,
      version: 0,
    }
    this.#calls.set(key, call)
    const oldest = this.#calls.keys().next()
    if (this.#calls.size > this.#most && !oldest.done) this.#calls.delete(oldest.value)
    return call
  }
}

/** @type {Record<string, (event: any, meta: any) => Partial<Call>>} */
const changes = {
  TOOL_INPUT_START: () => ({ state: 'writing' }),
  TOOL_CALL_START: ({ args }, { time }) => ({ state: 'running', args, since: time }),
  TOOL_PROGRESS: ({ update }) => ({ progress: typeof update === 'string' ? update : JSON.stringify(update) }),
  TOOL_CALL_END: ({ result }, { ok, durationMs }) => ({ state: ok === false ? 'failed' : 'ok', result, durationMs, progress: '' }),
  TOOL_CALL_REJECTED: ({ args, error }) => ({ state: 'rejected', args, result: error }),
  // A tool that asks has ended its call with what it asks, which is not its result.
  DECISION_NEEDED: ({ args, kind }, { time }) => ({
    state: 'waiting',
    waitsFor: kind,
    args,
    result: '',
    durationMs: undefined,
    since: time,
  }),
}
