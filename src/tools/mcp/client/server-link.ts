import { setTimeout as pause } from 'node:timers/promises'
import type { ServerCapabilities } from '@modelcontextprotocol/client'
import { clip, messageOf, ToolloopError } from '../../../core/errors.ts'
import type { Logger, RecordLevel } from '../../../core/logger.ts'
import type { JsonObject } from '../../../core/messages.ts'
import type { CallTrace, Question, ToolContext } from '../../tool.ts'
import { Pauses } from '../../yield-to-event-loop.ts'
import { SignIn } from '../auth/sign-in.ts'
import { withCallStream } from '../transport/http-transport.ts'
import type { McpClientSdk } from '../transport/load-sdk.ts'
import type { McpToolResult } from './calls/call-result.ts'
import { isTask } from './calls/questions.ts'
import { ServerCalls } from './calls/server-calls.ts'
import { streamEnded } from './calls/stream-ended.ts'
import { type Connection, openConnection, type ServerEvents } from './connection.ts'
import type { GivenLinks } from './context/given-links.ts'
import { ServerContext } from './context/server-context.ts'
import { anyObject, type ListedTool, noTimeoutMs } from './list-tools.ts'
import type { McpServer } from './server-config.ts'
import type { McpServerState } from './server-status.ts'
import { ServerWords } from './server-words.ts'
import { startTimeoutOf, untilAborted, within } from './within.ts'

const firstRestartMs = 500
const longestRestartMs = 30_000
/** Between two lists of a server whose tools keep changing. */
const refreshPauseMs = 250
/** Before a task is asked for again when that has failed. */
const recoverMs = 500
/** A server that has been up for so long has not failed again, but anew. */
const steadyMs = 60_000

/** One server: started, kept running, called, and closed. */
export class ServerLink {
  readonly name: string
  readonly server: McpServer
  readonly #sdk: McpClientSdk
  readonly #logger: Logger
  readonly #onChange: () => void
  readonly #closing = new AbortController()
  readonly #pauses = new Pauses()
  readonly #calls: ServerCalls
  readonly #signIn: SignIn | undefined
  readonly #words: ServerWords
  /** Its resources and prompts. */
  readonly context: ServerContext
  #connection: Connection | undefined
  #connecting: Promise<void> | undefined
  /** The end of the connection before. */
  #leaving: Promise<void> = Promise.resolve()
  #state: McpServerState = 'starting'
  #problem: string | undefined
  /** The last line of its standard error: for logs and whoever has configured it, not for a model. */
  #lastWords: string | undefined
  #tools: readonly ListedTool[] = []
  #capabilities: ServerCapabilities = {}
  /** What it says of itself, for whoever uses it. */
  ownInstructions: string | undefined
  #upSince = 0
  /** Resolves when it is connected the next time. */
  #back: PromiseWithResolvers<void> = Promise.withResolvers()
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
    if ('url' in server && server.auth !== undefined) {
      this.#signIn = new SignIn(sdk, { name, url: new URL(server.url) }, server.auth, this.#closing.signal)
    }
    this.#words = new ServerWords(sdk, name, server, this.#signIn)
    this.context = new ServerContext(
      name,
      (method, params, limit) => this.#ask(method, params, limit),
      (what) => this.#capabilities[what]?.listChanged === true,
    )
    this.#calls = new ServerCalls(sdk, name, server)
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

  /** Whether it has resources, or prompts. Of one that is down it is as it was. */
  offers(what: 'resources' | 'prompts'): boolean {
    return this.#capabilities[what] !== undefined
  }

  /** What results of its tools have linked to. */
  get links(): GivenLinks {
    return this.#calls.links
  }

  async call(tool: ListedTool, args: JsonObject, ctx: ToolContext): Promise<McpToolResult | Question> {
    // There is something to go on with once it is back.
    if (isTask(ctx)) await this.#ready(ctx.signal)
    return this.#during(ctx.signal, 'tools/call', ctx.trace, (first) => {
      const connection = () => this.#connection ?? first
      const recover = async (error: unknown) => {
        this.#callFailure(error, connection())
        await pause(recoverMs, undefined, { signal: ctx.signal })
        await this.#ready(ctx.signal)
      }
      return this.#calls.run({ connection, recover, tool, args, ctx })
    })
  }

  /** Waits until it is there. Rejects when it is closed, or with the signal's reason. */
  async #ready(signal: AbortSignal): Promise<void> {
    while (this.#connection === undefined) await untilAborted(this.#back.promise, AbortSignal.any([signal, this.#closing.signal]))
  }

  /** A request for what is no tool's. */
  #ask(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    return this.#during(signal, method, undefined, ({ client }) =>
      withCallStream(streamEnded, undefined, () => client.request({ method, params }, anyObject, { signal, timeout: noTimeoutMs })),
    )
  }

  async #during<T>(
    signal: AbortSignal,
    method: string,
    trace: CallTrace | undefined,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const connection = this.#connection
    if (connection === undefined) throw this.#words.failed(`is not running (${this.#problem ?? 'closed'}). ${this.#outlook()}`)
    trace?.setAttributes({
      'mcp.method.name': method,
      'mcp.protocol.version': connection.client.getNegotiatedProtocolVersion() ?? '',
      'network.transport': 'url' in this.server ? 'tcp' : 'pipe',
    })
    try {
      const end = await work(connection)
      // To read a large one has taken long.
      await this.#pauses.turn(signal)
      return end
    } catch (error) {
      signal.throwIfAborted()
      if (ToolloopError.isInstance(error)) throw new ToolloopError(error.code, this.#words.clean(error.message), { cause: error.cause })
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
    await Promise.allSettled([connection?.close(), this.#connecting, this.#leaving, this.#signIn?.close()])
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
        return [connection, await connection.listTools(limit, this.#onToolProblem)]
      })
      if (problem !== undefined) throw new Error(problem)
      this.#closing.signal.throwIfAborted()
      this.#connection = opened
      this.#tools = tools
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
    // The list may have changed while it was on its way.
    if (this.#isStale) this.#refresh()
  }

  #events(onLost: (problem: string) => void): ServerEvents {
    return {
      onLost: (problem) => onLost(this.#words.clean(problem)),
      onToolsChanged: () => this.#refresh(),
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

  readonly #onToolProblem = (tool: string, problem: string): void => {
    this.#log('warn', { tool, problem: this.#words.clean(problem) }, 'a tool of an MCP server is left out: it is invalid')
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
      this.#log('warn', { error: this.#words.of(error) }, 'an MCP server did not list its changed tools; those it had before stay')
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
      this.#log('debug', { error: this.#words.of(error) }, 'the connection to an MCP server was not closed in peace')
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
    if (error instanceof ProtocolError) return this.#words.failed(`refused the call: ${this.#words.of(error)}`, error)
    if (error instanceof InsufficientScopeError) return this.#words.failed(`refused the call: ${this.#words.of(error)}`, error)
    if (error instanceof SdkHttpError && error.status === 401)
      return this.#words.failed(`refused the call: ${this.#words.of(error)}`, error)
    if (error instanceof SdkHttpError) {
      // It answers, but not to this session: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
      if (error.status === 404) this.#lose('it has forgotten the session')
      const again = error.status === 404 || (error.status ?? 0) >= 500 ? ` ${this.#outlook()}` : ''
      return this.#words.failed(`answered with HTTP status ${error.status ?? 'unknown'}.${again}`, error)
    }
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
      return this.#words.failed('answered with something other than a tool result.', error)
    }
    const { problem } = connection
    if (problem !== undefined)
      return this.#words.failed(`stopped during the call (${this.#words.clean(problem)}). ${unknown} ${this.#outlook()}`, error)
    const words = this.#words.of(error)
    // Over HTTP a connection is lost when a request is.
    if ('url' in this.server && !(error instanceof SdkError)) this.#lose(words)
    return this.#words.failed(`did not answer (${words}). ${unknown} ${this.#outlook()}`, error)
  }

  #outlook(): string {
    return this.#closing.signal.aborted ? 'It has been closed.' : 'It is being restarted: try again later, or go on without it.'
  }

  #log(level: RecordLevel, fields: object, message: string): void {
    this.#logger[level]({ server: this.name, ...fields }, message)
  }
}
