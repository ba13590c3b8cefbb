import { setImmediate as afterPendingIO, setTimeout as pause } from 'node:timers/promises'
import { within } from '../../within.ts'
import type { ListedTool, OnToolProblem } from '../listing/list-tools.ts'
import type { Connection } from './connection.ts'

/** Minimum time between two requests for the list of tools if the tools keep changing, in milliseconds. */
const refreshPauseMs = 250

interface FollowedToolsOptions {
  /** Time limit of one request for the list, in milliseconds. */
  timeoutMs: number
  /** Aborted when the server is closed. */
  signal: AbortSignal
  onProblem: OnToolProblem
  /** Called after the tools were listed again. */
  onChange(): void
  /** Called if the tools could not be listed again. */
  onFailure(error: unknown): void
}

/** The tools of a server, as it listed them last. When the server reports a change, they are listed again. */
export class FollowedTools {
  readonly #options: FollowedToolsOptions
  #connection: Connection | undefined
  #tools: readonly ListedTool[] = []
  #isListing = false
  /** For changes that were reported after the latest list was requested. Resolves when the tools have been listed again. */
  #announced: PromiseWithResolvers<void> | undefined
  /** For changes that were reported before the latest list was requested. Resolves when this list has arrived. */
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

  /** Follows a new connection whose tools have been listed. */
  follow(connection: Connection, tools: readonly ListedTool[]): void {
    this.#connection = connection
    this.#tools = tools
    // The tools may have changed while the list was in transit.
    if (this.#announced !== undefined) this.changed()
  }

  /** Stops following a connection. The set keeps the tools. */
  leave(): void {
    this.#connection = undefined
    this.#awaited?.resolve()
    this.#announced?.resolve()
    this.#announced = undefined
  }

  /** Resolves when all changes announced so far have been listed, or can't be listed. Undefined if no change was announced. */
  settled(): Promise<void> | undefined {
    const connection = this.#connection
    if (connection?.isHttp !== true) return this.#settled()
    // The announcement of a change and the result of the call that caused it may arrive over different connections.
    return afterPendingIO()
      .then(() => afterPendingIO())
      .then(() => this.#settled())
  }

  #settled(): Promise<void> | undefined {
    return (this.#announced ?? this.#awaited)?.promise
  }

  /** Handles a reported change: lists the tools again. If the tools change while they are being listed, lists them once more. */
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
      // Pauses, to limit how often a server that reports a change after each list can keep this process busy.
      if (this.#announced !== undefined) await pause(refreshPauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
    this.#isListing = false
    // Another connection has replaced this connection.
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
