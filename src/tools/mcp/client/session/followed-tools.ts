import { setImmediate as afterPendingIO, setTimeout as pause } from 'node:timers/promises'
import { within } from '../../within.ts'
import type { ListedTool, OnToolProblem } from '../listing/list-tools.ts'
import type { Connection } from './connection.ts'

/** Between two lists of a server whose tools keep changing. */
const refreshPauseMs = 250

interface FollowedToolsOptions {
  /** How long one list may take, in milliseconds. */
  timeoutMs: number
  /** Aborted when the server is closed. */
  signal: AbortSignal
  onProblem: OnToolProblem
  /** Called when the tools were listed again. */
  onChange(): void
  /** The tools could not be listed again. */
  onFailure(error: unknown): void
}

/** The tools of a server as it listed them last; listed again when it says that they have changed. */
export class FollowedTools {
  readonly #options: FollowedToolsOptions
  #connection: Connection | undefined
  #tools: readonly ListedTool[] = []
  #isListing = false
  /** Resolves when changes are listed of which the server has told since it was last asked. */
  #announced: PromiseWithResolvers<void> | undefined
  /** The same for those that are just being listed. */
  #awaited: PromiseWithResolvers<void> | undefined

  constructor(options: FollowedToolsOptions) {
    this.#options = options
  }

  get listed(): readonly ListedTool[] {
    return this.#tools
  }

  /** Whether a tool is there, and still the same. */
  has({ name, fingerprint }: ListedTool): boolean {
    return this.#tools.some((tool) => tool.name === name && tool.fingerprint === fingerprint)
  }

  list(connection: Connection, signal: AbortSignal): Promise<ListedTool[]> {
    return connection.listTools(signal, this.#options.onProblem)
  }

  /** Follows a new connection, of which `tools` have been listed. */
  follow(connection: Connection, tools: readonly ListedTool[]): void {
    this.#connection = connection
    this.#tools = tools
    // They may have changed while the list was on its way.
    if (this.#announced !== undefined) this.changed()
  }

  /** The connection is of no more use. The tools stay. */
  leave(): void {
    this.#connection = undefined
    this.#awaited?.resolve()
    this.#announced?.resolve()
    this.#announced = undefined
  }

  /** Resolves when all changes are listed that the server has announced so far, or can't be. Undefined if there are none. */
  settled(): Promise<void> | undefined {
    const connection = this.#connection
    if (connection?.isHttp !== true) return this.#settled()
    // An announcement may come by another connection than the result of the call that is its cause.
    return afterPendingIO()
      .then(() => afterPendingIO())
      .then(() => this.#settled())
  }

  #settled(): Promise<void> | undefined {
    return (this.#announced ?? this.#awaited)?.promise
  }

  /** Takes note that they have changed. They are listed again; once more if they change meanwhile, however often they do. */
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
      // A server that says so each time it is asked is not to keep us busy.
      if (this.#announced !== undefined) await pause(refreshPauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
    this.#isListing = false
    // Another connection has come meanwhile.
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
