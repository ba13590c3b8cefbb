import type { Sampler } from '@opentelemetry/sdk-trace'
import type { Telemetry } from '../../agent/observe/telemetry.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { messageOf } from '../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { redactText } from '../../core/redaction/redact.ts'
import { version } from '../../core/version.ts'
import { context, DiagLogLevel, diag, type TracerProvider, trace } from '../api.ts'
import { type TelemetryOptions, telemetry } from '../telemetry.ts'
import { boundExporter } from './bound-exporter.ts'
import { SpanRoom, splitBySize } from './bound-spans.ts'
import { agentFor } from './connections.ts'
import { loadSdk, type Sdk } from './load-sdk.ts'
import { type OtlpPlace, type OtlpSettings, readOtlpSettings, type Signal } from './settings.ts'

/** The options of `otlpTelemetry`. */
export interface OtlpOptions extends OtlpPlace, Pick<TelemetryOptions, 'content' | 'semconv' | 'metadata'> {
  /** Receives a warning the first time that telemetry can't be delivered. Default: the package's own logger, on standard error. */
  logger?: Logger
}

const optionNames: OptionNames<OtlpOptions> = {
  endpoint: true,
  headers: true,
  metrics: true,
  content: true,
  semconv: true,
  metadata: true,
  logger: true,
}

/** Telemetry that is sent to a collector. */
export interface OtlpTelemetry {
  /** The `telemetry` option for a runner or a service. Undefined if `OTEL_SDK_DISABLED` is set. */
  readonly telemetry: Telemetry | undefined
  /** Sends the remaining telemetry, for at most `timeoutMs` milliseconds (default: 5,000), and stops. Never rejects. */
  close(timeoutMs?: number): Promise<void>
}

const closeMs = 5_000

/**
 * Sends traces and metrics to a collector by OTLP over HTTP, with the OpenTelemetry SDK and the standard environment variables (`OTEL_…`).
 * If the process has no tracer provider, registers one, so that the spans of libraries inside a tool are also exported. A collector that is
 * down, slow or silent costs a limited amount of memory, and is logged once. Rejects with `invalid_option`, or with `missing_dependency` if
 * the SDK is not installed.
 */
export async function otlpTelemetry(options: OtlpOptions = {}): Promise<OtlpTelemetry> {
  checkOptionNames(options, optionNames, '`otlpTelemetry`')
  const { content, semconv, metadata } = options
  // This call throws for invalid options, before anything is started.
  telemetry({ content, semconv, metadata })
  const settings = readOtlpSettings(options)
  if (settings === undefined) return { telemetry: undefined, close: async () => {} }
  return startExport(await loadSdk(), options, settings)
}

function startExport(sdk: Sdk, options: OtlpOptions, settings: OtlpSettings): OtlpTelemetry {
  const { headers, content, semconv, metadata } = options
  const logger = redacting(options.logger ?? defaultLogger)
  const { traces, metrics, spans, secrets } = settings
  const uninstall = install(sdk, () => tracers, problemLog(logger, secrets, 'OpenTelemetry reports a problem'))
  const stop = new AbortController()
  const bounds = { timeoutMs: spans.exportTimeoutMillis, stop: stop.signal }
  const exporterOptions = (signal: Signal, url: URL) => ({
    url: url.href,
    headers: async () => {
      // Throws, so that the exporter gives up. A retry would keep the process running.
      stop.signal.throwIfAborted()
      return { ...headers }
    },
    httpAgentOptions: (protocol: string) => agentFor(signal, protocol),
  })
  const resource = sdk
    .defaultResource()
    .merge(sdk.resourceFromAttributes({ 'service.name': 'toolloop' }))
    .merge(sdk.detectResources({ detectors: [sdk.envDetector] }))

  const room = new SpanRoom(spans.maxQueueSize)
  const exportSpans = (url: URL) => {
    const log = problemLog(logger, secrets, `traces don't arrive at ${url.origin}${url.pathname}`)
    const exporter = boundExporter(new sdk.OTLPTraceExporter(exporterOptions('TRACES', url)), {
      ...bounds,
      split: splitBySize,
      ended: (batch, failure) => {
        room.free(batch)
        if (failure === undefined) return
        room.lost += batch.length
        log(failure)
      },
    })
    return room.limit(new sdk.BatchSpanProcessor({ ...spans, exporter }))
  }
  const tracers = new sdk.TracerProvider({
    resource,
    sampler: traces === undefined ? new sdk.AlwaysOffSampler() : makeSampler(sdk, settings.sampler),
    spanProcessors: traces === undefined ? [] : [exportSpans(traces)],
  })

  const exportMetrics = (url: URL) => {
    const log = problemLog(logger, secrets, `metrics don't arrive at ${url.origin}${url.pathname}`)
    const exporter = boundExporter(new sdk.OTLPMetricExporter(exporterOptions('METRICS', url)), {
      ...bounds,
      mostWaiting: 10,
      ended: (_batch, failure) => failure !== undefined && log(failure),
    })
    return new sdk.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: settings.metricsIntervalMs })
  }
  const meters = new sdk.MeterProvider({ resource, readers: metrics === undefined ? [] : [exportMetrics(metrics)] })

  const end = async (timeoutMs: number): Promise<void> => {
    const deadline = setTimeout(() => stop.abort(), timeoutMs)
    await Promise.all([tracers.shutdown(), meters.shutdown()])
    clearTimeout(deadline)
    stop.abort()
    uninstall()
    if (room.lost > 0) logger.warn({ dropped: room.lost }, 'spans were dropped because they did not arrive, or there was no room for them')
  }
  let closed: Promise<void> | undefined
  return {
    telemetry: telemetry({
      tracer: tracers.getTracer('toolloop', version),
      meter: meters.getMeter('toolloop', version),
      content,
      semconv,
      metadata,
    }),
    close(timeoutMs = closeMs) {
      closed ??= end(timeoutMs)
      return closed
    },
  }
}

function makeSampler(sdk: Sdk, { name, ratio }: OtlpSettings['sampler']): Sampler {
  const root = name.endsWith('always_on')
    ? new sdk.AlwaysOnSampler()
    : name.endsWith('always_off')
      ? new sdk.AlwaysOffSampler()
      : new sdk.TraceIdRatioBasedSampler(ratio)
  return name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root
}

/**
 * Registers a context manager, a tracer provider and a diagnostics logger, if the process has none. Returns a function that undoes this.
 */
function install(sdk: Sdk, tracers: () => TracerProvider, log: (problem: string) => void): () => void {
  const keepsContext = context.setGlobalContextManager(new sdk.AsyncLocalStorageContextManager().enable())
  const providesTracers = trace.setGlobalTracerProvider({ getTracer: (...scope) => tracers().getTracer(...scope) })
  const tell = (...said: unknown[]) => log(said.map(messageOf).join(' '))
  const ignore = () => {}
  const diagnostics = { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore }
  if (providesTracers) diag.setLogger(diagnostics, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  return () => {
    if (keepsContext) context.disable()
    if (!providesTracers) return
    trace.disable()
    diag.disable()
  }
}

/** Returns a function that logs the first problem as a warning, and later problems at debug level. */
function problemLog(logger: Logger, secrets: readonly string[], message: string): (problem: string) => void {
  // Redacts a header's value with and without its scheme, such as `Bearer`, because a collector's error may quote only the key.
  const hidden = secrets.flatMap((value) => [value, value.replace(/^\w+\s+/, '')])
  let isLogged = false
  return (problem) => {
    const reason = redactText(problem, hidden).slice(0, longestReason)
    if (isLogged) logger.debug({ reason }, message)
    else logger.warn({ reason }, `${message}; from now on this is logged at debug`)
    isLogged = true
  }
}

const longestReason = 250
