import { messageOf } from '../../core/errors.ts'
import { copyAsJson } from '../../core/json.ts'
import type { Logger } from '../../core/logger.ts'
import { deepFreeze } from '../../core/messages.ts'
import type { McpEndpoint } from '../../tools/mcp/server/http-endpoint.ts'
import type { McpServing } from '../../tools/mcp/server/serving.ts'
import type { ServedTools } from '../../tools/mcp/server/tool-server.ts'
import { skillToolNames } from '../../tools/skills/skill-names.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { type Agent, type AgentHost, defaultAgent } from '../agents/agent-host.ts'
import type { Config, McpRouteConfig, PreparedConfig } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Caller, ContextOf } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import type { Call } from '../http/route.ts'
import type { RunStore } from '../runs/run-store.ts'
import { identityOf } from '../tenants/tenant.ts'
import { AgentTasks } from './agent-tasks.ts'
import { agentTool, agentToolName } from './agent-tools.ts'
import type { McpTokenIssuer } from './authorization.ts'
import type { McpRouteOptions } from './mcp-options.ts'

interface Parts {
  /** The options that the program sets. If undefined, the options of the configuration apply. */
  options: McpRouteOptions | undefined
  host: AgentHost
  runs: RunStore
  limiter: RateLimiter
  contextOf: ContextOf
  logger: Logger
}

/** The MCP endpoint: serves the tools and agents that the configuration offers. */
export class McpHost {
  readonly #parts: Parts
  #offered: McpRouteConfig | undefined
  #endpoint: McpEndpoint | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get authorization(): McpTokenIssuer | undefined {
    return this.#parts.options?.authorization
  }

  /** Whether the service serves only `/mcp`. */
  get only(): boolean {
    return this.#parts.options?.only === true
  }

  get sessions(): number {
    return this.#endpoint?.sessions ?? 0
  }

  /**
   * Prepares the options of a configuration. Rejects with a `ConfigError` if the required package is not installed, or if an agent is
   * unknown.
   */
  async prepare(config: Config): Promise<PreparedConfig> {
    const offered = this.#offeredBy(config)
    const endpoint = offered === undefined ? undefined : (this.#endpoint ?? (await this.#openEndpoint()))
    return {
      commit: () => {
        const old = this.#endpoint
        this.#offered = offered
        this.#endpoint = endpoint
        if (old === endpoint) old?.listsChanged()
        else old?.close().catch((error: unknown) => this.#parts.logger.error({ error }, 'the MCP route could not be closed'))
      },
      discard: async () => {
        if (endpoint !== this.#endpoint) await endpoint?.close()
      },
    }
  }

  /** Answers a request. Throws or rejects with an `HttpProblem`. */
  async answer({ request, body, caller }: Call): Promise<Response> {
    const { limiter, contextOf, host } = this.#parts
    const [endpoint, offered] = [this.#endpoint, this.#offered]
    if (endpoint === undefined || offered === undefined)
      throw new HttpProblem(404, 'not_found', 'MCP is not switched on here (`service.mcp`)')
    const { toolTimeoutMs, maxResultBytes, maxArgumentValues, toolConcurrency, metadata: own } = host.agent(defaultAgent).options
    // Each call of a batch counts as a request. The first call was already counted with the request itself.
    if (Array.isArray(body)) limiter.admitRequest(caller.name, body.length - 1)
    const context = await contextOf(request, caller)
    const release = limiter.admitStream(caller.name)
    const lease = host.leaseTools()
    const { name, version, logToClient, skills = this.#ownSkills, extend } = this.#parts.options ?? {}
    const told = { name, version, instructions: offered.instructions, logToClient, skills, extend }
    const serving = { ...told, toolTimeoutMs, maxResultBytes, maxArgumentValues }
    const tools = this.#toolsFor(caller)
    const tasks = this.#tasksFor(caller, context)
    // The call belongs to no run. It still gets the metadata of the caller's runs.
    const { tenant } = caller
    const metadata = own === undefined && tenant === undefined ? undefined : deepFreeze(copyAsJson({ ...own, ...tenant }))
    // An agent's run is counted when it starts.
    const admit = (tool: string) => (tasks.offers(tool) ? () => {} : limiter.admitRun(caller.name))
    return endpoint.answer(
      { request, body, caller: identityOf(caller), tools, serving, toolConcurrency, context, metadata, admit, tasks },
      () => {
        lease()
        release()
      },
    )
  }

  /** Resolves when no call is in progress, or when `signal` aborts. */
  async settled(signal: AbortSignal): Promise<void> {
    await this.#endpoint?.settled(signal)
  }

  async close(): Promise<void> {
    await this.#endpoint?.close()
  }

  #offeredBy({ service, models = {} }: Config): McpRouteConfig | undefined {
    const { options } = this.#parts
    const asked = service?.mcp ?? options !== undefined
    if (asked === false) return undefined
    const { tools, agents = !this.only, instructions } = { ...options, ...(asked === true ? {} : asked) }
    const names = [defaultAgent, ...Object.keys(models)]
    const unknown = typeof agents === 'boolean' ? -1 : agents.findIndex((name) => !names.includes(name))
    if (unknown >= 0)
      throw new ConfigError('The configuration', [
        { path: `/service/mcp/agents/${unknown}`, message: `must be one of ${names.join(', ')}` },
      ])
    return { tools, agents, instructions }
  }

  async #openEndpoint(): Promise<McpEndpoint> {
    const { options = {}, logger } = this.#parts
    const { maxSessions, maxSessionsOfCaller, sessionIdleMs } = options
    const given = Object.entries({ maxSessions, maxSessionsOfCaller, sessionIdleMs }).filter(([, value]) => value !== undefined)
    try {
      const [{ McpEndpoint }, { loadServerSdk }] = await Promise.all([
        import('../../tools/mcp/server/http-endpoint.ts'),
        import('../../tools/mcp/server/load-sdk.ts'),
      ])
      return new McpEndpoint(await loadServerSdk(), Object.fromEntries(given), logger)
    } catch (error) {
      throw new ConfigError('The configuration', [{ path: '/service/mcp', message: messageOf(error) }], error)
    }
  }

  /** Returns the tools of a caller. They change with the configuration, even during a session. */
  #toolsFor(caller: Caller): ServedTools {
    const { host, runs } = this.#parts
    return {
      get: (name) => {
        const agent = this.#agentCalled(name)
        return this.#ownTool(name) ?? (agent === undefined ? undefined : agentTool(agent, caller, runs))
      },
      list: () => {
        const tools = host.tools.list().filter(({ name }) => this.#ownTool(name) !== undefined)
        const asTools = this.#agents.map((agent) => agentTool(agent, caller, runs))
        return [...tools, ...asTools.filter(({ name }) => this.#ownTool(name) === undefined)]
      },
    }
  }

  #tasksFor(caller: Caller, context: unknown): AgentTasks {
    return new AgentTasks({ caller, runs: this.#parts.runs, agentOf: (tool) => this.#agentCalled(tool)?.name, context })
  }

  /** The Skills of the configuration, if their tools are offered. */
  get #ownSkills(): McpServing['skills'] {
    const { skills } = this.#parts.host
    return skills.skills.length > 0 && this.#ownTool(skillToolNames.activate) !== undefined ? skills : undefined
  }

  get #agents(): readonly Agent[] {
    const { agents: names = true } = this.#offered ?? {}
    return this.#parts.host.agents.filter(({ name }) => (typeof names === 'boolean' ? names : names.includes(name)))
  }

  /** Returns a tool that is not an agent, if it is offered. It takes precedence over an agent with the same name. */
  #ownTool(name: string): AnyTool | undefined {
    return (this.#offered?.tools?.includes(name) ?? true) ? this.#parts.host.tools.get(name) : undefined
  }

  #agentCalled(name: string): Agent | undefined {
    return this.#ownTool(name) === undefined ? this.#agents.find((one) => agentToolName(one.name) === name) : undefined
  }
}
