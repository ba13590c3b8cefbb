import { setImmediate as afterPendingIO, setTimeout as pause } from 'node:timers/promises'
import { within } from '../../within.ts'
import type { ListedTool, OnToolProblem } from '../listing/list-tools.ts'
import type { Connection } from './connection.ts'

/** Minimum pause between two requests for a server's tools, in milliseconds. */
const refreshPauseMs = 250

interface FollowedToolsOptions {
  /** Time limit of one request, in milliseconds. */
  timeoutMs: number
  /** Aborted when the server is closed. */
  signal: AbortSignal
  onProblem: OnToolProblem
  /** Called after the tools were listed again. */
  onChange(): void
  /** Called if the tools could not be listed again. */
  onFailure(error: unknown): void
}

/** The current tools of a server. Lists the tools again whenever the server reports a change. */
export class FollowedTools {
  readonly #options: FollowedToolsOptions
  #connection: Connection | undefined
  #tools: readonly ListedTool[] = []
  #isListing = false
  /** Set from the report of a change until the tools are requested again. Resolves when the tools have been listed again. */
  #announced: PromiseWithResolvers<void> | undefined
  /** Set while the tools are being listed. Resolves when the list has arrived. */
  #awaited: PromiseWithResolvers<void> | undefined

  constructor(options: FollowedToolsOptions) {
    this.#options = options
  }

  get listed(): readonly ListedTool[] {
    return this.#tools
  }

  /** Whether a tool still exists and is unchanged. */
  has({ name, fingerprint }: ListedTool): boolean {
    return this.#tools.some((tool) => tool.name === name && tool.fingerprint === fingerprint)
  }

  list(connection: Connection, signal: AbortSignal): Promise<ListedTool[]> {
    return connection.listTools(signal, this.#options.onProblem)
  }

  /** `tools`: the tools that were listed over the connection. */
  follow(connection: Connection, tools: readonly ListedTool[]): void {
    this.#connection = connection
    this.#tools = tools
    if (this.#announced !== undefined) this.changed()
  }

  /** Stops following the connection, but keeps its tools. */
  leave(): void {
    this.#connection = undefined
    this.#awaited?.resolve()
    this.#announced?.resolve()
    this.#announced = undefined
  }

  /** Resolves when all reported changes have been listed or could not be listed. Undefined if no change is pending. */
  settled(): Promise<void> | undefined {
    const connection = this.#connection
    if (connection?.isHttp !== true) return this.#settled()
    // The report of a change may arrive over another HTTP connection, slightly later than the result of the call that caused it.
    return afterPendingIO()
      .then(() => afterPendingIO())
      .then(() => this.#settled())
  }

  #settled(): Promise<void> | undefined {
    return (this.#announced ?? this.#awaited)?.promise
  }

  /** Lists the tools again after a reported change. */
  changed(): void {
    if (this.#options.signal.aborted) return
    this.#announced ??= Promise.withResolvers()
    if (this.#connection === undefined || this.#isListing) return
    void this.#listAgain(this.#connection)
  }

  async #listAgain(connection: Connection): Promise<void> {
    const { signal } = this.#options
    this.#isListing = true
    while (this.#announced !== undefined && this.#connection === connection && !signal.aborted) {
      this.#awaited = this.#announced
      this.#announced = undefined
      await this.#listOnce(connection)
      this.#awaited.resolve()
      this.#awaited = undefined
      // Limits the requests to a server that reports a change after each list.
      if (this.#announced !== undefined) await pause(refreshPauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
    this.#isListing = false
    if (this.#announced !== undefined && this.#connection !== connection) this.changed()
  }

  async #listOnce(connection: Connection): Promise<void> {
    const { timeoutMs, signal, onChange, onFailure } = this.#options
    const late = () => new Error(`it did not list its tools within ${timeoutMs} ms`)
    try {
      const tools = await within(timeoutMs, late, [signal], (limit) => this.list(connection, limit))
      if (this.#connection !== connection) return
      this.#tools = tools
      onChange()
    } catch (error) {
      if (!signal.aborted && this.#connection === connection) onFailure(error)
    }
  }
}
