import type { Telemetry } from '../../agent/observe/telemetry.ts'
import { defaultLogger, type Logger } from '../../core/logger.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import { version } from '../../core/version.ts'
import { context, trace } from '../api.ts'
import { type TelemetryOptions, telemetry } from '../telemetry.ts'
import { keyValues } from './attributes.ts'
import { CurrentContext } from './current-context.ts'
import { metricsRequest, type OtlpMessage, toProtobuf, tracesRequest } from './encode.ts'
import { OtlpMeter } from './meter.ts'
import { OtlpSender } from './sender.ts'
import { type Environment, type OtlpPlace, readOtlpSettings, type Target } from './settings.ts'
import type { OtlpSpan } from './span.ts'
import { SpanQueue } from './span-queue.ts'
import { tracersOf } from './tracer.ts'

/** What `otlpTelemetry` takes. */
export interface OtlpOptions extends OtlpPlace, Pick<TelemetryOptions, 'content' | 'semconv' | 'metadata'> {
  /** Is told, once, that nothing arrives. Default: the package's own, on standard error. */
  logger?: Logger
  /** What the standard variables, such as `OTEL_EXPORTER_OTLP_HEADERS`, are looked up in. Default: the process's environment. */
  env?: Environment
}

const optionNames: OptionNames<OtlpOptions> = {
  endpoint: true,
  headers: true,
  metrics: true,
  content: true,
  semconv: true,
  metadata: true,
  logger: true,
  env: true,
}

/** Telemetry that is sent somewhere. */
export interface OtlpTelemetry {
  /** To be given to a runner or a service; undefined where the environment has switched telemetry off. */
  readonly telemetry: Telemetry | undefined
  /** Sends what is left, for at most so many milliseconds (default 5,000), and ends it. Never rejects. */
  close(timeoutMs?: number): Promise<void>
}

const closeMs = 5_000

/**
 * Sends traces and metrics to a collector by OTLP over HTTP, without an SDK: it needs `@opentelemetry/api` alone. Where the process has no
 * tracer provider of its own, this becomes it, so that spans of libraries inside a tool are there too. A collector that is down, slow or
 * silent costs a bounded amount of memory, and is logged once. Throws `invalid_option`.
 */
export function otlpTelemetry(options: OtlpOptions = {}): OtlpTelemetry {
  checkOptionNames(options, optionNames, '`otlpTelemetry`')
  const { logger = defaultLogger, env = process.env, content, semconv, metadata } = options
  const settings = readOtlpSettings(options, env)
  if (settings === undefined) return { telemetry: undefined, close: async () => {} }
  const { traces, metrics, resource, sampler, spans } = settings
  const resourceMessage = { attributes: keyValues(resource) }
  let dropped = 0
  const failing = ({ url }: Target) => {
    let isLogged = false
    return (reason: string) => {
      if (isLogged) return
      isLogged = true
      logger.warn(
        { url: withoutQuery(url), reason },
        'telemetry does not arrive; this is logged once, and what there is no room for is dropped',
      )
    }
  }
  const queue =
    traces &&
    new SpanQueue({
      sender: new OtlpSender(traces, (message) => toProtobuf(message, tracesRequest), failing(traces)),
      settings: spans,
      messageOf: (batch) => tracesMessage(resourceMessage, batch),
      dropped: () => {
        dropped++
      },
    })
  const tracers = tracersOf(queue === undefined ? { name: 'always_off', ratio: 0 } : sampler, (span) => queue?.add(span))
  const meter = new OtlpMeter(settings.isDelta)
  const metricSender = metrics && new OtlpSender(metrics, (message) => toProtobuf(message, metricsRequest), failing(metrics))
  const stop = new AbortController()
  const sendMetrics = async (): Promise<void> => {
    const collected = meter.collect()
    if (collected.length > 0) await metricSender?.send(metricsMessage(resourceMessage, collected), stop.signal)
  }
  let sending: Promise<void> | undefined
  const timer = setInterval(() => {
    sending ??= sendMetrics().finally(() => {
      sending = undefined
    })
  }, settings.metricsEveryMs).unref()
  const uninstall = install(tracers)
  const end = async (timeoutMs: number): Promise<void> => {
    clearInterval(timer)
    const deadline = AbortSignal.timeout(timeoutMs)
    deadline.addEventListener('abort', () => stop.abort(), { once: true })
    await Promise.all([queue?.close(deadline), Promise.resolve(sending).then(sendMetrics)])
    stop.abort()
    uninstall()
    if (dropped > 0) logger.warn({ dropped }, 'spans were dropped because they did not arrive, or there was no room for them')
  }
  let closed: Promise<void> | undefined
  return {
    telemetry: telemetry({
      tracer: tracers('toolloop'),
      meter,
      ...(content === undefined ? {} : { content }),
      ...(semconv === undefined ? {} : { semconv }),
      ...(metadata === undefined ? {} : { metadata }),
    }),
    close(timeoutMs = closeMs) {
      closed ??= end(timeoutMs)
      return closed
    },
  }
}

/** What the process has already stays. */
function install(tracers: ReturnType<typeof tracersOf>): () => void {
  const keeper = new CurrentContext()
  const keepsContext = context.setGlobalContextManager(keeper)
  const providesTracers = trace.setGlobalTracerProvider({ getTracer: (name) => tracers(name) })
  return () => {
    if (keepsContext) context.disable()
    if (providesTracers) trace.disable()
  }
}

function tracesMessage(resource: OtlpMessage, spans: readonly OtlpSpan[]): OtlpMessage {
  const byScope = Map.groupBy(spans, ({ scope }) => scope)
  const scopeSpans = [...byScope].map(([name, own]) => ({ scope: scopeOf(name), spans: own.map((span) => span.toOtlp()) }))
  return { resourceSpans: [{ resource, scopeSpans }] }
}

function metricsMessage(resource: OtlpMessage, metrics: readonly OtlpMessage[]): OtlpMessage {
  return { resourceMetrics: [{ resource, scopeMetrics: [{ scope: scopeOf('toolloop'), metrics }] }] }
}

function scopeOf(name: string): OtlpMessage {
  return name === 'toolloop' ? { name, version } : { name }
}

/** An address may have a key in it. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
