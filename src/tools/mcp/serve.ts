import { randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import type { CallToolResult, ContentBlock, Server, ServerContext, Tool as WireTool } from '@modelcontextprotocol/server'
import { InvalidOptionError, messageOf, rethrow } from '../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { type Content, type ContentPart, isJsonObject, type Json } from '../../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import { version as ownVersion } from '../../core/version.ts'
import { Lanes } from '../concurrency.ts'
import type { ToolSet } from '../registry.ts'
import { parametersOf } from '../schema/schema.ts'
import type { AnyTool } from '../tool.ts'
import { type ToolCallEnd, ToolRunner } from '../tool-runner.ts'
import { missingPackage } from './transport/load-sdk.ts'

/** What `serveMcp` takes besides the tools. */
export interface ServeMcpOptions {
  /** What the server calls itself. Default `toolloop`, and this package's version. */
  name?: string
  version?: string
  /** What the client may tell its model of these tools. */
  instructions?: string
  /** Where messages come from and go to. Default: standard input and output; nothing else may then be printed there. */
  input?: Readable
  output?: Writable
  /** Time limit of one call in milliseconds; a tool's own wins. Default 30,000. */
  toolTimeoutMs?: number
  /** Most calls at once; a tool with `parallel: false` is run alone. Default 8. */
  toolConcurrency?: number
  /** Most bytes of text of one result. Default 65,536. */
  maxResultBytes?: number
  /** Handed to the tools. */
  context?: unknown
  /** Ends the service when aborted. */
  signal?: AbortSignal
  logger?: Logger
}

const optionNames: OptionNames<ServeMcpOptions> = {
  name: true,
  version: true,
  instructions: true,
  input: true,
  output: true,
  toolTimeoutMs: true,
  toolConcurrency: true,
  maxResultBytes: true,
  context: true,
  signal: true,
  logger: true,
}

/** Tools that are being served to an MCP client. */
export interface McpService extends AsyncDisposable {
  /** Resolves when the client has gone or the service was closed. Never rejects. */
  readonly closed: Promise<void>
  /** Tells the client that the tools are others than before. */
  toolsChanged(): void
  /** Ends the service; calls in flight are cancelled. */
  close(): Promise<void>
}

/**
 * Serves tools as an MCP server over two streams, of old and new protocol versions alike. Each call goes the way it goes in a run: arguments are
 * checked, time and result are bounded, and what went wrong is told in words for a model. Nobody can be asked here: tools that need an
 * approval are neither listed nor run, nor are those that have no `execute`. Rejects with `missing_dependency`.
 */
export async function serveMcp(tools: ToolSet, options: ServeMcpOptions = {}): Promise<McpService> {
  checkOptionNames(options, optionNames, '`serveMcp`')
  const { input = process.stdin, output = process.stdout, toolConcurrency = 8, signal, logger = defaultLogger } = options
  if (!Number.isInteger(toolConcurrency) || toolConcurrency < 1)
    throw new InvalidOptionError('toolConcurrency', 'an integer of at least 1', toolConcurrency)
  signal?.throwIfAborted()
  const sdk = await loadServerSdk()
  const closed = Promise.withResolvers<void>()
  /** As the SDK has it, but tells when it has ended, also before the client has said a word. */
  class WatchedTransport extends sdk.StdioServerTransport {
    override async close(): Promise<void> {
      await super.close()
      closed.resolve()
    }
  }
  const log = redacting(logger)
  const lanes = new Lanes(toolConcurrency)
  const servers = new Set<Server>()
  const factory = () => {
    const server = createServer(sdk, tools, { ...options, lanes }, log)
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
      for (const server of servers) server.sendToolListChanged().catch(onerror)
    },
    [Symbol.asyncDispose]: close,
  }
}

type McpServerSdk = typeof import('@modelcontextprotocol/server') & typeof import('@modelcontextprotocol/server/stdio')

async function loadServerSdk(): Promise<McpServerSdk> {
  try {
    const sdk = await import('@modelcontextprotocol/server').catch(rethrow)
    return { ...sdk, ...(await import('@modelcontextprotocol/server/stdio').catch(rethrow)) }
  } catch (cause) {
    throw missingPackage('@modelcontextprotocol/server', 'Serving tools over MCP needs', cause)
  }
}

const defaultTimeoutMs = 30_000
const defaultResultBytes = 65_536

function createServer(sdk: McpServerSdk, tools: ToolSet, options: ServeMcpOptions & { lanes: Lanes }, logger: Logger): Server {
  const { name = 'toolloop', version = ownVersion, instructions, toolTimeoutMs, maxResultBytes, context, lanes } = options
  const capabilities = { tools: { listChanged: true } }
  const server = new sdk.Server({ name, version }, { capabilities, ...(instructions === undefined ? {} : { instructions }) })
  const served = {
    get: (called: string) => servable(tools.get(called)),
    names: () =>
      tools
        .list()
        .filter(servable)
        .map((tool) => tool.name),
  }
  const runner = new ToolRunner(served)
  server.setRequestHandler('tools/list', () => ({ tools: tools.list().filter(servable).map(wireTool) }))
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    if (served.get(params.name) === undefined) {
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, runner.notFound(params.name))
    }
    const call = {
      id: `mcp_${ctx.mcpReq.id}`,
      type: 'function' as const,
      function: { name: params.name, arguments: JSON.stringify(params.arguments ?? {}) },
    }
    await lanes.enter(served.get(params.name)?.parallel === false)
    try {
      const { end } = await runner.run(call, {
        context,
        signal: ctx.mcpReq.signal,
        runId: `mcp_${randomUUID()}`,
        iteration: 1,
        idempotencyKey: randomUUID(),
        timeoutMs: toolTimeoutMs ?? defaultTimeoutMs,
        maxResultBytes: maxResultBytes ?? defaultResultBytes,
        logger,
        ...progressOf(ctx, logger),
      })
      return wireResult(end)
    } finally {
      lanes.leave()
    }
  })
  return server
}

/** The tool, if it can be run here. */
function servable(tool: AnyTool | undefined): AnyTool | undefined {
  return tool?.execute === undefined || (tool.approval !== undefined && tool.approval !== false) ? undefined : tool
}

function wireTool(tool: AnyTool): WireTool {
  const { name, description, effect = 'unsafe' } = tool
  const annotations = effect === 'unsafe' ? undefined : { readOnlyHint: effect === 'read', idempotentHint: true }
  const inputSchema = { ...parametersOf(tool), type: 'object' as const }
  return { name, description, inputSchema, ...(annotations === undefined ? {} : { annotations }) }
}

/** Reports go to a client that has asked for them. They may be anything here, and there have a number that grows. */
function progressOf({ mcpReq }: ServerContext, logger: Logger): { onProgress?: (update: Json) => void } {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return {}
  let reports = 0
  const onProgress = (update: Json) => {
    reports++
    const given = isJsonObject(update) ? update : {}
    const params = {
      progressToken,
      progress: typeof given.progress === 'number' ? given.progress : reports,
      ...(typeof given.total === 'number' ? { total: given.total } : {}),
      ...messageIn(update),
    }
    mcpReq.notify({ method: 'notifications/progress', params }).catch((error: unknown) => {
      logger.debug({ error: messageOf(error) }, 'progress could not be reported to the MCP client')
    })
  }
  return { onProgress }
}

function messageIn(update: Json): { message?: string } {
  if (!isJsonObject(update)) return { message: typeof update === 'string' ? update : JSON.stringify(update) }
  if (typeof update.message === 'string') return { message: update.message }
  return typeof update.progress === 'number' ? {} : { message: JSON.stringify(update) }
}

function wireResult(end: ToolCallEnd): CallToolResult {
  switch (end.outcome) {
    case 'ok':
      return { content: blocksOf(end.content) }
    case 'question':
      return failure('The tool asks a question before it goes on, and nobody can be asked here. It was not finished.')
    case 'failed':
    case 'timeout':
    case 'cancelled':
    case 'rejected':
      return failure(end.content)
  }
}

function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

function blocksOf(content: Content): ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(blockOf)
}

function blockOf(part: ContentPart): ContentBlock {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const given = 'data' in part ? part : inDataUrl(part.url)
  const name = part.type === 'file' && part.name !== undefined ? part.name : part.type
  if (given === undefined) {
    const { mediaType, url: uri } = part as { mediaType?: string; url: string }
    return { type: 'resource_link', name, uri, ...(mediaType === undefined ? {} : { mimeType: mediaType }) }
  }
  const { data, mediaType: mimeType } = given
  if (part.type === 'image') return { type: 'image', data, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType }
  return { type: 'resource', resource: { uri: `file:///${encodeURIComponent(name)}`, blob: data, mimeType } }
}

function inDataUrl(url: string): { data: string; mediaType: string } | undefined {
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  return mediaType === undefined || data === undefined ? undefined : { data, mediaType }
}
