import { setTimeout as pause } from 'node:timers/promises'
import { clip, messageOf, ToolloopError } from '../../../core/errors.ts'
import { type Logger, type RecordLevel, redactText, secretTexts } from '../../../core/logger.ts'
import type { JsonObject } from '../../../core/messages.ts'
import { describeNetworkError } from '../../describe-network-error.ts'
import type { Question, ToolContext } from '../../tool.ts'
import { Pauses } from '../../yield-to-event-loop.ts'
import { SignIn } from '../auth/sign-in.ts'
import type { McpClientSdk } from '../transport/load-sdk.ts'
import type { McpToolResult } from './call-result.ts'
import { type Connection, openConnection, type ServerEvents } from './connection.ts'
import type { ListedTool } from './list-tools.ts'
import { ServerCalls } from './server-calls.ts'
import type { McpServer } from './server-config.ts'
import { effectOf } from './trust.ts'

/** `down`: it ended or can't be reached, and is tried again; its tools stay, and say so. */
export type McpServerState = 'starting' | 'ready' | 'down' | 'closed'

const defaultStartTimeoutMs = 30_000
/** A person who signs in takes longer. */
const signInTimeoutMs = 300_000
const firstRestartMs = 500
const longestRestartMs = 30_000
/** Between two lists of a server whose tools keep changing. */
const refreshPauseMs = 250
/** A server that has been up for so long has not failed again, but anew. */
const steadyMs = 60_000

/** One server: started, kept running, called, and closed. */
export class ServerLink {
  readonly name: string
  readonly server: McpServer
  readonly #sdk: McpClientSdk
  readonly #logger: Logger
  readonly #secrets: string[]
  readonly #onChange: () => void
  readonly #closing = new AbortController()
  readonly #pauses = new Pauses()
  readonly #calls: ServerCalls
  readonly #signIn: SignIn | undefined
  #connection: Connection | undefined
  #connecting: Promise<void> | undefined
  /** The end of the connection before. */
  #leaving: Promise<void> = Promise.resolve()
  #state: McpServerState = 'starting'
  #problem: string | undefined
  /** The last line of its standard error: for logs and whoever has configured it, not for a model. */
  #lastWords: string | undefined
  #tools: readonly ListedTool[] = []
  #upSince = 0
  #failures = 0
  #restart: NodeJS.Timeout | undefined
  #refreshing = false
  #isStale = false

  /** `onChange` is called when the tools are others than before, and when the state has changed. */
  constructor(name: string, server: McpServer, { sdk, logger, onChange }: { sdk: McpClientSdk; logger: Logger; onChange: () => void }) {
    this.name = name
    this.server = server
    this.#sdk = sdk
    this.#logger = logger
    this.#onChange = onChange
    this.#secrets = secretsOf(server)
    if ('url' in server && server.auth !== undefined) {
      this.#signIn = new SignIn(sdk, { name, url: new URL(server.url) }, server.auth, this.#closing.signal)
    }
    this.#calls = new ServerCalls(sdk, name, (tool) => effectOf(server, tool) !== 'unsafe')
  }

  get state(): McpServerState {
    return this.#state
  }

  /** What is wrong with it, for logs and people. */
  get problem(): string | undefined {
    return this.#state === 'down' ? this.#problem : undefined
  }

  /** As it listed them last. */
  get tools(): readonly ListedTool[] {
    return this.#tools
  }

  /** Rejects with `mcp_server_failed` when it can't be started; one that is optional is then tried again in the background. */
  async start(signal: AbortSignal): Promise<void> {
    try {
      await this.#connect(signal)
    } catch (error) {
      if (!this.server.optional || signal.aborted || this.#closing.signal.aborted) throw error
      this.#fallDown()
    }
  }

  async call(tool: ListedTool, args: JsonObject, ctx: ToolContext): Promise<McpToolResult | Question> {
    const connection = this.#connection
    if (connection === undefined) throw this.#failed(`is not running (${this.#problem ?? 'closed'}). ${this.#outlook()}`)
    ctx.trace?.setAttributes({
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': connection.client.getNegotiatedProtocolVersion() ?? '',
      'network.transport': 'url' in this.server ? 'tcp' : 'pipe',
    })
    try {
      const end = await this.#calls.run({ connection, tool, args, ctx })
      // To read a large one has taken long.
      await this.#pauses.turn(ctx.signal)
      return end
    } catch (error) {
      ctx.signal.throwIfAborted()
      if (ToolloopError.isInstance(error)) throw new ToolloopError(error.code, this.#clean(error.message), { cause: error.cause })
      throw this.#callFailure(error, connection)
    }
  }

  async close(): Promise<void> {
    this.#state = 'closed'
    this.#closing.abort(new Error('closed'))
    clearTimeout(this.#restart)
    this.#calls.close()
    const connection = this.#connection
    this.#connection = undefined
    await Promise.allSettled([connection?.close(), this.#connecting, this.#leaving])
  }

  #connect(signal?: AbortSignal): Promise<void> {
    this.#connecting = this.#open(signal).finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #open(signal: AbortSignal | undefined): Promise<void> {
    const startTimeoutMs = startTimeoutOf(this.server)
    this.#lastWords = undefined
    const late = () => new Error(`it was not ready within ${startTimeoutMs} ms`)
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])]
    let connection: Connection | undefined
    let problem: string | undefined
    const events = this.#events((lost) => {
      problem = lost
      if (connection !== undefined && this.#connection === connection) this.#lose(lost)
    })
    try {
      const tools = await within(startTimeoutMs, late, signals, async (limit) => {
        connection = await openConnection(this.#sdk, this.server, events, limit, this.#signIn)
        return connection.listTools(limit, this.#onToolProblem)
      })
      if (problem !== undefined) throw new Error(problem)
      this.#closing.signal.throwIfAborted()
      this.#connection = connection
      this.#tools = tools
    } catch (error) {
      await connection?.close()
      signal?.throwIfAborted()
      this.#problem = problem ?? this.#words(error)
      const words = this.#lastWords === undefined ? '' : ` (its last words: ${clip(this.#lastWords)})`
      throw this.#failed(`could not be started: ${this.#problem}${words}`, error, 'mcp_server_failed')
    }
    this.#state = 'ready'
    this.#upSince = performance.now()
    this.#onChange()
    // The list may have changed while it was on its way.
    if (this.#isStale) this.#refresh()
  }

  #events(onLost: (problem: string) => void): ServerEvents {
    return {
      onLost: (problem) => onLost(this.#clean(problem)),
      onToolsChanged: () => this.#refresh(),
      onQuestion: (params, limit) => this.#calls.elicit(params, limit),
      onStderr: (line) => {
        this.#lastWords = this.#clean(line)
        this.#log('debug', { stderr: this.#lastWords }, 'MCP server wrote to its standard error')
      },
      onLog: (level, data) => this.#log('debug', { level, data: this.#clean(JSON.stringify(data) ?? '') }, 'MCP server logged'),
      onError: (error) => this.#log('debug', { error: this.#clean(messageOf(error)) }, 'MCP server did something unexpected'),
    }
  }

  readonly #onToolProblem = (tool: string, problem: string): void => {
    this.#log('warn', { tool, problem: this.#clean(problem) }, 'a tool of an MCP server is left out: it is invalid')
  }

  /** Lists the tools anew; once more if they change meanwhile, however often they do. */
  #refresh(): void {
    this.#isStale = true
    if (!this.#refreshing && this.#connection !== undefined) void this.#listAgain(this.#connection)
  }

  async #listAgain(connection: Connection): Promise<void> {
    const startTimeoutMs = startTimeoutOf(this.server)
    const late = () => new Error(`it did not list its tools within ${startTimeoutMs} ms`)
    this.#refreshing = true
    try {
      while (this.#isStale && this.#connection === connection) {
        this.#isStale = false
        const list = (limit: AbortSignal) => connection.listTools(limit, this.#onToolProblem)
        const tools = await within(startTimeoutMs, late, [this.#closing.signal], list)
        if (this.#connection !== connection) return
        this.#tools = tools
        this.#onChange()
        // A server that says so each time it is asked is not to keep us busy.
        if (this.#isStale) await pause(refreshPauseMs, undefined, { signal: this.#closing.signal, ref: false })
      }
    } catch (error) {
      if (this.#closing.signal.aborted) return
      this.#log('warn', { error: this.#words(error) }, 'an MCP server did not list its changed tools; those it had before stay')
    } finally {
      this.#refreshing = false
    }
  }

  /** The connection is of no use any more. */
  #lose(problem: string): void {
    const connection = this.#connection
    if (connection === undefined) return
    this.#connection = undefined
    if (performance.now() - this.#upSince > steadyMs) this.#failures = 0
    this.#leaving = connection.close().catch((error: unknown) => {
      this.#log('debug', { error: this.#words(error) }, 'the connection to an MCP server was not closed in peace')
    })
    this.#problem = problem
    this.#fallDown()
  }

  #fallDown(): void {
    if (this.#closing.signal.aborted) return
    const delayMs = Math.min(firstRestartMs * 2 ** this.#failures++, longestRestartMs)
    this.#state = 'down'
    const words = this.#lastWords === undefined ? {} : { lastWords: this.#lastWords }
    this.#log('warn', { problem: this.#problem, ...words, restartInMs: delayMs }, 'an MCP server is down')
    this.#restart = setTimeout(() => void this.#startAgain(), delayMs)
    // There is nothing to wait for in a process that has nothing else to do.
    this.#restart.unref()
    this.#onChange()
  }

  async #startAgain(): Promise<void> {
    try {
      // Not beside what is left of it.
      await this.#leaving
      await this.#connect()
      this.#log('info', {}, 'an MCP server is back')
    } catch {
      // What was wrong is in `#problem`, and logged.
      this.#fallDown()
    }
  }

  #callFailure(error: unknown, connection: Connection): ToolloopError {
    const { InsufficientScopeError, ProtocolError, SdkHttpError, SdkError, SdkErrorCode } = this.#sdk
    const unknown = 'Whether the call took effect is not known.'
    if (error instanceof ProtocolError) return this.#failed(`refused the call: ${this.#words(error)}`, error)
    if (error instanceof InsufficientScopeError) return this.#failed(`refused the call: ${this.#words(error)}`, error)
    if (error instanceof SdkHttpError && error.status === 401) return this.#failed(`refused the call: ${this.#words(error)}`, error)
    if (error instanceof SdkHttpError) {
      // It answers, but not to this session: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
      if (error.status === 404) this.#lose('it has forgotten the session')
      const again = error.status === 404 || (error.status ?? 0) >= 500 ? ` ${this.#outlook()}` : ''
      return this.#failed(`answered with HTTP status ${error.status ?? 'unknown'}.${again}`, error)
    }
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
      return this.#failed('answered with something other than a tool result.', error)
    }
    const { problem } = connection
    if (problem !== undefined)
      return this.#failed(`stopped during the call (${this.#clean(problem)}). ${unknown} ${this.#outlook()}`, error)
    const words = this.#words(error)
    // Over HTTP a connection is lost when a request is.
    if ('url' in this.server && !(error instanceof SdkError)) this.#lose(words)
    return this.#failed(`did not answer (${words}). ${unknown} ${this.#outlook()}`, error)
  }

  #outlook(): string {
    return this.#closing.signal.aborted ? 'It has been closed.' : 'It is being restarted: try again later, or go on without it.'
  }

  #failed(what: string, cause?: unknown, code: 'tool_failed' | 'mcp_server_failed' = 'tool_failed'): ToolloopError {
    return new ToolloopError(code, `The MCP server \`${this.name}\` ${what}`, cause === undefined ? {} : { cause })
  }

  #words(error: unknown): string {
    if (error instanceof this.#sdk.SdkHttpError && error.status === 401) {
      const why = this.#signIn === undefined ? 'it wants to be signed in to: give it `auth`' : 'it does not take the token it was given'
      const { text } = error.data
      return this.#clean(typeof text === 'string' && text !== '' ? `${why} (it says: ${clip(text)})` : why)
    }
    // What `fetch` rejects with says only that it failed; why is in its cause.
    const cause = error instanceof TypeError && error.message === 'fetch failed' ? error.cause : undefined
    const isNetwork = cause instanceof Error && 'code' in cause
    return this.#clean(isNetwork ? describeNetworkError(cause) : messageOf(cause ?? error))
  }

  #clean(text: string): string {
    return redactText(text, [...this.#secrets, ...(this.#signIn?.secrets ?? [])])
  }

  #log(level: RecordLevel, fields: object, message: string): void {
    this.#logger[level]({ server: this.name, ...fields }, message)
  }
}

function startTimeoutOf(server: McpServer): number {
  const signsIn = 'url' in server && server.auth?.authorize !== undefined
  return server.startTimeoutMs ?? (signsIn ? signInTimeoutMs : defaultStartTimeoutMs)
}

/** What no log line and no error may quote: what it is given under the names of secrets, and every header but the shortest. */
function secretsOf(server: McpServer): string[] {
  if (!('url' in server)) return secretTexts(server.env ?? {}, new Set())
  const headers = typeof server.headers === 'object' ? Object.values(server.headers) : []
  const { username, password, searchParams, pathname } = new URL(server.url)
  // Some services have a key in the path.
  const keys = pathname.split('/').filter((segment) => segment.length >= 16)
  // `Bearer x` is known by its `x` too.
  const texts = [...headers.flatMap((value) => [value, ...value.split(' ')]), username, password, ...searchParams.values(), ...keys]
  return texts.filter((text) => text.length >= 8)
}

/** What is longer ends at once. */
const longestTimerMs = 2 ** 31 - 1

/** Runs `work`, which heeds its signal: aborted when one of `signals` is, or with `late()` when the time is up. Rejects with the reason then. */
async function within<T>(
  milliseconds: number,
  late: () => Error,
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(late()), Math.min(milliseconds, longestTimerMs))
  const limit = AbortSignal.any([controller.signal, ...signals])
  try {
    limit.throwIfAborted()
    return await work(limit)
  } catch (error) {
    throw limit.aborted ? limit.reason : error
  } finally {
    clearTimeout(timer)
  }
}
