import type { Pending, RunEvent } from '../types.ts'

/** A tool call, as far as its events have told. */
export interface Call {
  key: string
  id: string
  runId: string
  /** Of the run outside, for a call of a run that is inside a call; else as `runId`. */
  topRunId: string
  /** The tool whose call that is; `''`: the run is inside of none. */
  within: string
  tool: string
  /** Undefined: still being written. */
  args: unknown
  result: string
  progress: string
  state: 'writing' | 'waiting' | 'running' | 'ok' | 'failed' | 'rejected'
  /** Of one that waits. */
  waitsFor: Exclude<Pending['kind'], 'budget'>
  durationMs: number | undefined
  /** When it began to run or to wait, in milliseconds since 1970. */
  since: number | undefined
  /** How many runs it is inside of. */
  depth: number
  /** Goes up with every change. */
  version: number
}

/** Puts the calls of runs together from their events; of very many it keeps the latest. */
export class Calls {
  /** In the order they began. */
  #calls: Map<string, Call> = new Map()
  #most

  constructor(most: number) {
    this.#most = most
  }

  /** The latest first. */
  get latest() {
    return [...this.#calls.values()].reverse()
  }

  /** Returns the call the event is about. */
  take({ type, meta, ...event }: RunEvent): Call | undefined {
    const id = meta?.toolCallId ?? event.toolCallId ?? event.id
    if (typeof id !== 'string' || typeof event.tool !== 'string') return undefined
    const change: Partial<Call> | undefined = changes[type]?.(event, meta)
    if (change === undefined) return undefined
    const key = `${meta.runId} ${id}`
    const call = this.#calls.get(key) ?? this.#begin(key, id, meta, event.tool)
    Object.assign(call, change)
    call.version++
    return call
  }

  /** Calls that were being written when their response broke off: they are written again. */
  forgetWriting(runId: string) {
    for (const call of [...this.#calls.values()]) if (call.runId === runId && call.state === 'writing') this.#calls.delete(call.key)
  }

  /** Calls of a run that is over have ended, whether or not their last event has been seen. */
  settle(runId: string) {
    const open = [...this.#calls.values()].filter((call) => call.runId === runId && ['writing', 'running'].includes(call.state))
    for (const call of open) {
      call.state = 'rejected'
      call.result ||= 'The run ended before this call did.'
      call.version++
    }
    return open
  }

  #begin(key: string, id: string, { runId, parentRunId, parentToolCallId, depth = 0 }: RunEvent['meta'], tool: string): Call {
    const outside = this.#calls.get(`${parentRunId} ${parentToolCallId}`)
    const call: Call = {
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

const changes: Record<string, (event: Omit<RunEvent, 'type' | 'meta'>, meta: RunEvent['meta']) => Partial<Call>> = {
  TOOL_INPUT_START: () => ({ state: 'writing' }),
  TOOL_CALL_START: ({ args }, { time }) => ({ state: 'running', args, since: time }),
  TOOL_PROGRESS: ({ update }) => ({ progress: typeof update === 'string' ? update : JSON.stringify(update) }),
  TOOL_CALL_END: ({ result }, { ok, durationMs }) => ({ state: ok === false ? 'failed' : 'ok', result, durationMs, progress: '' }),
  TOOL_CALL_REJECTED: ({ args, error }) => ({ state: 'rejected', args, result: error }),
  // A tool that asks has ended its call with what it asks, which is not its result.
  // What an agent inside the call waits for has arguments of its own.
  DECISION_NEEDED: ({ args, kind, path }, { time }) => ({
    state: 'waiting',
    waitsFor: kind === 'client_tool' || kind === 'question' ? kind : 'approval',
    ...(path === undefined ? { args } : {}),
    result: '',
    durationMs: undefined,
    since: time,
  }),
}
