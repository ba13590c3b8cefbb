import { InvalidOptionError } from '../../core/errors.ts'
import { version } from '../../core/version.ts'

/** Where OTLP goes, where the environment doesn't say it. */
export interface OtlpPlace {
  /** The collector's address; `/v1/traces` and `/v1/metrics` are added. Default: `OTEL_EXPORTER_OTLP_ENDPOINT`, else `http://localhost:4318`. */
  endpoint?: string
  /** Sent with every request, besides and before those of `OTEL_EXPORTER_OTLP_HEADERS`. */
  headers?: Readonly<Record<string, string>>
  /** False: traces alone. Default true. */
  metrics?: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Where one signal goes, and how. */
export interface Target {
  url: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
  compresses: boolean
  format: 'protobuf' | 'json'
}

/** All that the file and the environment say. */
export interface OtlpSettings {
  /** Undefined: not exported. */
  traces: Target | undefined
  metrics: Target | undefined
  /** Of what service the telemetry is. */
  resource: Readonly<Record<string, string>>
  sampler: { name: string; ratio: number }
  spans: { delayMs: number; inQueue: number; inBatch: number }
  metricsEveryMs: number
  isDelta: boolean
}

/**
 * Reads the settings, and where they are silent the standard variables (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). Undefined
 * where those switch telemetry off. Throws `invalid_option` for what can't be used.
 */
export function readOtlpSettings(place: OtlpPlace, env: Environment): OtlpSettings | undefined {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined
  const isOff = (signal: string) => env[`OTEL_${signal}_EXPORTER`]?.toLowerCase() === 'none'
  const samplerArgument = Number(env.OTEL_TRACES_SAMPLER_ARG ?? 1)
  return {
    traces: isOff('TRACES') ? undefined : targetOf('TRACES', place, env),
    metrics: isOff('METRICS') || place.metrics === false ? undefined : targetOf('METRICS', place, env),
    resource: resourceOf(env),
    sampler: {
      name: oneOf('OTEL_TRACES_SAMPLER', samplers, env.OTEL_TRACES_SAMPLER || 'parentbased_always_on'),
      ratio: samplerArgument >= 0 && samplerArgument <= 1 ? samplerArgument : 1,
    },
    spans: {
      delayMs: numberIn(env, 'OTEL_BSP_SCHEDULE_DELAY', 5_000),
      inQueue: numberIn(env, 'OTEL_BSP_MAX_QUEUE_SIZE', 2_048),
      inBatch: numberIn(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
    },
    metricsEveryMs: numberIn(env, 'OTEL_METRIC_EXPORT_INTERVAL', 60_000),
    isDelta: ['delta', 'lowmemory'].includes(env.OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE?.toLowerCase() ?? ''),
  }
}

const samplers = ['always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio']
const protocols = ['http/protobuf', 'http/json']
const compressions = ['none', 'gzip']

function targetOf(signal: 'TRACES' | 'METRICS', { endpoint, headers }: OtlpPlace, env: Environment): Target {
  const own = (name: string) => env[`OTEL_EXPORTER_OTLP_${signal}_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`] || undefined
  const path = `v1/${signal.toLowerCase()}`
  const base = endpoint ?? (env.OTEL_EXPORTER_OTLP_ENDPOINT || 'http://localhost:4318')
  // The variable of a signal names its whole address.
  const whole = endpoint === undefined ? env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] : undefined
  const url = whole || `${base.replace(/\/+$/, '')}/${path}`
  const protocol = oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', protocols, own('PROTOCOL') ?? 'http/protobuf')
  return {
    url: checkedUrl(url, endpoint === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'telemetry.endpoint'),
    headers: { ...headersIn(env.OTEL_EXPORTER_OTLP_HEADERS), ...headersIn(env[`OTEL_EXPORTER_OTLP_${signal}_HEADERS`]), ...headers },
    timeoutMs: numberIn({ timeout: own('TIMEOUT') }, 'timeout', 10_000),
    compresses: oneOf('OTEL_EXPORTER_OTLP_COMPRESSION', compressions, own('COMPRESSION') ?? 'none') === 'gzip',
    format: protocol === 'http/json' ? 'json' : 'protobuf',
  }
}

function checkedUrl(url: string, name: string): string {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new InvalidOptionError(name, 'an address that begins with http:// or https://', url)
  return url
}

/** `name=value,…`, percent-encoded. Values are not shown where they are wrong: they are keys. */
function headersIn(text: string | undefined): Record<string, string> {
  return Object.fromEntries(pairsIn(text).map(([name, value]) => [name.toLowerCase(), value]))
}

function resourceOf(env: Environment): Record<string, string> {
  const given = Object.fromEntries(pairsIn(env.OTEL_RESOURCE_ATTRIBUTES))
  return {
    'service.name': 'toolloop',
    'telemetry.sdk.name': 'toolloop',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.version': version,
    ...given,
    ...(env.OTEL_SERVICE_NAME ? { 'service.name': env.OTEL_SERVICE_NAME } : {}),
  }
}

function pairsIn(text = ''): [string, string][] {
  return text.split(',').flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=')
    return at < 1 ? [] : [[decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))]]
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return text.trim()
  }
}

function oneOf(name: string, known: readonly string[], value: string): string {
  const found = known.find((one) => one === value.trim().toLowerCase())
  if (found === undefined) throw new InvalidOptionError(name, `one of ${known.join(', ')}`, value)
  return found
}

/** What is no number counts as absent, as the specification has it; a whole number that timers take. */
function numberIn(env: Environment, name: string, otherwise: number): number {
  const value = Number(env[name] || otherwise)
  return Number.isFinite(value) && value >= 1 ? Math.min(Math.trunc(value), 2 ** 31 - 1) : otherwise
}
