import { setTimeout as pause } from 'node:timers/promises'
import type {
  Client,
  CreateMessageResult,
  ElicitResult,
  McpSubscription,
  Transport,
  VersionNegotiationMode,
} from '@modelcontextprotocol/client'
import { messageOf } from '../../../../core/errors.ts'
import { withoutUndefined } from '../../../../core/messages.ts'
import { version } from '../../../../core/version.ts'
import type { SignIn } from '../../auth/sign-in.ts'
import type { McpClientSdk } from '../../sdk/load-sdk.ts'
import type { McpServer } from '../../server-config.ts'
import { httpTransport } from '../../transport/http-transport.ts'
import { ProcessTransport } from '../../transport/process-transport.ts'
import type { Progress } from '../calls/open-call.ts'
import { samplingLimits } from '../calls/sampling.ts'
import { tasksExtension, taskTimeoutMs } from '../calls/tasks.ts'
import { type ListedTool, listTools, noTimeoutMs, type OnToolProblem } from '../listing/list-tools.ts'
import { setAside } from '../set-aside.ts'
import { UnaskedMessages } from './unasked.ts'

/**
 * Callbacks for a server's messages and failures.
 *
 * Contract: the methods must not throw, but `onQuestion` and `onSampling` may reject.
 */
export interface ServerEvents {
  /** Called once if the connection is lost, but not if the application closed it. */
  onLost(problem: string): void
  onToolsChanged(): void
  /** Called when the server's resources or prompts have changed. If `what` is undefined, both may have changed. */
  onContextChanged(what?: 'resources' | 'prompts'): void
  onResourceUpdated(uri: string): void
  /** `token`: identifies the call. */
  onProgress(token: unknown, update: Parameters<Progress>[0]): void
  /** Asks the user a question. Rejects if the question is invalid. */
  onQuestion(params: unknown, signal: AbortSignal): Promise<ElicitResult>
  /** Sends the server's request to the run's model. Rejects if the request is not allowed. */
  onSampling(params: unknown): Promise<CreateMessageResult>
  onStderr(line: string): void
  onLog(level: string, data: unknown): void
  /** Called for an error that the connection survives. */
  onError(error: Error): void
}

/** A connection to a server after the handshake. */
export interface Connection {
  readonly client: Client
  readonly isHttp: boolean
  /** Whether the server has opened a session. */
  readonly hasSession: boolean
  /** The reason if the server ended by itself. */
  readonly problem: string | undefined
  listTools(signal: AbortSignal, onProblem: OnToolProblem): Promise<ListedTool[]>
  /** Runs a request. `retire` waits for all requests to settle. */
  during<T>(request: () => Promise<T>): Promise<T>
  /** Closes the connection once its requests have settled. The server may still answer requests of a session that has ended. */
  retire(): Promise<void>
  /** Closes the connection. Resolves when no process, socket or timer of the connection is left. */
  close(): Promise<void>
}

/** Limits for one message. Reading a larger message would block other work for too long. */
const messageBounds = { maxBytes: 5_500_000, maxValues: 50_000 }
/** How long an HTTP server has to end the session, in milliseconds. */
const farewellMs = 1_000

/**
 * Opens a connection. Rejects with the signal's reason if the signal is aborted. When this function rejects, all processes and connections
 * that it started have ended.
 */
export async function openConnection(
  sdk: McpClientSdk,
  server: McpServer,
  events: ServerEvents,
  signal: AbortSignal,
  signIn?: SignIn,
): Promise<Connection> {
  const [first, second] = modesFor(server)
  try {
    return await open(sdk, server, events, signal, first, signIn)
  } catch (error) {
    if (signal.aborted || second === undefined || !isRefusal(sdk, error)) throw error
    return open(sdk, server, events, signal, second, signIn).catch(() => {
      signal.throwIfAborted()
      throw error
    })
  }
}

/**
 * Returns the protocol mode to try first, and the mode to try if the server refuses the first. For programs, the older handshake is tried
 * first, because some programs exit if they receive any other request before it.
 */
function modesFor(server: McpServer): [VersionNegotiationMode, VersionNegotiationMode?] {
  if (server.protocolVersion === '2025-11-25') return ['legacy']
  if (server.protocolVersion === '2026-07-28') return [{ pin: '2026-07-28' }]
  return 'url' in server ? ['auto', 'legacy'] : ['legacy', 'auto']
}

async function open(
  sdk: McpClientSdk,
  server: McpServer,
  events: ServerEvents,
  signal: AbortSignal,
  mode: VersionNegotiationMode,
  signIn: SignIn | undefined,
): Promise<Connection> {
  signal.throwIfAborted()
  let isOver = false
  const lose = (problem: string) => {
    if (isOver) return
    isOver = true
    events.onLost(problem)
  }
  const { transport, problem, farewell, end } = makeTransport(sdk, server, events, lose, signIn)
  const unasked = new UnaskedMessages()
  // The SDK's client calls this handler before its own.
  transport.onmessage = (message) => {
    const flood = unasked.received(message)
    if (flood !== undefined) end(flood)
    setAside(message)
  }
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    unasked.sent(message)
    return send(message, options)
  }
  const told = (onChanged: () => void) => ({ autoRefresh: false, debounceMs: 0, onChanged })
  const listChanged = {
    tools: told(() => events.onToolsChanged()),
    resources: told(() => events.onContextChanged('resources')),
    prompts: told(() => events.onContextChanged('prompts')),
  }
  const mayAsk = server.questions !== false
  const maySample = samplingLimits(server) !== undefined
  const client = new sdk.Client(
    { name: 'toolloop', version },
    {
      versionNegotiation: { mode },
      listChanged,
      inputRequired: { autoFulfill: false },
      capabilities: {
        ...(mayAsk ? { elicitation: { form: {}, url: {} } } : {}),
        ...(maySample ? { sampling: {} } : {}),
        ...(taskTimeoutMs(server) === undefined ? {} : { extensions: { [tasksExtension]: {} } }),
      },
    },
  )
  if (mayAsk) client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) => events.onQuestion(params, mcpReq.signal))
  if (maySample) client.setRequestHandler('sampling/createMessage', ({ params }) => events.onSampling(params))
  // The SDK's `listChanged` ignores notifications that the server has not announced.
  client.setNotificationHandler('notifications/tools/list_changed', () => events.onToolsChanged())
  client.setNotificationHandler('notifications/resources/list_changed', () => events.onContextChanged('resources'))
  client.setNotificationHandler('notifications/prompts/list_changed', () => events.onContextChanged('prompts'))
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => events.onResourceUpdated(params.uri))
  client.setNotificationHandler('notifications/message', ({ params }) => events.onLog(params.level, params.data))
  // The SDK's own handler ignores progress reports of a task.
  client.setNotificationHandler('notifications/progress', ({ params: { progressToken, progress, total, message } }) => {
    events.onProgress(progressToken, { progress, ...withoutUndefined({ total, message }) })
  })
  client.onerror = (error) => {
    const flood = unasked.failed()
    if (flood !== undefined) end(flood)
    else events.onError(error)
  }
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([client.connect(transport, { signal, timeout: noTimeoutMs }), aborted.promise])
  } catch (error) {
    isOver = true
    await transport.close()
    signal.throwIfAborted()
    throw problem() === undefined ? error : new Error(problem(), { cause: error })
  } finally {
    signal.removeEventListener('abort', abort)
  }
  client.onclose = () => lose(problem() ?? 'the connection was closed')
  const over = new AbortController()
  void followChanges(client, over.signal, events).catch(() => {
    if (!over.signal.aborted) lose('its event stream broke')
  })
  const open = new Set<Promise<unknown>>()
  const close = async () => {
    isOver = true
    over.abort()
    await farewell()
    await client.close()
  }
  return {
    client,
    isHttp: 'url' in server,
    get hasSession() {
      return transport.sessionId !== undefined
    },
    get problem() {
      return problem()
    },
    listTools: (limit, onProblem) => listTools(client, limit, onProblem),
    during: async (request) => {
      const sent = request()
      open.add(sent)
      try {
        return await sent
      } finally {
        open.delete(sent)
      }
    },
    retire: async () => {
      isOver = true
      while (open.size > 0) await Promise.allSettled(open)
      await close()
    },
    close,
  }
}

/** Maximum number of retries to reopen the stream of list changes. */
const mostReopenings = 4
const firstPauseMs = 250

/** Follows the stream of list changes (protocol 2026-07-28), and reopens the stream if it ends. Rejects if reopening fails. */
async function followChanges(client: Client, signal: AbortSignal, events: ServerEvents): Promise<void> {
  let stream = client.autoOpenedSubscription
  while (stream !== undefined) {
    if ((await stream.closed) === 'local' || signal.aborted) return
    stream = await listenAgain(client, signal)
    // Changes between the two streams were not reported, so everything may have changed.
    events.onToolsChanged()
    events.onContextChanged()
  }
}

async function listenAgain(client: Client, signal: AbortSignal): Promise<McpSubscription> {
  for (let tried = 0; ; tried++) {
    await pause(firstPauseMs * 4 ** tried, undefined, { signal, ref: false })
    try {
      return await client.listen(filterOf(client), { signal })
    } catch (error) {
      if (signal.aborted || tried === mostReopenings) throw error
    }
  }
}

/** Returns which lists of the server may change. */
function filterOf(client: Client): Parameters<Client['listen']>[0] {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {}
  return {
    toolsListChanged: tools?.listChanged === true,
    resourcesListChanged: resources?.listChanged === true,
    promptsListChanged: prompts?.listChanged === true,
  }
}

interface OpenTransport {
  transport: Transport
  problem(): string | undefined
  /** Ends the server's session. Never rejects. */
  farewell(): Promise<void>
  /** Ends a faulty server or its connection immediately. */
  end(problem: string): void
}

function makeTransport(
  sdk: McpClientSdk,
  server: McpServer,
  events: ServerEvents,
  onLost: (problem: string) => void,
  signIn: SignIn | undefined,
): OpenTransport {
  if ('url' in server) {
    const transport = httpTransport(sdk, server, { messageBounds, signIn, onLost })
    let flood: string | undefined
    const end = (problem: string) => {
      flood ??= problem
      onLost(problem)
      transport.close().catch((error: unknown) => events.onError(new Error(messageOf(error))))
    }
    return { transport, problem: () => flood, farewell: () => terminate(transport, events), end }
  }
  const { command, args = [], cwd } = server
  const env = { ...sdk.getDefaultEnvironment(), ...server.env }
  const farewell = () => Promise.resolve()
  if (process.platform === 'win32') {
    // Windows has no process groups, and `npx` is a script there, which only the SDK's transport can start.
    const transport = new sdk.StdioClientTransport({
      command,
      args: [...args],
      env,
      stderr: 'ignore',
      cwd,
    })
    const end = (problem: string) => {
      onLost(problem)
      transport.close().catch((error: unknown) => events.onError(new Error(messageOf(error))))
    }
    return { transport, problem: () => undefined, farewell, end }
  }
  const transport = new ProcessTransport({
    command,
    args,
    env,
    cwd,
    messageBounds,
    parse: (line) => sdk.deserializeMessage(line),
    onStderr: (line) => events.onStderr(line),
  })
  return { transport, problem: () => transport.problem, farewell, end: (problem) => transport.end(problem) }
}

async function terminate(transport: { terminateSession(): Promise<void> }, events: ServerEvents): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, farewellMs)
  })
  const ended = transport.terminateSession().catch((error: unknown) => events.onError(new Error(messageOf(error))))
  try {
    await Promise.race([ended, enough])
  } finally {
    clearTimeout(timer)
  }
}

/** Whether the server answered but refused the handshake. */
function isRefusal(sdk: McpClientSdk, error: unknown): boolean {
  if (error instanceof sdk.SdkHttpError)
    return error.status !== undefined && error.status !== 401 && error.status !== 403 && error.status < 500
  return error instanceof sdk.ProtocolError || (error instanceof sdk.SdkError && error.code === sdk.SdkErrorCode.EraNegotiationFailed)
}
