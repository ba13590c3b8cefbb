import type { Telemetry } from '../agent/observe/telemetry.ts'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import { version } from '../core/version.ts'
import { metrics, type Tracer, trace } from './api.ts'
import { failSafe } from './fail-safe.ts'
import { aroundHttpRequest } from './http-span.ts'
import { type InstrumentMaker, Instruments } from './metrics/instruments.ts'
import { latestNames, names137 } from './names.ts'
import { RunTrace } from './run-trace.ts'

/** A version of the semantic conventions, which decides the names of attributes and metrics. */
export type SemanticConventions = 'latest' | '1.37'

/** The options of `telemetry`. */
export interface TelemetryOptions {
  /**
   * The tracer, which creates the spans. Default: the tracer of the provider that is registered with `@opentelemetry/api`. The provider may
   * also be registered later.
   */
  tracer?: Tracer
  /** The meter, which creates the metrics. Default: the meter of the registered provider. */
  meter?: InstrumentMaker
  /**
   * Whether spans contain the conversation: instructions, messages, tools, arguments and results, with secrets redacted. Default: true if
   * the environment variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is `true`, otherwise false.
   */
  content?: boolean
  /**
   * The version of the semantic conventions, which decides the names of attributes and metrics. `'1.37'` has older names, which more
   * dashboards read. Default: `'latest'`.
   */
  semconv?: SemanticConventions
  /**
   * Names of `metadata` fields to add to the spans of a run, as attributes `toolloop.metadata.FIELD`. Maximum 32 names. Texts that look
   * like secrets are redacted, and values are cut to 512 characters. Default: none.
   */
  metadata?: readonly string[]
}

const optionNames: OptionNames<TelemetryOptions> = { tracer: true, meter: true, content: true, semconv: true, metadata: true }

/**
 * Creates traces and metrics of runs. Pass the result as `telemetry` to a runner, a run, or the service. A tracer, meter or exporter that
 * throws does not affect runs, and is logged once. Throws `invalid_option`.
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  checkOptionNames(options, optionNames, '`telemetry`')
  const { tracer, meter, content = contentByEnvironment(), semconv = 'latest', metadata = [] } = options
  if (tracer !== undefined && typeof tracer?.startSpan !== 'function') throw new InvalidOptionError('tracer', 'a tracer', tracer)
  if (meter !== undefined && !isMeter(meter)) throw new InvalidOptionError('meter', 'a meter', meter)
  if (typeof content !== 'boolean') throw new InvalidOptionError('content', 'true or false', content)
  if (semconv !== 'latest' && semconv !== '1.37') throw new InvalidOptionError('semconv', "'latest' or '1.37'", semconv)
  if (!isNames(metadata)) throw new InvalidOptionError('metadata', `at most ${mostFields} names of fields`, metadata)
  const names = semconv === 'latest' ? latestNames : names137
  const instruments = instrumentsOf(meter, names.metrics)
  let isLogged = false
  const attemptFor = (logger: Logger) =>
    failSafe((error) => {
      if (isLogged) return
      isLogged = true
      logger.error({ error }, 'telemetry failed; runs continue without it')
    })
  const tracerOf = () => tracer ?? trace.getTracer('toolloop', version)
  return {
    openRun: (run) => new RunTrace(run, { tracer: tracerOf, instruments, names, content, metadata, attempt: attemptFor(run.logger) }),
    aroundHttpRequest: (request, next) => aroundHttpRequest(request, next, { tracer: tracerOf, attempt: attemptFor(request.logger) }),
  }
}

const mostFields = 32

function isNames(given: unknown): given is readonly string[] {
  return Array.isArray(given) && given.length <= mostFields && given.every((name) => typeof name === 'string' && name !== '')
}

function isMeter(given: Partial<InstrumentMaker> | null): boolean {
  return typeof given?.createHistogram === 'function' && typeof given.createCounter === 'function'
}

function contentByEnvironment(): boolean {
  return process.env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.toLowerCase() === 'true'
}

/**
 * Returns the instruments of a meter. If the registered provider changes, they are created again, because a meter that was created before a
 * provider was registered records nothing.
 */
function instrumentsOf(meter: InstrumentMaker | undefined, names: ConstructorParameters<typeof Instruments>[1]): () => Instruments {
  if (meter !== undefined) {
    let made: Instruments | undefined
    return () => {
      made ??= new Instruments(meter, names)
      return made
    }
  }
  let known: { provider: unknown; instruments: Instruments } | undefined
  return () => {
    const provider = metrics.getMeterProvider()
    if (known?.provider !== provider) known = { provider, instruments: new Instruments(provider.getMeter('toolloop', version), names) }
    return known.instruments
  }
}
