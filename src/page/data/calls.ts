import { type CallView, callOf, emptyRunView, type RunEvent, type RunView, reduceRun } from '../../core/runs/index.ts'

/** A call with its run. */
export interface PlacedCall {
  key: string
  call: CallView
  run: RunView
  /** The id of the outermost run. */
  topRunId: string
  /** The tool whose call contains the run; `''` if there is none. */
  within: string
  /** The nesting depth of the run. */
  depth: number
}

/** The call that an event of the view's run is about, if any. */
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

/** Whether a call is void: the model's response broke off before the call was complete, so the response is requested again. */
export function isVoid({ call, run }: PlacedCall): boolean {
  return call.status === 'writing' && run.calls.get(call.id) !== call
}

export type CallState = 'writing' | 'running' | 'waiting' | 'ok' | 'failed' | 'rejected'

/** The state of a call, or how it ended. `rejected`: it did not run. */
export function stateOfCall({ status, outcome, startedAt }: CallView): CallState {
  if (status !== 'ended') return status
  if (outcome === 'ok') return 'ok'
  return outcome === 'failed' || outcome === 'timeout' || (outcome === 'cancelled' && startedAt !== undefined) ? 'failed' : 'rejected'
}

/** Maximum number of runs followed at once; the first are dropped. */
const mostRuns = 1_000

/** The latest calls of all runs. */
export class LatestCalls {
  /**
   * The view of each run, by run id. Nested runs share the view of the outer run. Only the last turn of a run is kept, and a run that has
   * ended is removed.
   */
  #views: Map<string, RunView> = new Map()
  /** Calls in the order they started. */
  #calls: Map<string, PlacedCall> = new Map()
  #most

  constructor(most: number) {
    this.#most = most
  }

  /** The calls, latest first. */
  get latest() {
    return [...this.#calls.values()].reverse()
  }

  take(event: RunEvent): void {
    const { runId, parentRunId = runId } = event.meta
    const view = this.#views.get(runId) ?? this.#views.get(parentRunId) ?? emptyRunView()
    reduceRun(view, event)
    // The outermost run of a deeply nested run may not be known yet.
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
