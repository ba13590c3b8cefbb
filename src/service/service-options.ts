import type { Telemetry } from '../agent/observe/telemetry.ts'
import type { EventBus } from '../core/callbacks/event-bus.ts'
import type { Logger } from '../core/logger.ts'
import { checkOptionNames, type Optional, type OptionNames } from '../core/option-names.ts'
import type { AnyModel } from '../models/create-model.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import type { AnyTool } from '../tools/tool.ts'
import { type AgentOptions, agentOptionNames } from './agents/agent-host.ts'
import type { Config } from './config/config.ts'
import type { ConfigState } from './config/config-source.ts'
import type { Caller } from './http/auth.ts'
import { checkMcpOptions, type McpRouteOptions } from './mcp/mcp-options.ts'

/** Options of `createService`. */
export interface ServiceOptions {
  /** The configuration file; it need not be there yet. Default: none, and nothing is watched. */
  configFile?: string
  /** The configuration, where there is no file: plain data, just as the file would have it, which can't be changed while the service runs. */
  config?: Config
  /** The model where the configuration names none. Default `'demo'`. */
  model?: AnyModel
  /** True: `model` is used even if the configuration names another. Default false. */
  modelIsFixed?: boolean
  /** Tools besides those of the configuration. A registry may be changed while the service runs. */
  tools?: readonly AnyTool[] | ToolRegistry
  /**
   * Names of the built-in tools that there are where the configuration says nothing of them (`tools.builtin`). Default: none. `toolloop serve`
   * has `calculate` and `current_time`.
   */
  builtinTools?: readonly string[]
  /** Hooks, guardrails and other options of the runner; the configuration's `limits` and `instructions` override them. */
  agent?: AgentOptions
  /** A token with all roles, besides those of the configuration: at least 16 characters without a pattern. */
  token?: string
  /**
   * Identifies the sender of a request, in place of tokens: for a program that knows its users already. Undefined or null: unknown, the
   * answer is 401. If it throws or rejects, the answer is 401 too, and the error is logged. It must not read the body.
   */
  authenticate?(request: Request): Caller | undefined | null | Promise<Caller | undefined | null>
  /**
   * What tools, approvals and instructions get as their `context`: the user, the tenant, a database handle. Asked when a run begins, and again
   * when it goes on after a decision; it is not stored. `identity` is the run's owner: name, roles and tenant; `request` may be of somebody else who
   * decides, and is undefined if a run of an earlier process continues by itself. It must not read the body. If it throws or rejects, the answer is
   * 500, the error is logged, and nothing has happened; a run of an earlier process waits, and it is asked again later. So it does if a run
   * that was started with a context is given none.
   */
  context?(request: Request | undefined, identity: Caller): unknown
  /** Offers the tools and agents to MCP clients, at `/mcp`; true: as `{}`. Default: as the configuration's `service.mcp` says. */
  mcp?: boolean | McpRouteOptions
  /** What the path of every request begins with, such as `/agent`. Default: nothing, as where `mount` has taken it away. */
  basePath?: string
  /**
   * Host names and allowed origins, besides the configuration's `service.hosts` and `service.origins`. A service that is reached by a name
   * other than localhost has to know it; `*` if the server it is mounted in checks names itself.
   */
  hosts?: readonly string[]
  origins?: readonly string[]
  bus?: EventBus
  logger?: Logger
  /** Traces and metrics of requests and runs: what `telemetry()` of `toolloop/telemetry` gives. Default: what the configuration says of it. */
  telemetry?: Telemetry
  /** What variables are looked up in. Default: the process's environment. */
  env?: Readonly<Record<string, string | undefined>>
  /** Where relative paths begin. Default: the working directory. */
  cwd?: string
  /**
   * Called when the configuration has changed, or a change was rejected. `config` is the one in force, environment variables filled in.
   * What it throws is logged.
   */
  onReload?(state: ConfigState, config: Config): void
  /** Milliseconds; for tests. */
  times?: Optional<ServiceTimes>
}

/** How often the service does something, and how long it waits, in milliseconds. */
export interface ServiceTimes {
  debounceMs: number
  pollMs: number
  heartbeatMs: number
  stallMs: number
}

const optionNames: OptionNames<ServiceOptions> = {
  configFile: true,
  config: true,
  model: true,
  modelIsFixed: true,
  tools: true,
  builtinTools: true,
  agent: true,
  token: true,
  authenticate: true,
  context: true,
  mcp: true,
  basePath: true,
  hosts: true,
  origins: true,
  bus: true,
  logger: true,
  telemetry: true,
  env: true,
  cwd: true,
  onReload: true,
  times: true,
}
const timeNames: OptionNames<ServiceTimes> = { debounceMs: true, pollMs: true, heartbeatMs: true, stallMs: true }

/** Throws `invalid_option`. */
export function checkServiceOptions(options: ServiceOptions): void {
  checkOptionNames(options, optionNames, '`createService`')
  checkOptionNames(options.times ?? {}, timeNames, '`createService`', 'times')
  checkOptionNames(options.agent ?? {}, agentOptionNames, "a service's agent", 'agent')
  checkMcpOptions(options)
}
