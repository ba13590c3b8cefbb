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
  /** The path of the configuration file. The service watches the file, which need not exist yet. Default: no file. */
  configFile?: string
  /**
   * The configuration as a plain object with the same fields as the file. Can't be combined with `configFile`. It can't be changed while
   * the service runs.
   */
  config?: Config
  /** The model to use if the configuration names no model. Default `'demo'`. */
  model?: AnyModel
  /** Whether `model` is used even if the configuration names another model. Default false. */
  modelIsFixed?: boolean
  /** Tools to offer in addition to the tools of the configuration. If you pass a registry, you may change it while the service runs. */
  tools?: readonly AnyTool[] | ToolRegistry
  /**
   * Names of the built-in tools to use if the configuration doesn't set `tools.builtin`. Default: none. `toolloop serve` passes `calculate`
   * and `current_time`.
   */
  builtinTools?: readonly string[]
  /** Hooks, guardrails and other options for the runner. The configuration's `limits` and `instructions` override them. */
  agent?: AgentOptions
  /**
   * A token with all roles. It is accepted in addition to the tokens of the configuration. It must have at least 16 characters and no
   * recognizable pattern.
   */
  token?: string
  /**
   * Identifies the sender of a request. Use it instead of tokens in a program that already authenticates its users. Contract: called and
   * awaited for every request that requires authentication. If the function returns undefined or null, the response is 401. If it throws or
   * rejects, the response is also 401, and the error is logged. The function must not read the body of the request.
   */
  authenticate?(request: Request): Caller | undefined | null | Promise<Caller | undefined | null>
  /**
   * Returns the `context` that is passed to tools, approvals and instructions, such as the user, the tenant or a database handle. Called
   * when a run starts, and again when the run resumes after a decision, because the value is not stored. `identity` has the name, roles and
   * tenant of the run's owner. `request` starts or resumes the run, and another caller may have sent it. `request` is undefined if a run of
   * an earlier process resumes automatically.
   *
   * Contract: awaited; must not read the body. If the function throws or rejects, the error is logged, the response is 500, and no run is
   * started or resumed. A run of an earlier process resumes only after the function succeeds: the service calls it again later. For a run
   * that was started with a context, undefined counts as a failure.
   */
  context?(request: Request | undefined, identity: Caller): unknown
  /** Whether to offer the tools and agents to MCP clients, at `/mcp`. `true` means `{}`. Default: the configuration's `service.mcp`. */
  mcp?: boolean | McpRouteOptions
  /**
   * The prefix of all request paths, such as `/agent`. It is not needed if the surrounding server removes the prefix, as Hono's `mount`
   * does. Default: no prefix.
   */
  basePath?: string
  /**
   * The host names of the service and the allowed origins, in addition to the configuration's `service.hosts` and `service.origins`. They
   * are required if clients reach the service by a name other than localhost. Use `*` if the surrounding server checks host names itself.
   */
  hosts?: readonly string[]
  origins?: readonly string[]
  bus?: EventBus
  logger?: Logger
  /**
   * The telemetry that exports traces and metrics of requests and runs. Pass the return value of `telemetry()` from `toolloop/telemetry`.
   * Default: the telemetry settings of the configuration.
   */
  telemetry?: Telemetry
  /** The environment variables to read. Default: the environment of the process. */
  env?: Readonly<Record<string, string | undefined>>
  /** The folder against which relative paths are resolved. Default: the working directory. */
  cwd?: string
  /**
   * Called after a change of the configuration was applied, or after a change of the file was rejected. `config` is the configuration in
   * effect, with environment variables substituted. Contract: not awaited; if the function throws, the error is logged.
   */
  onReload?(state: ConfigState, config: Config): void
  /** Overrides the intervals and timeouts of the service, for tests. */
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

/** Checks the options of a service. Throws `invalid_option`. */
export function checkServiceOptions(options: ServiceOptions): void {
  checkOptionNames(options, optionNames, '`createService`')
  checkOptionNames(options.times ?? {}, timeNames, '`createService`', 'times')
  checkOptionNames(options.agent ?? {}, agentOptionNames, "a service's agent", 'agent')
  checkMcpOptions(options)
}
