import { resolve } from 'node:path'
import type { Telemetry } from '../agent/observe/telemetry.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { EventBus } from '../core/events.ts'
import { removeLeftBehind } from '../core/files/replace-file.ts'
import { defaultLogger, type Logger, redacting } from '../core/logger.ts'
import { checkOptionNames, type OptionNames } from '../core/option-names.ts'
import type { AnyModel } from '../models/create-model.ts'
import type { SwitchableModel } from '../models/middleware/switchable.ts'
import { ToolRegistry } from '../tools/registry.ts'
import { openInTurns } from '../tools/schema/schema.ts'
import type { AnyTool } from '../tools/tool.ts'
import { AgentHost, type AgentOptions, agentOptionNames, defaultAgent } from './agents/agent-host.ts'
import { createApp } from './app.ts'
import { asText, type Config, type PreparedConfig } from './config/config.ts'
import { ConfigSource, type ConfigState } from './config/config-source.ts'
import { ConfigError } from './config/parse-config.ts'
import { addressOf, TrustedProxies } from './http/address.ts'
import { type Caller, type ContextOf, newToken, TokenAuth } from './http/auth.ts'
import type { OriginRules } from './http/check-origin.ts'
import { RateLimiter } from './http/rate-limit.ts'
import { SseStreams } from './http/sse.ts'
import { Metrics } from './metrics.ts'
import { observeRuns, observeService } from './observe-runs.ts'
import { RunRecordings } from './recordings/run-recordings.ts'
import { KeptResponses } from './responses/kept-responses.ts'
import { RunStore } from './runs/run-store.ts'
import { limitProblems, readLimits, type ServiceLimits } from './service-limits.ts'
import { type ServiceTimes, timeNames } from './service-times.ts'
import { TelemetrySource } from './telemetry-source.ts'

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
  /** A token with both roles, besides those of the configuration: at least 16 characters without a pattern. */
  token?: string
  /**
   * Identifies the sender of a request, in place of tokens: for a program that knows its users already. Undefined or null: unknown, the
   * answer is 401. If it throws or rejects, the answer is 401 too, and the error is logged. It must not read the body.
   */
  authenticate?(request: Request): Caller | undefined | null | Promise<Caller | undefined | null>
  /**
   * What tools, approvals and instructions get as their `context`: the user, the tenant, a database handle. Asked when a run begins, and again
   * when it goes on after a decision; it is not stored. `identity` is the run's owner, by name and roles; `request` may be of somebody else who
   * decides, and is undefined where a run of an earlier process goes on by itself. It must not read the body. If it throws or rejects, the answer is 500, the error is logged, and nothing has happened.
   */
  context?(request: Request | undefined, identity: Caller): unknown
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
  times?: Partial<ServiceTimes>
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

/** A running service, to be mounted in any server that speaks `fetch`, or given to `listen`. */
export interface Service {
  /** Answers a request; never rejects. `from`: the server's own view of the connection, as Hono passes it; its address is logged. */
  readonly fetch: (request: Request, from?: unknown) => Promise<Response>
  /** Rejects if the configuration is invalid; nothing is served then. */
  readonly ready: Promise<void>
  /** The current model: changes as the configuration does. */
  readonly model: SwitchableModel
  /** The program's own tools; those of the configuration are not among them. */
  readonly registry: ToolRegistry
  readonly bus: EventBus
  readonly logger: Logger
  /** What the configuration says now, defaults filled in. */
  readonly limits: ServiceLimits
  /** The token that was generated because none was configured; undefined if one was. */
  readonly initialToken: string | undefined
  /** Refuses new work, lets runs finish for at most so many milliseconds, aborts the others, closes streams and files. */
  drain(timeoutMs?: number): Promise<void>
}

/**
 * Makes a service of an agent: an API compatible with OpenAI's, one for runs, and one for administration; `/openapi.json` has it all.
 * The configuration may change while it runs. Throws `invalid_option` or `invalid_tool`; a broken configuration file rejects `ready`.
 *
 * ```ts
 * const service = createService({ model: 'openai/gpt-5.2', tools: [weather], token: process.env.MY_TOKEN })
 * await service.ready
 * app.mount('/agent', service.fetch)
 * ```
 *
 * Request paths begin with `/v1`, `/admin` and so on; where the server that it is mounted in does not take away what is before that, as `mount`
 * does, name it in `basePath`. Servers of Node.js take it as `nodeHandler(service)`. Name the host in `hosts`.
 * Call `drain` when the program ends.
 */
export function createService(options: ServiceOptions = {}): Service {
  checkOptionNames(options, optionNames, '`createService`')
  checkOptionNames(options.times ?? {}, timeNames, '`createService`', 'times')
  checkOptionNames(options.agent ?? {}, agentOptionNames, "a service's agent", 'agent')
  return new AgentService(options)
}

const defaultTimes: ServiceTimes = { debounceMs: 100, pollMs: 5_000, heartbeatMs: 15_000, stallMs: 30_000 }
/** How long aborted runs may take to settle and send their last events. */
const afterAbortMs = 2_000

class AgentService implements Service {
  readonly ready: Promise<void>
  readonly registry: ToolRegistry
  readonly bus: EventBus
  readonly logger: Logger
  readonly initialToken: string | undefined
  readonly #host: AgentHost
  readonly #config: ConfigSource
  readonly #runs: RunStore
  readonly #responses: KeptResponses
  readonly #streams: SseStreams
  readonly #auth: TokenAuth
  readonly #limiter: RateLimiter
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #app: (request: Request, address: string | undefined) => Promise<Response>
  readonly #ownRules: OriginRules
  readonly #telemetry: TelemetrySource
  #limits: ServiceLimits = readLimits({})
  #proxies = new TrustedProxies()
  #draining = false
  #drained: Promise<void> | undefined

  constructor(options: ServiceOptions) {
    const { configFile, config, model = 'demo', tools = [], builtinTools = [], agent = {}, token, cwd = process.cwd(), times } = options
    const { basePath = '' } = options
    if (!/^(\/[\w.~-]+)*$/.test(basePath)) throw new InvalidOptionError('basePath', 'a path such as `/agent`', basePath)
    if (configFile !== undefined && config !== undefined)
      throw new InvalidOptionError('config', 'absent when `configFile` is given', config)
    this.#env = options.env ?? process.env
    this.#ownRules = { hosts: options.hosts ?? [], origins: options.origins ?? [] }
    this.logger = options.logger === undefined ? defaultLogger : redacting(options.logger)
    this.bus = options.bus ?? new EventBus((error, event) => this.logger.error({ error, event }, 'event listener failed'))
    this.registry = tools instanceof ToolRegistry ? tools : new ToolRegistry(tools)
    this.#telemetry = new TelemetrySource(options.telemetry, this.#env, this.logger)
    const metrics = new Metrics()
    const recordings = new RunRecordings(this.#env, () => this.#limits.keepRuns.recordingCharacters)
    const { heartbeatMs, stallMs, ...watchTimes } = { ...defaultTimes, ...times }
    this.initialToken = token === undefined && options.authenticate === undefined ? newToken() : undefined
    const always = [token, this.initialToken].flatMap((one) => (one === undefined ? [] : [{ caller: operator, token: one }]))
    this.#auth = new TokenAuth(always)
    const file = configFile === undefined ? undefined : resolve(cwd, configFile)
    this.#limiter = new RateLimiter(this.#limits)
    const dropped = metrics.counter('toolloop_streams_dropped_total', 'Event streams whose reader was too slow.')
    this.#streams = new SseStreams({ heartbeatMs, stallMs }, (reason) => {
      dropped({ reason })
      this.logger.warn({ reason }, 'the reader of an event stream was dropped')
    })
    this.#host = new AgentHost({
      model,
      modelIsFixed: options.modelIsFixed === true,
      registry: this.registry,
      builtinTools,
      options: agent,
      telemetry: () => this.#telemetry.current,
      bus: this.bus,
      logger: this.logger,
      cwd,
      configFile: file,
    })
    const contextOf: ContextOf = async (request, { name, roles }) => options.context?.(request, { name, roles })
    this.#runs = new RunStore({
      host: this.#host,
      limiter: this.#limiter,
      bounds: this.#limits.keepRuns,
      observer: { ...observeRuns(metrics, this.#host.tools, this.logger), recorderOf: (run) => recordings.recorderOf(run) },
      contextOf,
      logger: this.logger,
    })
    this.#responses = new KeptResponses(() => this.#limits.keepRuns, this.logger)
    this.#config = new ConfigSource({
      file,
      text: config === undefined ? undefined : asText(config),
      env: this.#env,
      times: watchTimes,
      logger: this.logger,
      prepare: (config, signal) => this.#prepare(config, signal),
      onReload: options.onReload,
    })
    observeService(metrics, { runs: this.#runs, streams: this.#streams, config: this.#config })
    this.#app = createApp({
      host: this.#host,
      runs: this.#runs,
      recordings,
      responses: this.#responses,
      streams: this.#streams,
      limiter: this.#limiter,
      auth: this.#auth,
      config: this.#config,
      metrics,
      startedAt: new Date(),
      isDraining: () => this.#draining,
      limits: () => this.#limits,
      logger: this.logger,
      authenticate: options.authenticate,
      contextOf,
      basePath,
      telemetry: () => this.#telemetry.current,
    })
    this.ready = this.#start(cwd, file)
    // Those who await it see the rejection; unawaited, it must not end the process.
    this.ready.catch(() => {})
  }

  get model(): SwitchableModel {
    return this.#host.agent(defaultAgent).model
  }

  get limits(): ServiceLimits {
    return this.#limits
  }

  readonly fetch = async (request: Request, from?: unknown): Promise<Response> => {
    try {
      await this.ready
    } catch {
      return Response.json(
        { error: { message: 'The service could not be started', type: 'server_error', code: 'not_started', param: null } },
        { status: 503 },
      )
    }
    return this.#app(request, addressOf(from, request, this.#proxies))
  }

  drain(timeoutMs: number = this.#limits.drainMs): Promise<void> {
    this.#drained ??= this.#drain(timeoutMs)
    return this.#drained
  }

  async #drain(timeoutMs: number): Promise<void> {
    this.#draining = true
    const configClosed = this.#config.close()
    await this.#runs.settled(AbortSignal.timeout(timeoutMs))
    if (this.#runs.running > 0) {
      this.logger.warn({ running: this.#runs.running }, 'runs are aborted, or left to the next start: the service is shutting down')
      this.#runs.abortAll('the service is shutting down')
    }
    await this.ready.catch(() => {})
    await this.#runs.close()
    await this.#runs.settled(AbortSignal.timeout(afterAbortMs))
    await this.#responses.close()
    this.#streams.dispose('the service is shutting down')
    await configClosed
    await this.#host.close()
    await this.#telemetry.close()
  }

  async #start(cwd: string, file: string | undefined): Promise<void> {
    if (file !== undefined) {
      await removeLeftBehind(file).catch((error: unknown) => {
        this.logger.error({ file, error }, 'what a crash left beside the configuration file could not be removed')
      })
    }
    await openInTurns()
    try {
      await this.#config.start()
      const { journal } = this.#limits
      const place = journal?.kind === 'sqlite' ? { ...journal, folder: resolve(cwd, journal.folder) } : journal
      if (place !== undefined) await this.#runs.open(place)
      if (place !== undefined) await this.#responses.open(place)
    } catch (error) {
      const open = [this.#config, this.#runs, this.#responses, this.#host, this.#telemetry]
      await Promise.all(open.map((part) => part.close()))
      throw error
    }
  }

  async #prepare(config: Config, signal: AbortSignal): Promise<PreparedConfig> {
    const { auth, trustedProxies } = config.service ?? {}
    const ofTokens = this.#auth.problemsOf(auth?.tokens ?? [], this.#env)
    const problems = [...ofTokens, ...TrustedProxies.problemsOf(trustedProxies), ...limitProblems(config)]
    if (problems.length > 0) throw new ConfigError('The configuration', problems)
    const proxies = new TrustedProxies(trustedProxies)
    const asked = readLimits(config)
    const { hosts, origins } = this.#ownRules
    const limits = { ...asked, hosts: [...hosts, ...asked.hosts], origins: [...origins, ...asked.origins] }
    await this.#telemetry.open(config)
    const prepared = await this.#host.prepare(config, signal)
    return {
      commit: () => {
        prepared.commit()
        this.#proxies = proxies
        this.#limits = limits
        this.#limiter.limits = limits
        this.#runs.bounds = limits.keepRuns
        this.#auth.accept(auth?.tokens ?? [], this.#env)
      },
      discard: () => prepared.discard(),
    }
  }
}

const operator: Caller = { name: 'operator', roles: ['run', 'admin'] }
