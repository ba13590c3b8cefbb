import type { RunEvent } from '../../core/events.ts'

/** Limit per tool. */
const mostRecent = 20
/** The limit is needed because names come from the configuration, which may change any number of times. */
const mostTools = 1_000

/** A call as it is listed. Its arguments and result are in its run. */
export interface RecentCall {
  /** ISO 8601. */
  at: string
  outcome: string
  durationMs: number
  errorCode?: string
  /** The id of the run that made the call. Absent for a trial call. */
  runId?: string
}

interface Counted {
  total: number
  failed: number
  /** Newest first. */
  recent: RecentCall[]
}

/** The outcomes of each tool's calls since the process started. */
export class RecentCalls {
  readonly #tools = new Map<string, Counted>()

  of(tool: string): Readonly<Counted> {
    return this.#tools.get(tool) ?? { total: 0, failed: 0, recent: [] }
  }

  add(tool: string, call: RecentCall): void {
    const { total, failed, recent } = this.of(tool)
    const isFailure = call.outcome !== 'ok' && call.outcome !== 'question'
    this.#tools.delete(tool)
    this.#tools.set(tool, { total: total + 1, failed: failed + (isFailure ? 1 : 0), recent: [call, ...recent].slice(0, mostRecent) })
    const [idle] = this.#tools.keys()
    if (idle !== undefined && this.#tools.size > mostTools) this.#tools.delete(idle)
  }

  /** If the event is the end of a call, records the call. */
  take(runId: string, event: RunEvent): void {
    if (event.type !== 'TOOL_CALL_END' && event.type !== 'TOOL_CALL_REJECTED') return
    const { tool, outcome, errorCode, meta } = event
    const at = new Date(meta.time).toISOString()
    this.add(tool, { at, outcome, durationMs: meta.durationMs ?? 0, errorCode, runId })
  }
}
