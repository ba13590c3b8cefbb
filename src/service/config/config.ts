import type { LargeResultOptions, RunLimits } from '../../agent/types/options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { Providers } from '../../models/presets.ts'
import type { ModelSettings } from '../../models/settings.ts'
import type { McpServer } from '../../tools/mcp/server-config.ts'
import type { TokenEntry } from '../http/auth.ts'

/** The content of a `toolloop.yaml`. `config/toolloop.yaml` explains every field, `config/toolloop.schema.json` is its schema. */
export interface Config {
  /** A name of `models`, `provider/model`, or settings. */
  model?: string | ModelSettings
  /** Further models by name. */
  models?: Readonly<Record<string, string | ModelSettings>>
  providers?: Providers
  instructions?: string
  /** Which loop drives the runs of the command line; those of the service are always on the native one. */
  backend?: 'native' | 'langchain'
  tools?: ToolsConfig
  skills?: SkillsConfig
  mcp?: McpConfig
  limits?: LimitsConfig
  service?: ServiceConfig
  telemetry?: TelemetryConfig
  logging?: { level?: 'debug' | 'info' | 'warn' | 'error' | 'silent' }
}

/** `tools` of the configuration. */
export interface ToolsConfig {
  /** Names of built-in tools; true: all of them. */
  builtin?: boolean | readonly string[]
  /** The folder the file tools may read, from where the service was started. */
  workspace?: string
  /** Names of tools whose calls need an approval. */
  approval?: readonly string[]
  /** Models write scripts that call the tools. Default false. */
  codeMode?: boolean | CodeModeConfig
}

/** `tools.codeMode` of the configuration. */
interface CodeModeConfig {
  /** Names of the tools that models call themselves. */
  keep?: readonly string[]
}

/** Agent Skills. What else `loadSkills` takes as plain data may stand beside it, and is checked there. */
export interface SkillsConfig {
  /** Skill folders, or folders of them, from where the service was started. */
  paths?: readonly string[]
}

/** MCP servers. What else `connectMcpServers` takes as plain data may stand beside it, and is checked there. */
export interface McpConfig {
  servers?: Readonly<Record<string, McpServer>>
}

/** `limits` of the configuration: the limits of every run. */
export interface LimitsConfig extends Omit<RunLimits, 'depth'> {
  maxIterations?: number
  toolTimeoutMs?: number
  toolConcurrency?: number
  maxResultBytes?: number
  largeResults?: boolean | LargeResultOptions
  streamIdleTimeoutMs?: number
  streamStallTimeoutMs?: number
}

/** `service` of the configuration: its address, tokens and limits. */
export interface ServiceConfig {
  host?: string
  port?: number
  hosts?: readonly string[]
  origins?: readonly string[]
  auth?: { tokens?: readonly TokenEntry[] }
  /** Variables of the environment that may be named over the API. */
  variables?: readonly string[]
  /** Addresses and ranges whose `x-forwarded-for` is believed. */
  trustedProxies?: readonly string[]
  requestsPerMinute?: number
  concurrentRuns?: number
  openStreams?: number
  waitingRuns?: number
  waitingMegabytes?: number
  maxBodyBytes?: number
  /** What becomes of tools in a Responses request that only their provider could run. Default `leaveOut`, with a warning. */
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
  /** The tools and agents over MCP, at `/mcp`. Default false. */
  mcp?: boolean | McpRouteConfig
}

/** `service.mcp` in the configuration: what MCP clients can use. */
export interface McpRouteConfig {
  /** Names of tools. Default: all that need no approval. */
  tools?: readonly string[]
  /** Names of agents, each offered as a tool `ask_NAME`; true: all. Default true, but where nothing else than `/mcp` is served. */
  agents?: boolean | readonly string[]
  /** What a client may tell its model of them. */
  instructions?: string
}

/** `telemetry` of the configuration: where traces and metrics go. Empty: where the standard variables (`OTEL_…`) say. */
interface TelemetryConfig {
  endpoint?: string
  headers?: Readonly<Record<string, string>>
  metrics?: boolean
  content?: boolean
  semconv?: 'latest' | '1.37'
  metadata?: readonly string[]
}

/** `service.journal` of the configuration: in `keepRuns.folder`, or in a database that several machines share. */
type JournalConfig = { kind: 'sqlite' } | { kind: 'dbos'; url: string; schema?: string; connections?: number }

/** A model's settings in the configuration, wherever they come from; a name of `models` stands for what is there. */
export function findModel({ model, models = {} }: Config): string | ModelSettings | undefined {
  return typeof model === 'string' && Object.hasOwn(models, model) ? models[model] : model
}

/** A configuration made ready, which changes nothing before it is committed. */
export interface PreparedConfig {
  /** Must not throw. */
  commit(): void
  /** Gives up what was opened for it. */
  discard(): Promise<void>
}

/** A configuration as the text of a file. Throws `invalid_option` for a value that can't be written to a file. */
export function asText(config: Config): string {
  const plain = (key: string, value: unknown): unknown => {
    if (typeof value === 'function' || typeof value === 'bigint' || typeof value === 'symbol')
      throw new InvalidOptionError(`config…${key}`, 'plain data', value)
    return value
  }
  return JSON.stringify(config, plain, 2)
}
