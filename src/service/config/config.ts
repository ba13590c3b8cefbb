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
  /** A name from `models`, `provider/model`, or settings. */
  model?: string | ModelSettings
  /** Additional models, by name. */
  models?: Readonly<Record<string, string | ModelSettings>>
  providers?: Providers
  instructions?: string
  /** The loop that executes the runs of the command line. The service always uses the native one. */
  backend?: 'native' | 'langchain'
  tools?: ToolsConfig
  skills?: SkillsConfig
  mcp?: McpConfig
  limits?: LimitsConfig
  service?: ServiceConfig
  telemetry?: TelemetryConfig
  logging?: { level?: 'debug' | 'info' | 'warn' | 'error' | 'silent' }
}

/** `tools` in the configuration. */
export interface ToolsConfig {
  /** Names of built-in tools; true: all. */
  builtin?: boolean | readonly string[]
  /** The folder that the file tools may read, relative to where the service was started. */
  workspace?: string
  /** Names of tools whose calls need an approval. */
  approval?: readonly string[]
  /** Lets models write scripts that call the tools. Default false. */
  codeMode?: boolean | CodeModeConfig
}

/** `tools.codeMode` in the configuration. */
interface CodeModeConfig {
  /** Names of tools that models call directly. */
  keep?: readonly string[]
}

/** Agent Skills. Other plain-data options of `loadSkills` are also accepted, and checked by it. */
export interface SkillsConfig {
  /** Skill folders, or folders of Skill folders, relative to where the service was started. */
  paths?: readonly string[]
}

/** MCP servers. Other plain-data options of `connectMcpServers` are also accepted, and checked by it. */
export interface McpConfig {
  servers?: Readonly<Record<string, McpServer>>
}

/** `limits` in the configuration: the limits of every run. */
export interface LimitsConfig extends Omit<RunLimits, 'depth'> {
  maxIterations?: number
  toolTimeoutMs?: number
  toolConcurrency?: number
  maxResultBytes?: number
  largeResults?: boolean | LargeResultOptions
  streamIdleTimeoutMs?: number
  streamStallTimeoutMs?: number
}

/** `service` in the configuration: its address, tokens and limits. */
export interface ServiceConfig {
  host?: string
  port?: number
  hosts?: readonly string[]
  origins?: readonly string[]
  auth?: { tokens?: readonly TokenEntry[] }
  /** The environment variables that a change over the API may name. */
  variables?: readonly string[]
  /** Addresses and ranges of proxies whose `x-forwarded-for` is trusted. */
  trustedProxies?: readonly string[]
  requestsPerMinute?: number
  concurrentRuns?: number
  openStreams?: number
  waitingRuns?: number
  waitingMegabytes?: number
  maxBodyBytes?: number
  /** How to treat tools in a Responses request that only their provider can run. Default `leaveOut`, with a warning. */
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
  /** Where runs are recorded. Default: `sqlite`, if `keepRuns` names a folder. */
  journal?: JournalConfig
  drainSeconds?: number
  /** Serves the tools and agents over MCP, at `/mcp`. Default false. */
  mcp?: boolean | McpRouteConfig
}

/** `service.mcp` in the configuration: what MCP clients can use. */
export interface McpRouteConfig {
  /** Names of tools. Default: all that need no approval. */
  tools?: readonly string[]
  /** Names of agents, each offered as a tool `ask_NAME`; true: all. Default: true, or false if only `/mcp` is served. */
  agents?: boolean | readonly string[]
  /** Instructions that a client may pass to its model. */
  instructions?: string
}

/** `telemetry` in the configuration: where traces and metrics are sent. If empty, the standard variables (`OTEL_…`) apply. */
interface TelemetryConfig {
  endpoint?: string
  headers?: Readonly<Record<string, string>>
  metrics?: boolean
  content?: boolean
  semconv?: 'latest' | '1.37'
  metadata?: readonly string[]
}

/** `service.journal` in the configuration: in `keepRuns.folder`, or in a database that several machines share. */
type JournalConfig = { kind: 'sqlite' } | { kind: 'dbos'; url: string; schema?: string; connections?: number }

/** Returns the settings of the configured model. A name is looked up in `models`. */
export function findModel({ model, models = {} }: Config): string | ModelSettings | undefined {
  return typeof model === 'string' && Object.hasOwn(models, model) ? models[model] : model
}

/**
 * Throws `invalid_option` for a name without a provider that is not in `models`, if there are others. Without them, `createModel` refuses
 * it. `from`: what names the model.
 */
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

/** A prepared configuration, which changes nothing until it is committed. */
export interface PreparedConfig {
  /** Applies the configuration. Must not throw. */
  commit(): void
  /** Closes everything that was opened for it. */
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
