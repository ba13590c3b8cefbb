import type { RunEvent } from '../../core/events.ts'

/** Maximum number of calls to list for a tool. */
const mostRecent = 20
/** Maximum number of tools. Without a limit, the list would grow with each change of the configuration. */
const mostTools = 1_000

/** A call in the list of recent calls. Its arguments and its result are stored with its run. */
export interface RecentCall {
  /** The time at which the call ended, in ISO 8601. */
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
  /** The latest calls, newest first. */
  recent: RecentCall[]
}

/** Counts the outcomes of each tool's calls since the process started. */
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
