import { unescape as decode } from 'node:querystring'
import { InvalidOptionError } from '../../core/errors.ts'

/** Where OTLP data is sent. Options that are absent are read from the environment. */
export interface OtlpPlace {
  /**
   * The collector's address; `/v1/traces` and `/v1/metrics` are appended. Default: `OTEL_EXPORTER_OTLP_ENDPOINT`, or
   * `http://localhost:4318`.
   */
  endpoint?: string
  /** Headers that are sent with every request. They replace headers of the same name in `OTEL_EXPORTER_OTLP_HEADERS`. */
  headers?: Readonly<Record<string, string>>
  /** Whether to send metrics in addition to traces. Default: true. */
  metrics?: boolean
}

export interface OtlpSettings {
  /** The URL for traces. Undefined if traces are not exported. */
  traces: URL | undefined
  metrics: URL | undefined
  sampler: { name: string; ratio: number }
  spans: { scheduledDelayMillis: number; maxQueueSize: number; maxExportBatchSize: number; exportTimeoutMillis: number }
  metricsIntervalMs: number
  /** The values of all headers, which may be keys. */
  secrets: readonly string[]
}

/**
 * Reads the standard variables that the SDK's packages don't read themselves
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Returns undefined if `OTEL_SDK_DISABLED` is set.
 * Throws `invalid_option` for an invalid value.
 */
export function readOtlpSettings({ endpoint, headers = {}, metrics = true }: OtlpPlace): OtlpSettings | undefined {
  const { env } = process
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined
  const addressIfOn = (signal: Signal, isOn: boolean) => {
    const isExported = isOn && choose(`OTEL_${signal}_EXPORTER`, ['otlp', 'none']) === 'otlp'
    return isExported ? addressOf(signal, endpoint) : undefined
  }
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || 1)
  return {
    traces: addressIfOn('TRACES', true),
    metrics: addressIfOn('METRICS', metrics),
    sampler: { name: choose('OTEL_TRACES_SAMPLER', samplers), ratio: ratio >= 0 && ratio <= 1 ? ratio : 1 },
    spans: {
      scheduledDelayMillis: readNumber('OTEL_BSP_SCHEDULE_DELAY', 5_000),
      maxQueueSize: readNumber('OTEL_BSP_MAX_QUEUE_SIZE', 2_048),
      maxExportBatchSize: readNumber('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
      exportTimeoutMillis: readNumber('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
    },
    metricsIntervalMs: readNumber('OTEL_METRIC_EXPORT_INTERVAL', 60_000),
    secrets: [...Object.values(headers), ...['', 'TRACES_', 'METRICS_'].flatMap(headerValues)],
  }
}

export type Signal = 'TRACES' | 'METRICS'
const samplers = ['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio', 'always_on', 'always_off', 'traceidratio']

function addressOf(signal: Signal, endpoint: string | undefined): URL {
  const own = process.env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]
  const address = endpoint ?? (own || process.env.OTEL_EXPORTER_OTLP_ENDPOINT || 'http://localhost:4318')
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const name = endpoint === undefined ? `OTEL_EXPORTER_OTLP_${own ? `${signal}_` : ''}ENDPOINT` : 'telemetry.endpoint'
    throw new InvalidOptionError(name, 'an address that begins with http:// or https://', address)
  }
  const protocol = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`
  choose(process.env[protocol] ? protocol : 'OTEL_EXPORTER_OTLP_PROTOCOL', ['http/protobuf'])
  // If the variable is for this signal only, it contains the full URL, so nothing is appended.
  if (endpoint !== undefined || !own) url.pathname = url.pathname.replace(/\/*$/, `/v1/${signal.toLowerCase()}`)
  return url
}

/** Returns the value of a variable. If it is not set, returns the first of the `known` values. */
function choose(name: string, known: readonly string[]): string {
  const value = process.env[name] || (known[0] ?? '')
  const found = known.find((one) => one === value.trim().toLowerCase())
  if (found === undefined) throw new InvalidOptionError(name, known.length === 1 ? `${known}` : `one of ${known.join(', ')}`, value)
  return found
}

/**
 * Reads a number from a variable. As the specification requires, a value that is not a number counts as not set. Numbers above the limit of
 * timers, 2³¹ - 1, become this limit.
 */
function readNumber(name: string, otherwise: number): number {
  const value = Number(process.env[name] || otherwise)
  return Number.isFinite(value) && value >= 1 ? Math.min(Math.trunc(value), 2 ** 31 - 1) : otherwise
}

function headerValues(signal: string): string[] {
  const headers = process.env[`OTEL_EXPORTER_OTLP_${signal}HEADERS`]?.split(',') ?? []
  return headers.map((header) => decode(header.slice(header.indexOf('=') + 1).trim()))
}
