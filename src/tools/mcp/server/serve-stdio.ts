import { randomBytes } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import type { Server } from '@modelcontextprotocol/server'
import { checkOptionNames, type OptionNames } from '../../../core/check-options.ts'
import { InvalidOptionError, messageOf } from '../../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../../core/logger.ts'
import { Lanes } from '../../concurrency.ts'
import type { ToolSet } from '../../registry.ts'
import { loadServerSdk } from './load-sdk.ts'
import { answerTtlSeconds } from './questions.ts'
import type { McpServing } from './serving.ts'
import { announceLists, createToolServer } from './tool-server.ts'

/** Options of `serveMcp`. */
export interface ServeMcpOptions extends McpServing {
  /** The streams for messages. Default: standard input and output. Other code must not write to the same output. */
  input?: Readable
  output?: Writable
  /** Maximum number of parallel calls. A tool with `parallel: false` runs alone. Default 8. */
  toolConcurrency?: number
  /** Passed to the tools as `ToolContext.context`. */
  context?: unknown
  /** Stops the service when the signal is aborted. */
  signal?: AbortSignal
  logger?: Logger
}

const optionNames: OptionNames<ServeMcpOptions> = {
  name: true,
  version: true,
  instructions: true,
  logToClient: true,
  skills: true,
  extend: true,
  input: true,
  output: true,
  toolTimeoutMs: true,
  toolConcurrency: true,
  maxResultBytes: true,
  maxArgumentValues: true,
  context: true,
  signal: true,
  logger: true,
}

/** Tools that are being served to an MCP client. */
export interface McpService extends AsyncDisposable {
  /** Resolves when the client has disconnected or the service was closed. Never rejects. */
  readonly closed: Promise<void>
  /** Tells the client that its tools, prompts and resources may have changed. */
  toolsChanged(): void
  /** Stops the service. Calls in flight are cancelled. */
  close(): Promise<void>
}

/**
 * Serves tools as an MCP server over two streams. A call is handled as in a run: arguments are validated, time and result are limited, and
 * errors are worded for a model. The client's user answers a tool's questions (`ask`). Tools without `execute` and tools that require
 * approval are left out, because nobody can approve a call. Rejects with `missing_dependency`.
 */
export async function serveMcp(tools: ToolSet, options: ServeMcpOptions = {}): Promise<McpService> {
  checkOptionNames(options, optionNames, '`serveMcp`')
  const { input = process.stdin, output = process.stdout, toolConcurrency = 8, signal, logger = defaultLogger } = options
  if (!Number.isInteger(toolConcurrency) || toolConcurrency < 1)
    throw new InvalidOptionError('toolConcurrency', 'an integer of at least 1', toolConcurrency)
  signal?.throwIfAborted()
  const sdk = await loadServerSdk()
  const closed = Promise.withResolvers<void>()
  /** Reports the end of the connection, even if the client has sent nothing. */
  class WatchedTransport extends sdk.StdioServerTransport {
    override async close(): Promise<void> {
      await super.close()
      closed.resolve()
    }
  }
  const log = redacting(logger)
  const lanes = new Lanes(toolConcurrency)
  const servers = new Set<Server>()
  const codec = sdk.createRequestStateCodec({ key: randomBytes(32), ttlSeconds: answerTtlSeconds })
  const scope = { caller: '', context: options.context, lanes }
  const factory = ({ era }: { era: 'legacy' | 'modern' }) => {
    const server = createToolServer(sdk, tools, options, { codec, scopeOf: () => scope, logger: log, isModern: era === 'modern' })
    servers.add(server)
    return server
  }
  const onerror = (error: Error) => log.debug({ error: messageOf(error) }, 'the MCP client did something unexpected')
  const handle = sdk.serveStdio(factory, { transport: new WatchedTransport(input, output), onerror })
  const close = async () => {
    await handle.close()
    closed.resolve()
  }
  const abort = () => void close()
  signal?.addEventListener('abort', abort, { once: true })
  closed.promise.finally(() => signal?.removeEventListener('abort', abort))
  return {
    closed: closed.promise,
    close,
    toolsChanged: () => {
      for (const server of servers) announceLists(server).catch(onerror)
    },
    [Symbol.asyncDispose]: close,
  }
}
