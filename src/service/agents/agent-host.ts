import { resolve } from 'node:path'
import { AgentRunner } from '../../agent/agent-runner.ts'
import type { Telemetry } from '../../agent/observe/telemetry.ts'
import { runnerOptions } from '../../agent/options/runner-options.ts'
import { warnOfDeprecated } from '../../agent/options.ts'
import type { RunLimits, RunnerOptions } from '../../agent/types/options.ts'
import { codeMode } from '../../code-mode/index.ts'
import type { EventBus } from '../../core/callbacks/event-bus.ts'
import type { OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError, messageOf } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import { withoutUndefined } from '../../core/messages.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { type SwitchableModel, switchableModel } from '../../models/combined/switchable.ts'
import { type AnyModel, createModel } from '../../models/create-model.ts'
import { findPreset } from '../../models/presets.ts'
import { workspaceOf } from '../../tools/builtin/files/workspace.ts'
import { ToolDispatcher } from '../../tools/dispatcher.ts'
import type { McpServerStatus } from '../../tools/mcp/client/server-status.ts'
import { ToolRegistry, type ToolSet, ToolView } from '../../tools/registry.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { type Config, checkModelName, findModel, type PreparedConfig } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { blamingRequest, HttpProblem, pointerTo } from '../http/problem.ts'
import { maxArgumentValues } from '../max-argument-values.ts'
import { openClientTool } from './client-tools.ts'
import { type FoundSkills, type OpenedTools, openTools, toolsKey } from './open-tools.ts'

/** The name that clients use for the agent that runs on the current model. */
export const defaultAgent = 'toolloop'

/** The options of a runner that the embedding program may set; the service sets the rest. */
export type AgentOptions = Omit<RunnerOptions, 'model' | 'models' | 'tools' | 'bus' | 'logger' | 'journal' | 'restore' | 'approve'>

const {
  model: _model,
  models: _models,
  tools: _tools,
  bus: _bus,
  logger: _logger,
  journal: _journal,
  restore: _restore,
  approve: _approve,
  ...names
} = runnerOptions
export const agentOptionNames: OptionNames<AgentOptions> = names

/** The service's tools and instructions, combined with one of its models. */
export interface Agent {
  readonly name: string
  readonly model: SwitchableModel
  readonly runner: AgentRunner
  readonly options: Omit<RunnerOptions, 'model'>
}

interface HostedAgent extends Agent {
  /** Changes if the settings of the model change. */
  modelKey: unknown
  settingsKey: string
}

/** The limits of every run. If a field is absent, the runner's default applies. */
export type RunBoundsOfAll = Pick<RunnerOptions, 'maxIterations'> & RunLimits

interface HostParts {
  /** The model to use if the configuration names no model. */
  model: AnyModel
  /** Whether `model` is used even if the configuration names another model. */
  modelIsFixed: boolean
  registry: ToolRegistry
  /** The built-in tools to use if the configuration names no built-in tools. */
  builtinTools: readonly string[]
  options: AgentOptions
  /** Returns the telemetry to use if the program passes none. */
  telemetry(): Telemetry | undefined
  /** The values of environment variables that must never be shown to clients. */
  secrets: Iterable<string>
  bus: EventBus
  logger: Logger
  cwd: string
  /** The path of the configuration file. */
  configFile?: string
}

/** The agents of the service. The configuration may change while runs are in progress. These runs keep their models. */
export class AgentHost {
  /** All tools: the program's own, and the configured ones. */
  readonly tools: ToolDispatcher
  readonly #parts: HostParts
  /** The folder of the stored runs, which can't change before a restart. Null until the first configuration takes effect. */
  #runsFolder: string | undefined | null = null
  #agents = new Map<string, HostedAgent>()
  #bounds: RunBoundsOfAll = {}
  #offered: ToolSet
  #opened: { key: string; tools: OpenedTools; users: number; retired: boolean } | undefined

  constructor(parts: HostParts) {
    this.#parts = parts
    this.tools = new ToolDispatcher([{ kind: 'registered', tools: parts.registry }], { logger: parts.logger })
    this.#offered = this.tools
  }

  /** The values of environment variables that must never be shown to clients. */
  get secrets(): Iterable<string> {
    return this.#parts.secrets
  }

  get maxArgumentValues(): number {
    return this.#parts.options.maxArgumentValues ?? maxArgumentValues
  }

  get agents(): readonly Agent[] {
    return [...this.#agents.values()]
  }

  /**
   * The limits of each run. They come from the configuration or, if the configuration sets none, from the program. A request can only lower
   * them.
   */
  get bounds(): RunBoundsOfAll {
    return this.#bounds
  }

  get skills(): FoundSkills {
    return this.#opened?.tools.skills ?? { skills: [], problems: [] }
  }

  get mcpServers(): readonly McpServerStatus[] {
    return this.#opened?.tools.servers() ?? []
  }

  /** Returns the agent with this name. Throws an `HttpProblem` 404 for an unknown name. */
  agent(name: string): Agent {
    const agent = this.#agents.get(name)
    if (agent !== undefined) return agent
    const names = [...this.#agents.keys()].join(', ')
    throw new HttpProblem(404, 'model_not_found', `Unknown model. Available: ${names}`, { param: 'model' })
  }

  /** Prepares a configuration. Rejects with a `ConfigError` if it is invalid. Nothing changes until `commit` is called. */
  async prepare(config: Config, signal: AbortSignal): Promise<PreparedConfig> {
    const { cwd, configFile, builtinTools, logger } = this.#parts
    // Fast checks run before any tool is started.
    this.#prepareAgents(config, '')
    const { folder } = config.service?.keepRuns ?? {}
    const runsFolder = folder === undefined ? undefined : resolve(cwd, folder)
    // A changed runs folder takes effect only after a restart, so tools must read neither the old folder nor the new one.
    const ownFiles = [...new Set([configFile, this.#runsFolder, runsFolder])].filter((path) => typeof path === 'string')
    this.#checkOwnTools(ownFiles)
    const key = toolsKey(config, ownFiles)
    const tools = key === this.#opened?.key ? undefined : await openTools(config, { cwd, ownFiles, builtinTools, logger, signal })
    let agents: (() => HostedAgent)[]
    try {
      agents = this.#prepareAgents(config, (tools ?? this.#opened?.tools)?.instructions ?? '')
    } catch (error) {
      await tools?.close()
      throw error
    }
    return {
      commit: () => {
        if (this.#runsFolder === null) this.#runsFolder = runsFolder
        if (tools !== undefined) this.#replaceTools(key, tools)
        const { maxIterations, limits } = this.#optionsOf(config, '')
        this.#offered = this.#offeredBy(config)
        this.#bounds = { ...limits, ...withoutUndefined({ maxIterations }) }
        this.#agents = new Map(agents.map((commit) => commit()).map((agent) => [agent.name, agent]))
      },
      discard: async () => tools?.close(),
    }
  }

  /** Keeps the current tools open until the returned function is called. */
  leaseTools(): () => void {
    const opened = this.#opened
    if (opened === undefined) return () => {}
    opened.users++
    return () => {
      opened.users--
      this.#closeUnused(opened)
    }
  }

  /**
   * Returns the agent's tools and the client's tools. A client tool replaces an agent tool with the same name. Rejects with an
   * `HttpProblem` 400 if a client tool is invalid.
   */
  async toolsFor(clientTools: readonly AnyTool[]): Promise<ToolSet> {
    if (clientTools.length === 0) return this.#offered
    const opened: AnyTool[] = []
    for (const tool of clientTools) opened.push(await openClientTool(tool))
    const client = blamingRequest(() => new ToolRegistry(opened))
    return new ToolView(this.#offered, { only: this.#offered.names().filter((name) => !client.has(name)), also: client.list() })
  }

  /** Returns the tools to display: the agent's tools and the client's tools. A client tool replaces an agent tool with the same name. */
  toolsNamed(clientTools: readonly AnyTool[]): readonly AnyTool[] {
    if (clientTools.length === 0) return this.tools.list()
    const names = new Set(clientTools.map(({ name }) => name))
    return [...this.tools.list().filter(({ name }) => !names.has(name)), ...clientTools]
  }

  /** Closes the tools of the configuration, even if they are in use. */
  async close(): Promise<void> {
    await this.#opened?.tools.close()
  }

  /** Throws `invalid_option` if a tool of the program could read the service's own files. */
  #checkOwnTools(ownFiles: readonly string[]): void {
    for (const tool of this.#parts.registry.list()) {
      const open = ownFiles.find((path) => workspaceOf(tool)?.exposes(path))
      if (open !== undefined)
        throw new InvalidOptionError(
          'tools',
          `file tools that deny the service's own files: pass them as \`refused\``,
          `${tool.name}, which can read ${open}`,
        )
    }
  }

  #prepareAgents(config: Config, ofTools: string): (() => HostedAgent)[] {
    // Checks every provider, even if no model uses it yet.
    for (const name of Object.keys(config.providers ?? {}))
      inConfig(pointerTo('/providers', name), () => findPreset(name, config.providers))
    const options = this.#optionsOf(config, ofTools)
    const { logger } = this.#parts
    const settingsKey = JSON.stringify([config.limits, config.instructions, config.tools?.codeMode, ofTools])
    const wanted: [name: string, model: AnyModel, path: string][] = [
      [defaultAgent, (this.#parts.modelIsFixed ? undefined : findModel(config)) ?? this.#parts.model, '/model'],
      ...Object.entries(config.models ?? {}).map(([name, model]): [string, AnyModel, string] => [name, model, `/models/${name}`]),
    ]
    return wanted.map(([name, given, path]) => {
      const modelKey = modelKeyOf(given, config)
      const current = this.#agents.get(name)
      const keepsModel = current !== undefined && current.modelKey === modelKey
      return inConfig(path, () => {
        if (path === '/model' && typeof given === 'string' && given === config.model) checkModelName(given, '`model`', config)
        const model = keepsModel ? current.model.current : openModelOf(given, config)
        if (keepsModel && current.settingsKey === settingsKey) return () => current
        // The constructor throws if the settings are invalid.
        new AgentRunner({ ...options, model }, undefined, { warns: false })
        if (current !== undefined && current.settingsKey === settingsKey) {
          return () => {
            current.model.switchTo(model)
            warnOfDeprecated(model, logger)
            return { ...current, modelKey }
          }
        }
        return () => {
          const switchable = current?.model ?? switchableModel(model)
          switchable.switchTo(model)
          const runner = new AgentRunner({ ...options, model: switchable })
          return { name, model: switchable, runner, options, modelKey, settingsKey }
        }
      })
    })
  }

  /** Returns the tools to offer to models. Throws a `ConfigError` if the options of the code mode are invalid. */
  #offeredBy({ tools: { codeMode: mode = false } = {} }: Config): ToolSet {
    return mode === false ? this.tools : inConfig('/tools/codeMode', () => codeMode(this.tools, mode === true ? {} : mode))
  }

  #optionsOf(config: Config, ofTools: string): RunnerOptions {
    const { limits = {}, instructions: own } = config
    const { deadlineMs, tokens, costUsd, toolCalls, repeatedCalls, repeatWindow, ...bounds } = limits
    const { options, bus, logger } = this.#parts
    const telemetry = this.#parts.telemetry()
    const instructions = withInstructions(own ?? options.instructions, ofTools)
    const given = Object.entries({ deadlineMs, tokens, costUsd, toolCalls, repeatedCalls, repeatWindow }).filter(
      ([, limit]) => limit !== undefined,
    )
    return {
      telemetry,
      ...options,
      maxArgumentValues: this.maxArgumentValues,
      ...bounds,
      limits: { ...options.limits, ...Object.fromEntries(given) },
      ...withoutUndefined({ instructions }),
      tools: this.#offeredBy(config),
      bus,
      logger,
    }
  }

  #replaceTools(key: string, tools: OpenedTools): void {
    const old = this.#opened
    // Runs in progress use the new tools from their next turn.
    this.tools.replace([{ kind: 'registered', tools: this.#parts.registry }, ...tools.sources])
    this.#opened = { key, tools, users: 0, retired: false }
    if (old !== undefined) this.#retire(old)
  }

  #retire(opened: { tools: OpenedTools; users: number; retired: boolean }): void {
    opened.retired = true
    this.#closeUnused(opened)
  }

  #closeUnused({ retired, users, tools }: { tools: OpenedTools; users: number; retired: boolean }): void {
    if (!retired || users > 0) return
    tools.close().catch((error: unknown) => this.#parts.logger.error({ error }, 'tools could not be closed'))
  }
}

/** Returns the data that determines a model: its settings, and its provider's section of the configuration. */
function modelKeyOf(model: AnyModel, { providers = {} }: Config): unknown {
  if (typeof model === 'object' && 'generate' in model) return model
  const provider = typeof model === 'string' ? (model.split('/')[0] ?? '') : model.provider
  return JSON.stringify([model, Object.hasOwn(providers, provider) ? providers[provider] : null])
}

function openModelOf(model: AnyModel, { providers }: Config): ChatModel {
  if (typeof model === 'object' && 'generate' in model) return model
  return createModel(model, providers === undefined ? {} : { providers })
}

/** Calls `make`. Converts its error to a `ConfigError` that names the invalid setting. */
function inConfig<T>(path: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new ConfigError('The configuration', [{ path: pathOf(error, path), message: messageOf(error) }], error)
  }
}

/** Extracts the name of the invalid setting from an error message. Returns `otherwise` if the message names no setting. */
function pathOf(error: unknown, otherwise: string): string {
  const [, option = ''] = /^Expected `([\w.]+)/.exec(messageOf(error)) ?? []
  if (option.startsWith('providers.')) return `/${option.split('.').slice(0, 2).join('/')}`
  if (/^largeResults\b/.test(option)) return `/limits/${option.replace('.', '/')}`
  if (option.startsWith('limits.')) return `/${option.replace('.', '/')}`
  return otherwise
}

/** Appends the instructions of the tools to the agent's own instructions. */
function withInstructions(own: RunnerOptions['instructions'], ofTools: string): RunnerOptions['instructions'] {
  if (ofTools === '' || own === undefined) return own ?? (ofTools === '' ? undefined : ofTools)
  if (typeof own === 'string') return `${own}\n\n${ofTools}`
  return async (input) => [await own(input), ofTools].filter((text) => text !== undefined && text !== '').join('\n\n')
}
