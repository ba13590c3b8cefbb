import { type CallView, callOf, emptyRunView, type RunEvent, type RunView, reduceRun } from '../../core/runs/index.ts'

/** A call and the run that it belongs to. */
export interface PlacedCall {
  key: string
  call: CallView
  run: RunView
  topRunId: string
  /** The tool whose call contains the run. `''` if the run is not nested. */
  within: string
  depth: number
}

/** Returns the call that an event is about. Returns undefined if the event is not about a call. */
export function placedCall(view: RunView, event: RunEvent): PlacedCall | undefined {
  const call = callOf(view, event)
  const run = view.runs.get(event.meta.runId) ?? view
  return call && placeCall(view, run, call, event.meta.depth)
}

export function placeCall(view: RunView, run: RunView, call: CallView, depth = 0): PlacedCall {
  const { runId = '', toolCallId = '' } = run.parent ?? {}
  const within = (view.runs.get(runId) ?? view).calls.get(toolCallId)?.tool ?? ''
  return { key: `${run.runId} ${call.id}`, call, run, topRunId: view.runId, within: run.parent === undefined ? '' : within, depth }
}

/**
 * Whether a call is void. A call is void if the model's response was cut off before the call was complete; the response is then requested
 * again.
 */
export function isVoid({ call, run }: PlacedCall): boolean {
  return call.status === 'writing' && run.calls.get(call.id) !== call
}

export type CallState = 'writing' | 'running' | 'waiting' | 'ok' | 'failed' | 'rejected'

/** Returns the state of a call. For a call that has ended, returns its outcome; `rejected` means that it did not run. */
export function stateOfCall({ status, outcome, startedAt }: CallView): CallState {
  if (status !== 'ended') return status
  if (outcome === 'ok') return 'ok'
  return outcome === 'failed' || outcome === 'timeout' || (outcome === 'cancelled' && startedAt !== undefined) ? 'failed' : 'rejected'
}

/** Maximum number of runs that are followed at once. If there are more, the oldest are dropped. */
const mostRuns = 1_000

/** Collects the latest calls of all runs. */
export class LatestCalls {
  /**
   * The view of each run, by run id. A nested run shares the view of the outermost run. A view contains only the last turn of its run, and
   * is removed when the run has ended.
   */
  #views: Map<string, RunView> = new Map()
  /** The calls in the order in which they started. */
  #calls: Map<string, PlacedCall> = new Map()
  #most

  constructor(most: number) {
    this.#most = most
  }

  /** The calls. The latest call comes first. */
  get latest() {
    return [...this.#calls.values()].reverse()
  }

  take(event: RunEvent): void {
    const { runId, parentRunId = runId } = event.meta
    const view = this.#views.get(runId) ?? this.#views.get(parentRunId) ?? emptyRunView()
    reduceRun(view, event)
    // Also stores the view under the id of a nested run, so that runs inside it find the view.
    for (const id of [view.runId || runId, runId]) this.#views.set(id, view)
    const run = view.runs.get(runId) ?? view
    const found = placedCall(view, event)
    if (found !== undefined && !this.#calls.has(found.key)) this.#calls.set(found.key, found)
    if (event.type === 'MODEL_START' || event.type === 'MODEL_RETRY')
      for (const [key, call] of this.#calls) if (call.run === run && isVoid(call)) this.#calls.delete(key)
    run.turns = run.turns.slice(-1)
    if (found?.call.status === 'ended') run.calls.delete(found.call.id)
    if (run.status === 'ended') {
      this.#views.delete(runId)
      view.runs.delete(runId)
    }
    for (const [calls, most] of [[this.#calls, this.#most] as const, [this.#views, mostRuns] as const]) {
      const oldest = calls.keys().next()
      if (calls.size > most && !oldest.done) calls.delete(oldest.value)
    }
  }
}
