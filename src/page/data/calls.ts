import { type CallView, callOf, emptyRunView, type RunEvent, type RunView, reduceRun } from '../../core/runs/index.ts'

/** A call, and where it is made. */
export interface PlacedCall {
  key: string
  call: CallView
  run: RunView
  /** The outermost run. */
  topRunId: string
  /** The tool whose call its run is inside of; `''`: the run is inside of none. */
  within: string
  /** How many runs its run is inside of. */
  depth: number
}

/** The call that an event of the view's run is about, if it is about one. */
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

/** A call that a response had begun before it broke off is written again. */
export function isVoid({ call, run }: PlacedCall): boolean {
  return call.status === 'writing' && run.calls.get(call.id) !== call
}

export type CallState = 'writing' | 'running' | 'waiting' | 'ok' | 'failed' | 'rejected'

/** How a call stands, or how it has ended. `rejected`: it was not run. */
export function stateOfCall({ status, outcome, startedAt }: CallView): CallState {
  if (status !== 'ended') return status
  if (outcome === 'ok') return 'ok'
  return outcome === 'failed' || outcome === 'timeout' || (outcome === 'cancelled' && startedAt !== undefined) ? 'failed' : 'rejected'
}

/** Runs that are followed at once; of more, the first are not. */
const mostRuns = 1_000

/** The latest calls of all runs. */
export class LatestCalls {
  /** By run; those inside of a call share the view of the run outside. Of what has ended, they keep nothing but the last turn. */
  #views: Map<string, RunView> = new Map()
  /** In the order they began. */
  #calls: Map<string, PlacedCall> = new Map()
  #most

  constructor(most: number) {
    this.#most = most
  }

  /** The latest first. */
  get latest() {
    return [...this.#calls.values()].reverse()
  }

  take(event: RunEvent): void {
    const { runId, parentRunId = runId } = event.meta
    const view = this.#views.get(runId) ?? this.#views.get(parentRunId) ?? emptyRunView()
    reduceRun(view, event)
    // Of a run deep inside others, the outermost may not be known yet.
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
