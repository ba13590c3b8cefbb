import type { Telemetry } from '../agent/observe/telemetry.ts'
import type { EventBus } from '../core/callbacks/event-bus.ts'
import { checkOptionNames, type Optional, type OptionNames } from '../core/check-options.ts'
import type { Logger } from '../core/logger.ts'
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
  /** The configuration file, which need not exist yet. Default: none, and nothing is watched. */
  configFile?: string
  /** The configuration, if there is no file: plain data with the fields of the file. It can't be changed while the service runs. */
  config?: Config
  /** The model to use if the configuration names none. Default `'demo'`. */
  model?: AnyModel
  /** Whether `model` is used even if the configuration names another. Default false. */
  modelIsFixed?: boolean
  /** Tools in addition to those of the configuration. A registry may be changed while the service runs. */
  tools?: readonly AnyTool[] | ToolRegistry
  /**
   * Names of the built-in tools to use if the configuration doesn't set `tools.builtin`. Default: none. `toolloop serve` passes `calculate`
   * and `current_time`.
   */
  builtinTools?: readonly string[]
  /** Hooks, guardrails and other options for the runner. The configuration's `limits` and `instructions` override them. */
  agent?: AgentOptions
  /** A token with all roles, in addition to those of the configuration: at least 16 characters without a pattern. */
  token?: string
  /**
   * Identifies the sender of a request, instead of tokens: for a program that already knows its users. Contract: awaited for every request
   * that needs a caller. Undefined or null means unknown: the response is 401. If it throws or rejects, the response is 401 too, and the
   * error is logged. It must not read the body.
   */
  authenticate?(request: Request): Caller | undefined | null | Promise<Caller | undefined | null>
  /**
   * Returns the `context` of tools, approvals and instructions: the user, the tenant, a database handle. Called when a run starts, and
   * again when it resumes after a decision; the value is not stored. `identity` is the run's owner: name, roles and tenant. `request` may
   * be from another caller, who decides, and is undefined if a run of an earlier process resumes automatically.
   *
   * Contract: awaited; must not read the body. If it throws or rejects, the error is logged and the response is 500, and nothing was
   * started. A run of an earlier process then waits, and the function is called again later. The same happens if it returns nothing for a
   * run that was started with a context.
   */
  context?(request: Request | undefined, identity: Caller): unknown
  /** Offers the tools and agents to MCP clients, at `/mcp`; true means `{}`. Default: the configuration's `service.mcp`. */
  mcp?: boolean | McpRouteOptions
  /** The prefix of every request path, such as `/agent`. Default: none, which fits a server that strips it, as `mount` does. */
  basePath?: string
  /**
   * Host names and allowed origins, in addition to the configuration's `service.hosts` and `service.origins`. Required if clients reach the
   * service by a name other than localhost. Use `*` if the server around it checks host names itself.
   */
  hosts?: readonly string[]
  origins?: readonly string[]
  bus?: EventBus
  logger?: Logger
  /**
   * Traces and metrics of requests and runs: the return value of `telemetry()` from `toolloop/telemetry`. Default: that of the
   * configuration.
   */
  telemetry?: Telemetry
  /** The variables to look up. Default: the process's environment. */
  env?: Readonly<Record<string, string | undefined>>
  /** The base of relative paths. Default: the working directory. */
  cwd?: string
  /**
   * Called when the configuration has changed, or a change was rejected. `config` is the one in effect, with environment variables filled
   * in. Contract: not awaited; an error it throws is logged.
   */
  onReload?(state: ConfigState, config: Config): void
  /** Overrides of the service's times, in milliseconds. Used by tests. */
  times?: Optional<ServiceTimes>
}

/** Intervals and timeouts of the service, in milliseconds. */
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
