import { IncomingMessage, ServerResponse } from 'node:http'
import { resolve } from 'node:path'
import { EventBus } from '../core/callbacks/event-bus.ts'
import { InvalidOptionError, messageOf } from '../core/errors.ts'
import { removeLeftBehind } from '../core/files/replace-file.ts'
import { defaultLogger, type Logger, redacting } from '../core/logger.ts'
import { secretsInEnvironment } from '../core/redaction/secret-keys.ts'
import { SecretTexts } from '../core/redaction/secret-texts.ts'
import type { SwitchableModel } from '../models/combined/switchable.ts'
import { ToolRegistry } from '../tools/registry.ts'
import { openForeignAjv } from '../tools/schema/open-ajv.ts'
import { AgentHost, defaultAgent } from './agents/agent-host.ts'
import { RecentCalls } from './agents/recent-calls.ts'
import { ToolTrials } from './agents/tool-trials.ts'
import { type App, createApp } from './app.ts'
import { asText, type Config, type PreparedConfig } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'
import { ConfigSource } from './config/config-source.ts'
import { limitProblems, readLimits, type ServiceLimits } from './config/service-limits.ts'
import { type Caller, type ContextOf, newToken, TokenAuth } from './http/auth.ts'
import { RateLimiter } from './http/rate-limit.ts'
import type { NodeExchange } from './http/reply.ts'
import type { OriginRules } from './http/request-source.ts'
import { addressOf, TrustedProxies } from './http/request-source.ts'
import { SignInLinks } from './http/sign-in-links.ts'
import { SseStreams } from './http/sse.ts'
import { McpHost } from './mcp/mcp-host.ts'
import { Metrics } from './metrics.ts'
import { observeRuns, observeService } from './observe-runs.ts'
import { FinishedRuns } from './overview/finished-runs.ts'
import { KeptResponses } from './responses/kept-responses.ts'
import { RunRecordings } from './runs/run-recordings.ts'
import { RunStore } from './runs/run-store.ts'
import { checkServiceOptions, type ServiceOptions, type ServiceTimes } from './service-options.ts'
import { TelemetrySource } from './telemetry-source.ts'
import { ByTenant } from './tenants/by-tenant.ts'

/** A running service. Mount it in any server that uses `fetch`, or pass it to `listen`. */
export interface Service {
  /**
   * Answers a request. Never rejects. `from` is the server's connection object, such as the object that Hono passes to `fetch`. The service
   * reads the client's address from this object.
   */
  readonly fetch: (request: Request, from?: unknown) => Promise<Response>
  /**
   * Resolves when the service has loaded its configuration. Rejects if the configuration is invalid; the service then answers every request
   * with 503.
   */
  readonly ready: Promise<void>
  /** The current model. It changes with the configuration. */
  readonly model: SwitchableModel
  /** The tools that the program registered. Tools from the configuration are not in this registry. */
  readonly registry: ToolRegistry
  readonly bus: EventBus
  readonly logger: Logger
  /** The current configuration, with defaults filled in. */
  readonly limits: ServiceLimits
  /** The token that was generated because no token was configured. Undefined if a token was configured. */
  readonly initialToken: string | undefined
  /**
   * Returns a link that signs a browser in to the admin page. The link works once and expires after ten minutes. The session ends after
   * twelve hours, or when the process ends. Whoever opens the link gets all permissions, so send the link to one person only. `url` is the
   * base URL of the service without `basePath`, such as `https://agents.example.com`. Throws `invalid_option` for anything but an http or
   * https URL.
   */
  signInLink(url: string): string
  /**
   * Shuts down the service: refuses new work, and waits up to `timeoutMs` milliseconds for runs to finish. Runs in a journal that have not
   * finished by then resume at the next start. Other runs are aborted. Finally, streams and files are closed.
   */
  drain(timeoutMs?: number): Promise<void>
}

/**
 * Creates an HTTP service for an agent. The service has an OpenAI-compatible API, an API for runs, and an API for administration. All three
 * are documented in `/openapi.json`. The configuration may change while the service runs. Throws `invalid_option` or `invalid_tool`. If the
 * configuration file is invalid, `ready` rejects.
 *
 * ```ts
 * const service = createService({ model: 'openai/gpt-6.1-sol', tools: [weather], token: process.env.MY_TOKEN })
 * await service.ready
 * app.mount('/agent', service.fetch)
 * ```
 *
 * Request paths start with `/v1`, `/admin` and so on. `mount` removes the prefix `/agent` from the path. If your server doesn't remove such
 * a prefix, set `basePath`. For Node.js servers, use `nodeHandler(service)`. Add the public host name to `hosts`. Call `drain` when the
 * program ends.
 */
export function createService(options: ServiceOptions = {}): Service {
  checkServiceOptions(options)
  return new AgentService(options)
}

const defaultTimes: ServiceTimes = { debounceMs: 100, pollMs: 5_000, heartbeatMs: 15_000, stallMs: 30_000 }
/** How long aborted runs may take to end, in milliseconds. */
const afterAbortMs = 2_000
/** When to load the parts that only some requests need, in milliseconds after the start. */
const loadAfterMs = 1_000

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
  readonly #mcp: McpHost
  readonly #streams: SseStreams
  readonly #auth: TokenAuth
  readonly #limiter: RateLimiter
  readonly #signIns = new SignInLinks()
  readonly #trials = new ToolTrials()
  readonly #basePath: string
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #app: App
  readonly #ownRules: OriginRules
  readonly #telemetry: TelemetrySource
  #limits: ServiceLimits = readLimits({})
  #proxies = new TrustedProxies()
  #draining = false
  #loading: NodeJS.Timeout | undefined
  #isFailureLogged = false
  #drained: Promise<void> | undefined

  constructor(options: ServiceOptions) {
    const { configFile, config, model = 'demo', tools = [], builtinTools = [], agent = {}, token, cwd = process.cwd(), times } = options
    const { basePath = '' } = options
    if (!/^(\/[\w.~-]+)*$/.test(basePath)) throw new InvalidOptionError('basePath', 'a path such as `/agent`', basePath)
    if (configFile !== undefined && config !== undefined)
      throw new InvalidOptionError('config', 'absent when `configFile` is given', config)
    this.#basePath = basePath
    this.#env = options.env ?? process.env
    this.#ownRules = { hosts: options.hosts ?? [], origins: options.origins ?? [] }
    const secrets = new SecretTexts(secretsInEnvironment(this.#env))
    this.logger = redacting(options.logger ?? defaultLogger, secrets)
    this.bus = options.bus ?? new EventBus((error, event) => this.logger.error({ error, event }, 'event listener failed'))
    this.registry = tools instanceof ToolRegistry ? tools : new ToolRegistry(tools)
    this.#telemetry = new TelemetrySource(options.telemetry, this.logger)
    const metrics = new Metrics()
    const recordings = new RunRecordings(secrets, () => this.#limits.keepRuns, this.logger)
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
      secrets,
      bus: this.bus,
      logger: this.logger,
      cwd,
      configFile: file,
    })
    const calls = new RecentCalls()
    const finished = new ByTenant((tenant) => new FinishedRuns((query) => this.#runs.list({ name: '', roles: ['admin'], tenant }, query)))
    const contextOf: ContextOf = async (request, { name, roles, tenant }) => options.context?.(request, { name, roles, tenant })
    this.#runs = new RunStore({
      host: this.#host,
      limiter: this.#limiter,
      bounds: this.#limits.keepRuns,
      observer: observeRuns({ metrics, tools: this.#host.tools, calls, finished, logger: this.logger }),
      recordings,
      contextOf,
      logger: this.logger,
    })
    this.#responses = new KeptResponses(() => this.#limits.keepRuns, this.logger)
    this.#mcp = new McpHost({
      options: options.mcp === true ? {} : options.mcp === false ? undefined : options.mcp,
      host: this.#host,
      runs: this.#runs,
      limiter: this.#limiter,
      contextOf,
      logger: this.logger,
    })
    this.#config = new ConfigSource({
      file,
      text: config === undefined ? undefined : asText(config),
      env: this.#env,
      times: watchTimes,
      logger: this.logger,
      prepare: (config, signal) => this.#prepare(config, signal),
      onReload: options.onReload,
    })
    observeService(metrics, { runs: this.#runs, streams: this.#streams, mcp: this.#mcp, config: this.#config })
    this.#app = createApp({
      host: this.#host,
      runs: this.#runs,
      calls,
      trials: this.#trials,
      finished,
      mcp: this.#mcp,
      responses: this.#responses,
      streams: this.#streams,
      limiter: this.#limiter,
      auth: this.#auth,
      signIns: this.#signIns,
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
    onNode.set(this, (request, from, { isBodyRead } = { isBodyRead: false }) => this.#answer(request, from, exchangeOf(from, isBodyRead)))
    this.ready = this.#start(cwd, file)
    // Without a handler, a rejection would end the process. Code that awaits `ready` still gets the rejection.
    this.ready.catch(() => {})
  }

  get model(): SwitchableModel {
    return this.#host.agent(defaultAgent).model
  }

  get limits(): ServiceLimits {
    return this.#limits
  }

  signInLink(url: string): string {
    const given = URL.parse(url)
    if (given === null || !['http:', 'https:'].includes(given.protocol))
      throw new InvalidOptionError('url', 'the address of the service, such as `https://agents.example.com`', url)
    const page = `${given.origin}${given.pathname.replace(/\/+$/, '')}${this.#basePath}/admin/`
    // Browsers don't send the part after `#` to servers, so no server logs the code.
    return `${page}#/sign-in/${this.#signIns.issue(operator)}`
  }

  readonly fetch = (request: Request, from?: unknown): Promise<Response> => this.#answer(request, from)

  async #answer(request: Request, from: unknown, node?: NodeExchange): Promise<Response> {
    try {
      await this.ready
    } catch (error) {
      this.#logFailedStart(error)
      return Response.json(
        { error: { message: 'The service could not be started', type: 'server_error', code: 'not_started', param: null } },
        { status: 503 },
      )
    }
    return this.#app(request, addressOf(from, request, this.#proxies), node)
  }

  /** Logs the error of a failed start once. */
  #logFailedStart(error: unknown): void {
    if (!this.#isFailureLogged)
      this.logger.error({ error: messageOf(error) }, 'the service could not be started: all requests are answered with 503')
    this.#isFailureLogged = true
  }

  drain(timeoutMs: number = this.#limits.drainMs): Promise<void> {
    this.#drained ??= this.#drain(timeoutMs)
    return this.#drained
  }

  async #drain(timeoutMs: number): Promise<void> {
    this.#draining = true
    clearTimeout(this.#loading)
    const configClosed = this.#config.close()
    const inTime = AbortSignal.timeout(timeoutMs)
    await Promise.all([this.#runs.settled(inTime), this.#mcp.settled(inTime), this.#trials.settled(inTime)])
    if (this.#runs.running() > 0) {
      this.logger.warn({ running: this.#runs.running() }, 'runs are aborted, or left to the next start: the service is shutting down')
      await this.#runs.abortAll('the service is shutting down', AbortSignal.timeout(afterAbortMs))
    }
    await this.ready.catch(() => {})
    await Promise.all([this.#mcp.close(), this.#trials.close()])
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
        this.logger.error({ file, error }, 'files that a crash left beside the configuration file could not be removed')
      })
    }
    try {
      await this.#config.start()
      const { runs } = this.#limits
      const place = runs.kind === 'sqlite' ? { ...runs, folder: resolve(cwd, runs.folder) } : runs
      await this.#runs.open(place)
      await this.#responses.open(place)
      // Loads the schema compiler before a request needs it, without delaying the start.
      this.#loading = setTimeout(openForeignAjv, loadAfterMs).unref()
    } catch (error) {
      const open = [this.#config, this.#mcp, this.#runs, this.#responses, this.#host, this.#telemetry]
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
    const mcp = await this.#mcp.prepare(config).catch(async (error: unknown) => {
      await prepared.discard()
      throw error
    })
    return {
      commit: () => {
        prepared.commit()
        mcp.commit()
        this.#proxies = proxies
        this.#limits = limits
        this.#limiter.limits = limits
        this.#runs.bounds = limits.keepRuns
        this.#auth.accept(auth?.tokens ?? [], this.#env)
      },
      discard: async () => {
        await Promise.all([prepared.discard(), mcp.discard()])
      },
    }
  }
}

const onNode = new WeakMap<Service, NodeFetch>()

/**
 * Answers a request of a Node.js server by writing to that server's response. If `isBodyRead` is true, the body has already been read from
 * the connection and is available only in `request`.
 */
export type NodeFetch = (request: Request, from: object, options?: { isBodyRead: boolean }) => Promise<Response>

/** Returns a function like `service.fetch` that writes to the response of a Node.js server. */
export function nodeFetchOf(service: Service): NodeFetch {
  return onNode.get(service) ?? ((request, from) => service.fetch(request, from))
}

function exchangeOf(from: object, isBodyRead: boolean): NodeExchange | undefined {
  if (!('outgoing' in from && from.outgoing instanceof ServerResponse)) return undefined
  const incoming = !isBodyRead && 'incoming' in from && from.incoming instanceof IncomingMessage ? from.incoming : undefined
  return { incoming, outgoing: from.outgoing }
}

const operator: Caller = { name: 'operator', roles: ['run', 'admin'] }
