import { InvalidOptionError, messageOf, ToolloopError } from '../../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../../core/logger.ts'
import { checkOptionNames, type OptionNames } from '../../../core/option-names.ts'
import type { ToolSet } from '../../registry.ts'
import { type AnyTool, convertToOpenAITool, type ToolDefinition } from '../../tool.ts'
import { legalToolNames } from '../../tool-names.ts'
import { loadClientSdk } from '../transport/load-sdk.ts'
import type { ListedTool } from './list-tools.ts'
import { mcpTool } from './mcp-tool.ts'
import { checkServer, type McpServer } from './server-config.ts'
import { type McpServerState, ServerLink } from './server-link.ts'

/** What `connectMcpServers` takes besides the servers. */
export interface McpOptions {
  /**
   * Tools that somebody has looked at, as `fingerprints()` gave them: a tool that is not among them, or no longer the same, is held back.
   * Default: what a server lists first is taken, and only what changes later is held back.
   */
  allowed?: Readonly<Record<string, string>>
  /** What becomes of a tool held back: `'hide'` it, or show it and let each of its calls `'ask'` for an approval. Default `'hide'`. */
  unknownTools?: 'hide' | 'ask'
  /** Called when tools were added, removed, changed or held back, and when a server's state has changed. What it throws is logged. */
  onChange?: () => void
  /** Given up when aborted, before all servers have been started. */
  signal?: AbortSignal
  logger?: Logger
}

const optionNames: OptionNames<McpOptions> = {
  allowed: true,
  unknownTools: true,
  onChange: true,
  signal: true,
  logger: true,
}

/** How one MCP server is doing. */
export interface McpServerStatus {
  name: string
  state: McpServerState
  /** Why it is down. */
  problem?: string
}

/** A tool that is not allowed, or not as it now is. */
export interface HeldTool {
  name: string
  server: string
  reason: 'new' | 'changed'
  description: string
  parameters: Record<string, unknown>
  /** For `allow`. */
  fingerprint: string
}

/**
 * Starts MCP servers, by the names they are to have, and gives their tools as one set that follows them: what a server adds, changes or takes away
 * is seen from the next turn of a run on. A server that ends is started again, at growing intervals; its tools stay and say that it is down.
 *
 * Rejects with `invalid_option`, `missing_dependency`, or `mcp_server_failed` when a server that is not `optional` can't be started;
 * nothing is left running then.
 *
 * ```ts
 * await using tools = await connectMcpServers({ files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] } })
 * ```
 */
export async function connectMcpServers(servers: Readonly<Record<string, McpServer>>, options: McpOptions = {}): Promise<McpTools> {
  checkOptionNames(options, optionNames, '`connectMcpServers`')
  for (const [name, server] of Object.entries(servers)) checkServer(name, server)
  const { unknownTools = 'hide', signal = new AbortController().signal, logger = defaultLogger } = options
  if (unknownTools !== 'hide' && unknownTools !== 'ask') throw new InvalidOptionError('unknownTools', "'hide' or 'ask'", unknownTools)
  signal.throwIfAborted()
  const log = redacting(logger)
  const sdk = await loadClientSdk()
  const links: ServerLink[] = []
  const tools = new McpTools(links, { ...options, unknownTools, logger: log })
  for (const [name, server] of Object.entries(servers)) {
    links.push(new ServerLink(name, server, { sdk, logger: log, onChange: () => tools.update() }))
  }
  const started = await Promise.allSettled(links.map((link) => link.start(signal)))
  const failures = started.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
  if (failures.length === 0 && !signal.aborted) return tools
  await tools.close()
  signal.throwIfAborted()
  if (failures.length === 1) throw failures[0]
  throw new ToolloopError('mcp_server_failed', failures.map(messageOf).join('\n'), { cause: new AggregateError(failures) })
}

/** The tools of MCP servers: give it to a runner as its `tools`, or to a dispatcher. Made by `connectMcpServers`. */
export class McpTools implements ToolSet, AsyncDisposable {
  readonly #links: readonly ServerLink[]
  readonly #options: McpOptions & { logger: Logger }
  /** Fingerprints by name. */
  readonly #allowed: Map<string, string>
  #tools = new Map<string, AnyTool>()
  #made = new Map<string, AnyTool>()
  #held: readonly HeldTool[] = []
  #specs: readonly ToolDefinition[] | undefined

  constructor(links: readonly ServerLink[], options: McpOptions & { logger: Logger }) {
    this.#links = links
    this.#options = options
    this.#allowed = new Map(Object.entries(options.allowed ?? {}))
  }

  get size(): number {
    return this.#tools.size
  }

  get(name: string): AnyTool | undefined {
    return this.#tools.get(name)
  }

  names(): string[] {
    return [...this.#tools.keys()]
  }

  list(): AnyTool[] {
    return [...this.#tools.values()]
  }

  getAllSpecs(): readonly ToolDefinition[] {
    this.#specs ??= Object.freeze(this.list().map(convertToOpenAITool))
    return this.#specs
  }

  servers(): McpServerStatus[] {
    return this.#links.map(({ name, state, problem }) => ({ name, state, ...(problem === undefined ? {} : { problem }) }))
  }

  /** The tools that wait for `allow`. */
  held(): readonly HeldTool[] {
    return this.#held
  }

  /** Fingerprints of all tools that are allowed, by name, also of those that are gone for now: to be kept, and given as `allowed` the next time. */
  fingerprints(): Record<string, string> {
    return Object.fromEntries(this.#allowed)
  }

  /** Allows tools by name and fingerprint, as `held()` shows them: what is allowed is what was looked at, whatever it has become since. */
  allow(fingerprints: Readonly<Record<string, string>>): void {
    for (const [name, fingerprint] of Object.entries(fingerprints)) {
      if (!/^sha256:[0-9a-f]{64}$/.test(fingerprint)) throw new InvalidOptionError(`fingerprints.${name}`, 'a fingerprint', fingerprint)
      this.#allowed.set(name, fingerprint)
    }
    this.update()
  }

  /** Ends all servers. Calls in flight fail; the tools stay listed and say that their server is closed. Never rejects. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#links.map((link) => link.close()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Takes over what the servers list now. Called by them. */
  update(): void {
    const listed = this.#links.flatMap((link) => takenTools(link).map((tool) => ({ link, tool })))
    const names = legalToolNames(listed.map(({ link, tool }) => wantedName(link, tool)))
    const before = this.#made
    const tools = new Map<string, AnyTool>()
    const held: HeldTool[] = []
    this.#made = new Map()
    for (const [index, { link, tool }] of listed.entries()) {
      const name = names[index] ?? ''
      const reason = this.#reasonToHold(name, tool)
      if (reason !== undefined) {
        const { description, inputSchema: parameters, fingerprint } = tool
        held.push({ name, server: link.name, reason, description, parameters, fingerprint })
        if (this.#options.unknownTools !== 'ask') continue
      }
      // The same object for as long as the tool is the same: its schema is compiled once, and whoever compares sees that nothing has changed.
      const key = JSON.stringify([link.name, name, tool.fingerprint, reason !== undefined])
      const made = before.get(key) ?? mcpTool(link, tool, name, reason !== undefined)
      this.#made.set(key, made)
      tools.set(name, made)
    }
    this.#warnOf(held)
    this.#held = held
    if (!isSame(this.#tools, tools)) {
      this.#tools = tools
      this.#specs = undefined
    }
    this.#tell()
  }

  #reasonToHold(name: string, { fingerprint }: ListedTool): HeldTool['reason'] | undefined {
    const allowed = this.#allowed.get(name)
    if (allowed === fingerprint) return undefined
    if (allowed !== undefined) return 'changed'
    if (this.#options.allowed !== undefined) return 'new'
    this.#allowed.set(name, fingerprint)
    return undefined
  }

  #warnOf(held: readonly HeldTool[]): void {
    const known = new Set(this.#held.map(({ name, fingerprint }) => `${name} ${fingerprint}`))
    for (const { name, server, reason, fingerprint } of held) {
      if (known.has(`${name} ${fingerprint}`)) continue
      const why = reason === 'new' ? 'it is not among those that are allowed' : 'its description or schema has changed since it was allowed'
      this.#options.logger.warn({ server, tool: name, fingerprint }, `a tool of an MCP server is held back: ${why}`)
    }
  }

  #tell(): void {
    try {
      this.#options.onChange?.()
    } catch (error) {
      this.#options.logger.error({ error: messageOf(error) }, '`onChange` of the MCP tools threw')
    }
  }
}

function takenTools({ server, tools }: ServerLink): readonly ListedTool[] {
  const taken = server.tools
  return taken === undefined ? tools : tools.filter(({ name }) => taken.includes(name))
}

function wantedName({ name, server }: ServerLink, tool: ListedTool): string {
  const { prefix = name } = server
  return prefix === '' ? tool.name : `${prefix}__${tool.name}`
}

function isSame(before: ReadonlyMap<string, AnyTool>, now: ReadonlyMap<string, AnyTool>): boolean {
  const names = [...now.keys()]
  return before.size === now.size && [...before.keys()].every((name, index) => name === names[index] && before.get(name) === now.get(name))
}
