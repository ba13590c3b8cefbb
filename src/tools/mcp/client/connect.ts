import { callUnawaited } from '../../../core/callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from '../../../core/check-options.ts'
import { InvalidOptionError, messageOf, ToolloopError } from '../../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../../core/logger.ts'
import { type ChatMessage, type ContentPart, withoutUndefined } from '../../../core/messages.ts'
import type { ToolSet } from '../../registry.ts'
import { type AnyTool, convertToOpenAITool, type ToolDefinition } from '../../tool.ts'
import { legalToolNames } from '../../tool-names.ts'
import { loadClientSdk } from '../sdk/load-sdk.ts'
import { checkServer, type McpServer } from '../server-config.ts'
import { longestTimerMs, startTimeoutOf } from '../within.ts'
import type { McpPrompt, McpResource, McpResourceTemplate } from './context/server-context.ts'
import { contextTools } from './context-tools.ts'
import { instructionsOf } from './instructions.ts'
import type { ListedTool } from './listing/list-tools.ts'
import { mcpTool } from './mcp-tool.ts'
import { ServerLink } from './server-link.ts'
import type { McpServerStatus } from './server-status.ts'

/** Options of `connectMcpServers`. */
export interface McpOptions {
  /**
   * Reviewed tools, as returned by `fingerprints()`. A tool that is missing here, or has changed, is held back. Default: all tools in a
   * server's first list are allowed, and only later changes are held back.
   */
  allowed?: Readonly<Record<string, string>>
  /** What happens to tools that are held back: `'hide'` removes them, `'ask'` requires approval for each call. Default `'hide'`. */
  unknownTools?: 'hide' | 'ask'
  /**
   * Called when the set of tools or the state of a server has changed.
   *
   * Contract: the function is not awaited. If it throws or rejects, the error is logged.
   */
  onChange?: () => void
  /** Cancels the start of the servers. */
  signal?: AbortSignal
  /** Receives problems of the servers. Default: the package's own logger. */
  logger?: Logger
}

const optionNames: OptionNames<McpOptions> = {
  allowed: true,
  unknownTools: true,
  onChange: true,
  signal: true,
  logger: true,
}

/** A tool that is not allowed, or has changed since it was allowed. */
export interface HeldTool {
  name: string
  server: string
  reason: 'new' | 'changed'
  description: string
  parameters: Record<string, unknown>
  /** The fingerprint of the tool as it is now. Pass it to `allow`. */
  fingerprint: string
}

/**
 * Starts MCP servers, by name, and returns their tools as one set. If a server changes its tools, the set changes too, and a run sees the
 * change in its next turn. A server that ends is restarted, after growing delays. While a server is down, its tools stay in the set, but
 * calls to them fail.
 *
 * Rejects with `invalid_option` or `missing_dependency`. Stops all servers and rejects with `mcp_server_failed` if a server can't be
 * started, unless the server is `optional`.
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

/** The tools of MCP servers. Pass this set to a runner as `tools`, or to a dispatcher. Created by `connectMcpServers`. */
export class McpTools implements ToolSet, AsyncDisposable {
  readonly #links: readonly ServerLink[]
  readonly #options: McpOptions & { logger: Logger }
  /** The fingerprints of the allowed tools, by name. */
  readonly #allowed: Map<string, string>
  #tools = new Map<string, AnyTool>()
  #made = new Map<string, AnyTool>()
  #held: readonly HeldTool[] = []
  #specs: readonly ToolDefinition[] | undefined

  /** @internal */
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

  /** Resolves when the set contains all tool changes that servers have announced. Undefined if no change is pending. */
  settled(): Promise<void> | undefined {
    const settling = this.#links.flatMap((link) => link.followed.settled() ?? [])
    return settling.length === 0 ? undefined : Promise.all(settling).then(() => {})
  }

  servers(): McpServerStatus[] {
    return this.#links.map(({ name, state, problem }) => ({ name, state, ...withoutUndefined({ problem }) }))
  }

  /** The tools that are held back until `allow` is called for them. */
  held(): readonly HeldTool[] {
    return this.#held
  }

  /**
   * Returns the fingerprints of all allowed tools by name, including tools that are currently missing. Store them, and pass them as
   * `allowed` next time.
   */
  fingerprints(): Record<string, string> {
    return Object.fromEntries(this.#allowed)
  }

  /** Allows tools by name and fingerprint, which `held()` returns. A tool that has changed in the meantime stays held back. */
  allow(fingerprints: Readonly<Record<string, string>>): void {
    for (const [name, fingerprint] of Object.entries(fingerprints)) {
      if (!/^sha256:[0-9a-f]{64}$/.test(fingerprint)) throw new InvalidOptionError(`fingerprints.${name}`, 'a fingerprint', fingerprint)
      this.#allowed.set(name, fingerprint)
    }
    this.update()
  }

  /**
   * Returns the texts that the servers contribute to an agent's instructions, each under the name of its server. The option `instructions`
   * of a server selects its texts. Skips servers that are down and `optional`. `''` if there are no texts. Rejects with `tool_failed` if a
   * text can't be read.
   */
  async instructions({ signal }: McpAskOptions = {}): Promise<string> {
    const found = await Promise.all(this.#links.map((link) => instructionsOf(link, limitOf(link, signal))))
    return found.filter((text) => text !== '').join('\n\n')
  }

  /** Returns the resources of a server. Rejects with `tool_failed`, or with `invalid_option` for an unknown server. */
  async resources(server: string, { signal }: McpAskOptions = {}): Promise<McpResource[]> {
    const link = this.#link(server)
    return link.context.resources(limitOf(link, signal))
  }

  /** Returns the resource templates of a server. Rejects like `resources`. */
  async resourceTemplates(server: string, { signal }: McpAskOptions = {}): Promise<McpResourceTemplate[]> {
    const link = this.#link(server)
    return link.context.templates(limitOf(link, signal))
  }

  /** Reads a resource. Rejects like `resources`. */
  async readResource(server: string, uri: string, { signal }: McpAskOptions = {}): Promise<ContentPart[]> {
    const link = this.#link(server)
    return link.context.read(uri, limitOf(link, signal))
  }

  /** Returns the prompts of a server. Rejects like `resources`. */
  async prompts(server: string, { signal }: McpAskOptions = {}): Promise<McpPrompt[]> {
    const link = this.#link(server)
    return link.context.prompts(limitOf(link, signal))
  }

  /** Returns a prompt with its arguments filled in, as messages that can be passed to a run. Rejects like `resources`. */
  async prompt(
    server: string,
    name: string,
    args: Readonly<Record<string, string>> = {},
    { signal }: McpAskOptions = {},
  ): Promise<ChatMessage[]> {
    const link = this.#link(server)
    return link.context.prompt(name, args, limitOf(link, signal))
  }

  #link(server: string): ServerLink {
    const link = this.#links.find(({ name }) => name === server)
    if (link === undefined) throw new InvalidOptionError('server', `one of ${this.#links.map(({ name }) => name).join(', ')}`, server)
    return link
  }

  /** Ends all servers. Calls in flight fail. The tools stay in the set, but calls to them fail. Never rejects. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#links.map((link) => link.close()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Updates the set from the servers' current tools. @internal */
  update(): void {
    const listed = this.#links.flatMap((link) => takenTools(link).map((tool) => ({ link, tool })))
    const own = this.#links.flatMap((link) => contextTools(link).map((tool) => ({ link, tool })))
    const names = legalToolNames([...listed, ...own].map(({ link, tool }) => wantedName(link, tool)))
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
      // Reuses the object of an unchanged tool, so that its schema is compiled only once.
      const key = JSON.stringify([link.name, name, tool.fingerprint, tool.taskSupport, reason !== undefined])
      const made = before.get(key) ?? mcpTool(link, tool, name, reason !== undefined)
      this.#made.set(key, made)
      tools.set(name, made)
    }
    for (const [index, { link, tool }] of own.entries()) {
      const name = names[listed.length + index] ?? ''
      const key = JSON.stringify([link.name, name])
      const made = before.get(key) ?? tool.make(name)
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
      const why = reason === 'new' ? 'it is not allowed yet' : 'its description or schema has changed since it was allowed'
      this.#options.logger.warn({ server, tool: name, fingerprint }, `a tool of an MCP server is held back: ${why}`)
    }
  }

  #tell(): void {
    const { onChange, logger } = this.#options
    if (onChange === undefined) return
    callUnawaited(onChange, (error) => logger.error({ error: messageOf(error) }, '`onChange` of the MCP tools failed'))
  }
}

/** Options of a request to a server. */
export interface McpAskOptions {
  /** Cancels the request. Default: a signal that aborts after the server's start timeout. */
  signal?: AbortSignal | undefined
}

function limitOf({ server }: ServerLink, signal = AbortSignal.timeout(Math.min(startTimeoutOf(server), longestTimerMs))): AbortSignal {
  return signal
}

function takenTools({ server, followed }: ServerLink): readonly ListedTool[] {
  const [taken, tools] = [server.tools, followed.listed]
  return taken === undefined ? tools : tools.filter(({ name }) => taken.includes(name))
}

/** Names of tools that a run itself may add. */
const reservedNames: ReadonlySet<string> = new Set(['read_result'])

function wantedName({ name, server }: ServerLink, tool: Pick<ListedTool, 'name'>): string {
  const { prefix = name } = server
  if (prefix === '' && !reservedNames.has(tool.name)) return tool.name
  return `${prefix || name}__${tool.name}`
}

function isSame(before: ReadonlyMap<string, AnyTool>, now: ReadonlyMap<string, AnyTool>): boolean {
  const names = [...now.keys()]
  return before.size === now.size && [...before.keys()].every((name, index) => name === names[index] && before.get(name) === now.get(name))
}
