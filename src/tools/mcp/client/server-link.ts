import { setTimeout as pause } from 'node:timers/promises'
import type { ServerCapabilities } from '@modelcontextprotocol/client'
import { clip, messageOf, ToolloopError } from '../../../core/errors.ts'
import type { Logger, RecordLevel } from '../../../core/logger.ts'
import type { JsonObject } from '../../../core/messages.ts'
import type { Question, ToolContext } from '../../tool.ts'
import { SignIn } from '../auth/sign-in.ts'
import type { McpClientSdk } from '../sdk/load-sdk.ts'
import type { McpServer } from '../server-config.ts'
import { withCallStream } from '../transport/http-transport.ts'
import { startTimeoutOf, untilAborted, within } from '../within.ts'
import type { McpToolResult } from './calls/call-result.ts'
import { isTask } from './calls/questions.ts'
import { streamEnded } from './calls/stream-ended.ts'
import type { GivenLinks } from './context/given-links.ts'
import { ServerContext } from './context/server-context.ts'
import { anyObject, type ListedTool, noTimeoutMs } from './listing/list-tools.ts'
import { ServerCalls } from './server-calls.ts'
import type { McpServerState } from './server-status.ts'
import { ServerWords } from './server-words.ts'
import { callFailure } from './session/call-failure.ts'
import { type Connection, openConnection, type ServerEvents } from './session/connection.ts'
import { FollowedTools } from './session/followed-tools.ts'
import { type Asking, inSession, type Sending } from './session/in-session.ts'
import { effectOf } from './trust.ts'

const firstRestartMs = 500
const longestRestartMs = 30_000
/** Delay before a task is polled again after an error, in milliseconds. */
const recoverMs = 500
/** Uptime after which a server's earlier failures no longer count, in milliseconds. */
const steadyMs = 60_000

/** Starts one MCP server, reconnects it after failures, and sends its requests. */
export class ServerLink {
  readonly name: string
  readonly server: McpServer
  readonly #sdk: McpClientSdk
  readonly #logger: Logger
  readonly #onChange: () => void
  readonly #closing = new AbortController()
  readonly #calls: ServerCalls
  readonly followed: FollowedTools
  readonly #signIn: SignIn | undefined
  readonly #words: ServerWords
  /** The server's resources and prompts. */
  readonly context: ServerContext
  #connection: Connection | undefined
  #connecting: Promise<void> | undefined
  /** Settles when the new session is open. Undefined if no session is being replaced. */
  #renewing: Promise<void> | undefined
  /** Connections whose session has ended but that still have requests in flight. */
  readonly #retired = new Set<Connection>()
  /** Settles when the previous connection is closed. */
  #leaving: Promise<void> = Promise.resolve()
  #state: McpServerState = 'starting'
  #problem: string | undefined
  /** The last line of the server's standard error. Not shown to the model. */
  #lastWords: string | undefined
  #capabilities: ServerCapabilities = {}
  /** The instructions that the server sent when it was connected. */
  ownInstructions: string | undefined
  #upSince = 0
  /** Resolves when the server is connected again. */
  #back: PromiseWithResolvers<void> = Promise.withResolvers()
  #failures = 0
  #restart: NodeJS.Timeout | undefined

  constructor(name: string, server: McpServer, { sdk, logger, onChange }: { sdk: McpClientSdk; logger: Logger; onChange: () => void }) {
    this.name = name
    this.server = server
    this.#sdk = sdk
    this.#logger = logger
    this.#onChange = onChange
    if ('url' in server && server.auth !== undefined) {
      this.#signIn = new SignIn(sdk, { name, url: new URL(server.url) }, server.auth, { closing: this.#closing.signal, logger })
    }
    this.#words = new ServerWords(sdk, name, server, this.#signIn)
    this.context = new ServerContext(
      name,
      (method, params, limit) => this.#ask(method, params, limit),
      (what) => this.#capabilities[what]?.listChanged === true,
    )
    this.#calls = new ServerCalls(sdk, name, server)
    this.followed = new FollowedTools({
      timeoutMs: startTimeoutOf(server),
      signal: this.#closing.signal,
      onChange,
      onProblem: (tool, problem, message) => this.#log('warn', { tool, problem: this.#words.clean(problem) }, message),
      onFailure: (error) =>
        this.#log('warn', { error: this.#words.of(error) }, 'an MCP server did not list its changed tools; those it had before stay'),
    })
  }

  get state(): McpServerState {
    return this.#state
  }

  get problem(): string | undefined {
    return this.#state === 'down' ? this.#problem : undefined
  }

  /**
   * Starts the server. Rejects with `mcp_server_failed` if the server can't be started. An optional server is retried in the background
   * instead.
   */
  async start(signal: AbortSignal): Promise<void> {
    try {
      await this.#connect(signal)
    } catch (error) {
      if (!this.server.optional || signal.aborted || this.#closing.signal.aborted) throw error
      this.#fallDown()
    }
  }

  /** Whether the server has resources or prompts, according to its latest connection. */
  offers(what: 'resources' | 'prompts'): boolean {
    return this.#capabilities[what] !== undefined
  }

  get links(): GivenLinks {
    return this.#calls.links
  }

  async call(tool: ListedTool, args: JsonObject, ctx: ToolContext): Promise<McpToolResult | Question> {
    const { signal, trace } = ctx
    // A call that the server runs as a task can wait for a new connection.
    if (isTask(ctx)) await this.#ready(signal)
    const checkAgain = () => {
      if (this.followed.has(tool)) return
      const what = `has started a new session, in which its tool \`${tool.name}\` has changed or is missing. The call was not made.`
      throw this.#words.failed(what)
    }
    const asking = { method: 'tools/call', signal, trace, mayRunTwice: effectOf(this.server, tool) !== 'unsafe' }
    return this.#during(asking, (sending) => {
      const recover = async (error: unknown) => {
        this.#callFailure(error, sending.connection)
        await pause(recoverMs, undefined, { signal })
        await this.#ready(signal)
      }
      const connection = () => this.#connection ?? sending.connection
      return this.#calls.run({ connection, inSession: (send) => inSession(sending, send), checkAgain, recover, tool, args, ctx })
    })
  }

  /** Waits for a connection. Rejects if the server is closed or `signal` is aborted. */
  async #ready(signal: AbortSignal): Promise<void> {
    while (this.#connection === undefined) await untilAborted(this.#back.promise, AbortSignal.any([signal, this.#closing.signal]))
  }

  #ask(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    return this.#during({ method, signal, mayRunTwice: true }, (sending) =>
      inSession(sending, ({ client }) =>
        withCallStream(streamEnded, undefined, () => client.request({ method, params }, anyObject, { signal, timeout: noTimeoutMs })),
      ),
    )
  }

  async #during<T>(asking: Asking, work: (sending: Sending) => Promise<T>): Promise<T> {
    const { method, trace, signal } = asking
    if (this.#renewing !== undefined) await untilAborted(this.#renewing, signal)
    const connection = this.#connection
    if (connection === undefined) throw this.#words.failed(`is not running (${this.#problem ?? 'closed'}). ${this.#outlook()}`)
    trace?.setAttributes({
      'mcp.method.name': method,
      'mcp.protocol.version': connection.client.getNegotiatedProtocolVersion() ?? '',
      'network.transport': connection.isHttp ? 'tcp' : 'pipe',
    })
    const current = async () => {
      if (this.#renewing !== undefined) await untilAborted(this.#renewing, signal)
      return this.#connection ?? sending.connection
    }
    const renew = (forgotten: Connection) => untilAborted(this.#renew(forgotten), signal)
    const sending: Sending = { ...asking, sdk: this.#sdk, connection, current, renew }
    try {
      return await work(sending)
    } catch (error) {
      signal.throwIfAborted()
      if (ToolloopError.isInstance(error)) throw new ToolloopError(error.code, this.#words.clean(error.message), { cause: error.cause })
      throw this.#callFailure(error, sending.connection)
    }
  }

  /** Replaces a session that the server has forgotten. Resolves with the current connection, or undefined if no session can be opened. */
  async #renew(forgotten: Connection): Promise<Connection | undefined> {
    if (this.#connection === forgotten) {
      this.#connection = undefined
      this.followed.leave()
      this.#state = 'starting'
      this.#retire(forgotten)
      this.#log('info', {}, 'an MCP server has forgotten the session; opening a new one')
      this.#renewing = this.#connect()
        .catch(() => this.#fallDown())
        .finally(() => {
          this.#renewing = undefined
        })
      this.#onChange()
    }
    await this.#renewing
    return this.#connection
  }

  #retire(connection: Connection): void {
    this.#retired.add(connection)
    void this.#closed(connection.retire()).then(() => this.#retired.delete(connection))
  }

  #closed(closing: Promise<void>): Promise<void> {
    return closing.catch((error: unknown) => {
      this.#log('debug', { error: this.#words.of(error) }, 'closing the connection to an MCP server failed')
    })
  }

  async close(): Promise<void> {
    this.#state = 'closed'
    this.#closing.abort(new Error('closed'))
    clearTimeout(this.#restart)
    this.#calls.close()
    this.followed.leave()
    const connection = this.#connection
    this.#connection = undefined
    const closed = [connection, ...this.#retired].map((one) => one?.close())
    await Promise.allSettled([...closed, this.#connecting, this.#leaving, this.#signIn?.close()])
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
      const [opened, tools] = await within(startTimeoutMs, late, signals, async (limit): Promise<[Connection, ListedTool[]]> => {
        connection = await openConnection(this.#sdk, this.server, events, limit, this.#signIn)
        return [connection, await this.followed.list(connection, limit)]
      })
      if (problem !== undefined) throw new Error(problem)
      this.#closing.signal.throwIfAborted()
      this.#connection = opened
      this.followed.follow(opened, tools)
      this.#capabilities = opened.client.getServerCapabilities() ?? {}
      this.ownInstructions = opened.client.getInstructions()
      this.context.changed()
    } catch (error) {
      await connection?.close()
      signal?.throwIfAborted()
      this.#problem = problem ?? this.#words.of(error)
      const words = this.#lastWords === undefined ? '' : ` (its last words: ${clip(this.#lastWords)})`
      throw this.#words.failed(`could not be started: ${this.#problem}${words}`, error, 'mcp_server_failed')
    }
    this.#state = 'ready'
    this.#back.resolve()
    this.#back = Promise.withResolvers()
    this.#upSince = performance.now()
    this.#onChange()
  }

  #events(onLost: (problem: string) => void): ServerEvents {
    return {
      onLost: (problem) => onLost(this.#words.clean(problem)),
      onToolsChanged: () => this.followed.changed(),
      onContextChanged: (what) => this.context.changed(what),
      onResourceUpdated: (uri) => this.context.updated(uri),
      onProgress: (token, update) => this.#calls.progressed(token, update),
      onQuestion: (params, limit) => this.#calls.elicit(params, limit),
      onSampling: (params) => this.#calls.sample(params),
      onStderr: (line) => {
        this.#lastWords = this.#words.clean(line)
        this.#log('debug', { stderr: this.#lastWords }, 'MCP server wrote to its standard error')
      },
      onLog: (level, data) => this.#log('debug', { level, data: this.#words.clean(JSON.stringify(data) ?? '') }, 'MCP server logged'),
      onError: (error) => this.#log('debug', { error: this.#words.clean(messageOf(error)) }, 'MCP server did something unexpected'),
    }
  }

  /** Closes the connection after a problem, and schedules a restart. */
  #lose(problem: string): void {
    const connection = this.#connection
    if (connection === undefined) return
    this.#connection = undefined
    this.followed.leave()
    if (performance.now() - this.#upSince > steadyMs) this.#failures = 0
    this.#leaving = this.#closed(connection.close())
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
    // The timer does not keep the process alive.
    this.#restart.unref()
    this.#onChange()
  }

  async #startAgain(): Promise<void> {
    try {
      await this.#leaving
      await this.#connect()
      this.#log('info', {}, 'an MCP server is back')
    } catch {
      // `#open` has stored the problem.
      this.#fallDown()
    }
  }

  #callFailure(error: unknown, connection: Connection): ToolloopError {
    const { failure, lost } = callFailure({ sdk: this.#sdk, error, connection, words: this.#words, outlook: this.#outlook() })
    // Another connection may have replaced the failed one.
    if (lost !== undefined && connection === this.#connection) this.#lose(lost)
    return failure
  }

  #outlook(): string {
    return this.#closing.signal.aborted ? 'It has been closed.' : 'It is being restarted: try again later, or continue without it.'
  }

  #log(level: RecordLevel, fields: object, message: string): void {
    this.#logger[level]({ server: this.name, ...fields }, message)
  }
}
