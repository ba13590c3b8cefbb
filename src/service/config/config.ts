import type { LargeResultOptions, RunLimits } from '../../agent/types/options.ts'
import { InvalidOptionError, show, ToolloopError } from '../../core/errors.ts'
import { nearestName } from '../../core/nearest-name.ts'
import { findOnlyModel, type Providers } from '../../models/presets.ts'
import { nearestModel } from '../../models/price-list.ts'
import type { ModelSettings } from '../../models/settings.ts'
import type { McpServer } from '../../tools/mcp/server-config.ts'
import type { TokenEntry } from '../http/auth.ts'

/** The content of a `toolloop.yaml`. `config/toolloop.yaml` explains every field, and `config/toolloop.schema.json` is its schema. */
export interface Config {
  /** The model: a name from `models`, `provider/model`, or settings. */
  model?: string | ModelSettings
  /** Additional models, by name. */
  models?: Readonly<Record<string, string | ModelSettings>>
  providers?: Providers
  instructions?: string
  /** The agent loop that the command line uses. The service always uses `native`. */
  backend?: 'native' | 'langchain'
  tools?: ToolsConfig
  skills?: SkillsConfig
  mcp?: McpConfig
  limits?: LimitsConfig
  service?: ServiceConfig
  telemetry?: TelemetryConfig
  logging?: { level?: 'debug' | 'info' | 'warn' | 'error' | 'silent' }
}

/** The section `tools` of the configuration. */
export interface ToolsConfig {
  /** The names of the built-in tools to offer. `true` offers all built-in tools. */
  builtin?: boolean | readonly string[]
  /** The folder that the file tools may read. A relative path is resolved against the folder in which the service was started. */
  workspace?: string
  /** Names of tools whose calls need an approval. */
  approval?: readonly string[]
  /** Lets models write scripts that call the tools. Default false. */
  codeMode?: boolean | CodeModeConfig
}

/** The section `tools.codeMode` of the configuration. */
interface CodeModeConfig {
  /** Names of tools that models call directly, not from scripts. */
  keep?: readonly string[]
}

/** The section `skills`: Agent Skills. It may also contain those options of `loadSkills` that are plain data. */
export interface SkillsConfig {
  /**
   * The folders of Skills, or folders that contain such folders. Relative paths are resolved against the folder in which the service was
   * started.
   */
  paths?: readonly string[]
}

/** The section `mcp`: MCP servers. It may also contain those options of `connectMcpServers` that are plain data. */
export interface McpConfig {
  servers?: Readonly<Record<string, McpServer>>
}

/** The section `limits` of the configuration: limits that apply to each run. */
export interface LimitsConfig extends Omit<RunLimits, 'depth'> {
  maxIterations?: number
  toolTimeoutMs?: number
  toolConcurrency?: number
  maxResultBytes?: number
  largeResults?: boolean | LargeResultOptions
  streamIdleTimeoutMs?: number
  streamStallTimeoutMs?: number
}

/** The section `service` of the configuration: its address, tokens and limits. `config/toolloop.yaml` documents the fields. */
export interface ServiceConfig {
  host?: string
  port?: number
  hosts?: readonly string[]
  origins?: readonly string[]
  auth?: { tokens?: readonly TokenEntry[] }
  /** The names of the environment variables that may be added to the configuration over the API. */
  variables?: readonly string[]
  /** Addresses and ranges of proxies whose `x-forwarded-for` is trusted. */
  trustedProxies?: readonly string[]
  requestsPerMinute?: number
  concurrentRuns?: number
  openStreams?: number
  waitingRuns?: number
  waitingMegabytes?: number
  maxBodyBytes?: number
  /**
   * What happens if a request to the Responses API lists hosted tools (tools that a provider runs, such as `web_search`). `leaveOut`
   * ignores these tools, and logs a warning once for each type of tool. `refuse` rejects the request. Default `leaveOut`.
   */
  hostedTools?: 'leaveOut' | 'refuse'
  keepRuns?: {
    folder?: string
    count?: number
    minutes?: number
    megabytes?: number
    waitingDays?: number
    waitingMegabytes?: number
    recordingMegabytes?: number
  }
  /** Where runs are recorded. Default: `sqlite`, if `keepRuns.folder` is set. */
  journal?: JournalConfig
  drainSeconds?: number
  /** Whether to offer tools and agents to MCP clients, at `/mcp`. Default false. */
  mcp?: boolean | McpRouteConfig
}

/** The section `service.mcp` of the configuration: the tools and agents that MCP clients can use. */
export interface McpRouteConfig {
  /** Names of the tools to offer. Default: all tools that don't require an approval. */
  tools?: readonly string[]
  /**
   * The names of the agents to offer. Each agent becomes a tool named `ask_NAME`. `true` offers all agents. Default: true, or false if the
   * service has only the route `/mcp`.
   */
  agents?: boolean | readonly string[]
  /** Instructions about the server, which MCP clients may pass to their models. */
  instructions?: string
}

/**
 * The section `telemetry` of the configuration: where to send traces and metrics. An empty object uses the standard environment variables
 * (`OTEL_…`).
 */
interface TelemetryConfig {
  endpoint?: string
  headers?: Readonly<Record<string, string>>
  metrics?: boolean
  content?: boolean
  semconv?: 'latest' | '1.37'
  metadata?: readonly string[]
}

/**
 * The section `service.journal` of the configuration. `sqlite` records runs in a file in `keepRuns.folder`. `dbos` records runs in a
 * PostgreSQL database that several machines can share.
 */
type JournalConfig = { kind: 'sqlite' } | { kind: 'dbos'; url: string; schema?: string; connections?: number }

/** Returns the configured model. For a name from `models`, returns the settings under that name. */
export function findModel({ model, models = {} }: Config): string | ModelSettings | undefined {
  return typeof model === 'string' && Object.hasOwn(models, model) ? models[model] : model
}

/** Throws `invalid_option` if a name has no provider and is not in `models`. `from` says in the message where the name comes from. */
export function checkModelName(name: string, from: string, { models = {} }: Pick<Config, 'models'>): void {
  const configured = Object.keys(models)
  if (configured.length === 0 || name.includes('/') || findOnlyModel(name) !== undefined) return
  const meant = nearestName(name, configured) ?? nearestModel(name)
  const expected = `Expected ${from} to name a model as 'provider/model', or one of \`models\` (${configured.join(', ')})`
  throw new ToolloopError(
    'invalid_option',
    `${expected}, got \`${show(name)}\`${meant === undefined ? '' : ` (did you mean \`${meant}\`?)`}`,
  )
}

/** A prepared configuration. It takes effect when `commit` is called. */
export interface PreparedConfig {
  /** Applies the configuration. Must not throw. */
  commit(): void
  /** Closes everything that was opened for this configuration. */
  discard(): Promise<void>
}

/** Converts a configuration to the text of a configuration file. Throws `invalid_option` for a value that can't be written to a file. */
export function asText(config: Config): string {
  const plain = (key: string, value: unknown): unknown => {
    if (typeof value === 'function' || typeof value === 'bigint' || typeof value === 'symbol')
      throw new InvalidOptionError(`config…${key}`, 'plain data', value)
    return value
  }
  return JSON.stringify(config, plain, 2)
}
