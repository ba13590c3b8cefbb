import { context, propagation, type Tracer } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'

/** A tracer and a meter that keep spans and metrics in memory. */
export function startTracing() {
  const exporter = new InMemorySpanExporter()
  // Records the order of starts and events, because their times are too coarse.
  const begun: string[] = []
  const order: SpanProcessor = {
    onStart: (span) => {
      const { spanId } = span.spanContext()
      begun.push(spanId)
      const addEvent = span.addEvent.bind(span)
      span.addEvent = (...event) => {
        begun.push(eventOf(spanId, span.events.length))
        return addEvent(...event)
      }
    },
    onEnd: () => {},
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const provider = new TracerProvider({ spanProcessors: [order, new SimpleSpanProcessor({ exporter })] })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  // Exported when a test asks for it.
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 })
  const meters = new MeterProvider({ readers: [reader] })
  const tracer: Tracer = provider.getTracer('tests')
  return {
    tracer,
    meter: meters.getMeter('tests'),
    /** The ended spans, in order. */
    spans: (): ReadableSpan[] => exporter.getFinishedSpans(),
    span: (name: string): ReadableSpan => {
      const found = exporter.getFinishedSpans().filter((span) => span.name === name)
      if (found.length !== 1 || found[0] === undefined) throw new Error(`Expected one span \`${name}\`, got ${found.length}`)
      return found[0]
    },
    tree: (): string => printTree(exporter.getFinishedSpans(), begun),
    async metrics() {
      await meters.forceFlush()
      const [last] = metricExporter.getMetrics().slice(-1)
      return (last?.scopeMetrics ?? []).flatMap(({ metrics }) => metrics)
    },
    async [Symbol.asyncDispose]() {
      await meters.shutdown()
      await provider.shutdown()
    },
  }
}

/** Tracks the active context, as in a service with OpenTelemetry. */
export function keepContext(): Disposable {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return {
    [Symbol.dispose]() {
      context.disable()
      propagation.disable()
    },
  }
}

/** The attributes that a printed tree shows, with their labels. */
const shown: Record<string, string> = {
  'gen_ai.tool.call.id': 'call',
  'gen_ai.usage.input_tokens': 'in',
  'gen_ai.usage.output_tokens': 'out',
  'gen_ai.response.finish_reasons': 'finish',
  'toolloop.stop_reason': 'ended',
  'toolloop.run.resumed': 'resumed',
  'toolloop.retries': 'retries',
  'toolloop.tool.outcome': 'outcome',
  'toolloop.tool.decided': 'decided',
  'error.type': 'error',
}

function eventOf(spanId: string, at: number): string {
  return `${spanId} ${at}`
}

/** The spans as a waterfall without times: each below its parent, among its events. `begun`: spans and events in order. */
function printTree(ended: readonly ReadableSpan[], begun: readonly string[]): string {
  const placeOf = (span: ReadableSpan): number => begun.indexOf(span.spanContext().spanId)
  const spans = ended.toSorted((a, b) => placeOf(a) - placeOf(b))
  const ids = new Set(spans.map((span) => span.spanContext().spanId))
  const traces = [...new Set(spans.map((span) => span.spanContext().traceId))]
  const lines: string[] = []
  const print = (span: ReadableSpan, depth: number): void => {
    const fields = Object.entries(shown).flatMap(([key, name]) =>
      span.attributes[key] === undefined ? [] : [`${name}=${String(span.attributes[key])}`],
    )
    lines.push(`${'  '.repeat(depth)}${span.name}${fields.length === 0 ? '' : ` (${fields.join(' ')})`}`)
    const { spanId } = span.spanContext()
    const events = span.events.map(({ name, attributes = {} }, at) => {
      const about = attributes['gen_ai.tool.name'] ?? attributes['exception.message'] ?? ''
      const line = `${'  '.repeat(depth + 1)}* ${name}${about === '' ? '' : `: ${String(about)}`}`
      return { place: begun.indexOf(eventOf(spanId, at)), print: () => void lines.push(line) }
    })
    const below = spans
      .filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId)
      .map((child) => ({ place: placeOf(child), print: () => print(child, depth + 1) }))
    for (const one of [...events, ...below].toSorted((a, b) => a.place - b.place)) one.print()
  }
  for (const [at, traceId] of traces.entries()) {
    lines.push(`trace ${at + 1}`)
    const roots = spans.filter((span) => {
      const { parentSpanContext } = span
      return span.spanContext().traceId === traceId && (parentSpanContext === undefined || !ids.has(parentSpanContext.spanId))
    })
    for (const root of roots) print(root, 1)
  }
  return lines.join('\n')
}
