import { type Context, context, isSpanContextValid, type Span, type SpanContext, type SpanOptions, type Tracer, trace } from '../api.ts'
import type { OtlpSettings } from './settings.ts'
import { OtlpSpan } from './span.ts'

/** Tracers whose spans are given to `ended`. */
export function tracersOf(sampler: OtlpSettings['sampler'], ended: (span: OtlpSpan) => void): (scope: string) => Tracer {
  return (scope) => new OtlpTracer(scope, sampler, ended)
}

class OtlpTracer implements Tracer {
  readonly #scope: string
  readonly #sampler: OtlpSettings['sampler']
  readonly #ended: (span: OtlpSpan) => void

  constructor(scope: string, sampler: OtlpSettings['sampler'], ended: (span: OtlpSpan) => void) {
    this.#scope = scope
    this.#sampler = sampler
    this.#ended = ended
  }

  startSpan(name: string, options: SpanOptions = {}, given: Context = context.active()): Span {
    const found = options.root === true ? undefined : trace.getSpanContext(given)
    const parent = found !== undefined && isSpanContextValid(found) ? found : undefined
    const traceId = parent?.traceId ?? randomHex(16)
    const traceState = parent?.traceState
    const isSampled = samples(this.#sampler, parent, traceId)
    const own: SpanContext = { traceId, spanId: randomHex(8), traceFlags: isSampled ? 1 : 0, ...(traceState && { traceState }) }
    if (!isSampled) return trace.wrapSpanContext(own)
    return new OtlpSpan(this.#scope, name, options, { context: own, parent, ended: this.#ended })
  }

  startActiveSpan<Work extends (span: Span) => ReturnType<Work>>(name: string, ...rest: unknown[]): ReturnType<Work> {
    const work = rest.at(-1) as Work
    const [options, given = context.active()] = rest.slice(0, -1) as [SpanOptions?, Context?]
    const span = this.startSpan(name, options, given)
    return context.with(trace.setSpan(given, span), work, undefined, span)
  }
}

/** https://opentelemetry.io/docs/specs/otel/trace/sdk/#built-in-samplers */
function samples({ name, ratio }: OtlpSettings['sampler'], parent: SpanContext | undefined, traceId: string): boolean {
  if (name.startsWith('parentbased_') && parent !== undefined) return (parent.traceFlags & 1) === 1
  if (name.endsWith('always_off')) return false
  // By the id, so that every service samples the same traces.
  return name.endsWith('always_on') || Number.parseInt(traceId.slice(-14), 16) / 2 ** 56 < ratio
}

/** Never all zeros, which is no id. */
function randomHex(bytes: number): string {
  let hex = ''
  while (!/[1-9a-f]/.test(hex)) {
    hex = ''
    for (let at = 0; at < bytes; at += 4)
      hex += Math.floor(Math.random() * 2 ** 32)
        .toString(16)
        .padStart(8, '0')
  }
  return hex
}
