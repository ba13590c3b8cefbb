import type { SpanKind as Kind } from '@opentelemetry/api'
import { ToolloopError } from '../core/errors.ts'
import { loadApi } from './load-api.cjs'

export type {
  Attributes,
  AttributeValue,
  Context,
  Counter,
  Histogram,
  Link,
  Meter,
  Span,
  SpanContext,
  SpanStatus,
  Tracer,
  TracerProvider,
} from '@opentelemetry/api'

/** Loads the package. Throws `missing_dependency` if it is not installed. */
function load(): Api {
  try {
    return loadApi()
  } catch (cause) {
    const message = 'Telemetry needs the package `@opentelemetry/api`: npm install @opentelemetry/api'
    throw new ToolloopError('missing_dependency', message, { cause })
  }
}

const api: Api = load()
type Api = typeof import('@opentelemetry/api')

export const context: Api['context'] = api.context
export const createTraceState: Api['createTraceState'] = api.createTraceState
export const DiagLogLevel: Api['DiagLogLevel'] = api.DiagLogLevel
export const diag: Api['diag'] = api.diag
export const isSpanContextValid: Api['isSpanContextValid'] = api.isSpanContextValid
export const metrics: Api['metrics'] = api.metrics
export const propagation: Api['propagation'] = api.propagation
export const ROOT_CONTEXT: Api['ROOT_CONTEXT'] = api.ROOT_CONTEXT
export const SpanKind: Api['SpanKind'] = api.SpanKind
export const SpanStatusCode: Api['SpanStatusCode'] = api.SpanStatusCode
export const trace: Api['trace'] = api.trace
export type SpanKind = Kind
