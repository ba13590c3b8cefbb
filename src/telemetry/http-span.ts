import type { MeasuredHttpRequest } from '../agent/observe/telemetry.ts'
import { syncAnswer } from '../core/callbacks/callbacks.ts'
import { context, SpanKind, SpanStatusCode, type Tracer, trace } from './api.ts'
import { type FailSafe, within } from './fail-safe.ts'
import { RedactedSpan } from './redacted-span.ts'
import { readTraceHeaders } from './trace-context.ts'

/**
 * Creates a span for a request to the service, unless the HTTP server has already started one. The span belongs to the trace that the
 * request's `traceparent` header names.
 */
export async function aroundHttpRequest<Answer extends { readonly status: number }>(
  { method, route, path, headers }: MeasuredHttpRequest,
  next: () => Promise<Answer>,
  { tracer, attempt }: { tracer(): Tracer; attempt: FailSafe },
): Promise<Answer> {
  const open = attempt(() => {
    const active = context.active()
    if (trace.getSpan(active) !== undefined) return undefined
    const traceparent = headers.get('traceparent')
    const caller = readTraceHeaders(traceparent === null ? undefined : { traceparent, tracestate: headers.get('tracestate') })
    const parent = caller === undefined ? active : trace.setSpanContext(active, caller)
    const attributes = { 'http.request.method': method, 'http.route': route, 'url.path': path }
    const span = syncAnswer('startSpan', tracer().startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent))
    return { span: new RedactedSpan(span), context: trace.setSpan(parent, span) }
  })
  try {
    const response = await within(attempt, open?.context, next)
    attempt(() => open && recordStatus(open.span, response.status))
    return response
  } finally {
    attempt(() => open?.span.end())
  }
}

function recordStatus(span: RedactedSpan, status: number): void {
  span.setAttribute('http.response.status_code', status)
  if (status < 500) return
  span.setAttribute('error.type', String(status))
  span.setStatus({ code: SpanStatusCode.ERROR })
}
