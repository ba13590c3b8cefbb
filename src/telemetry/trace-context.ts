import { syncAnswer } from '../core/callbacks/callbacks.ts'
import { isJsonObject, type Json } from '../core/messages.ts'
import { type Context, createTraceState, isSpanContextValid, propagation, type SpanContext, trace } from './api.ts'

/** Returns the trace id, span id and flags of a context's span. Returns undefined if the context has no span. */
export function spanContextOf(context: Context): SpanContext | undefined {
  return syncAnswer('spanContext', trace.getSpanContext(context))
}

/** Returns the span of a context as headers (https://www.w3.org/TR/trace-context/), regardless of the registered propagator. */
export function traceHeaders(context: Context): { traceparent?: string; tracestate?: string } {
  const span = spanContextOf(context)
  if (span === undefined || !isSpanContextValid(span)) return {}
  const traceparent = `00-${span.traceId}-${span.spanId}-${(span.traceFlags & 0xff).toString(16).padStart(2, '0')}`
  const tracestate = syncAnswer('serialize', span.traceState?.serialize()) ?? ''
  return tracestate === '' ? { traceparent } : { traceparent, tracestate }
}

/**
 * Returns headers that continue the trace of a context in another service. They contain its span and its baggage
 * (https://www.w3.org/TR/baggage/).
 */
export function outgoingHeaders(context: Context): Record<string, string> {
  const entries = propagation.getBaggage(context)?.getAllEntries() ?? []
  const baggage = entries.map(([key, { value, metadata }]) => {
    const properties = metadata?.toString() ?? ''
    return `${encodeURIComponent(key)}=${encodeURIComponent(value)}${properties === '' ? '' : `;${properties}`}`
  })
  return { ...traceHeaders(context), ...(baggage.length === 0 ? {} : { baggage: baggage.join(',') }) }
}

const traceparentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Reads the span context from trace headers. Returns undefined if the headers contain none. */
export function readTraceHeaders(headers: Json | undefined): SpanContext | undefined {
  if (!isJsonObject(headers) || typeof headers.traceparent !== 'string') return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = traceparentPattern.exec(headers.traceparent) ?? []
  // A header of version 00 ends after the flags. Version ff is invalid.
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  const traceState = typeof headers.tracestate === 'string' ? createTraceState(headers.tracestate) : undefined
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true, traceState }
  return isSpanContextValid(span) ? span : undefined
}
