import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

// An application that uses OpenTelemetry does this once: its SDK registers a provider, and tracks the current span.
const exporter = new InMemorySpanExporter()
const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer('shop')
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const stock = defineTool({
  name: 'stock',
  description: 'How many lamps are in stock.',
  execute: () =>
    tracer.startActiveSpan('SELECT lamps', (span) => {
      span.end()
      return 7
    }),
})

const runner = new AgentRunner({
  name: 'clerk',
  model: scriptedModel([{ toolCalls: [{ name: 'stock' }] }, 'There are seven.']),
  tools: [stock],
  // Without `tracer`, the tracer of the registered provider is used.
  telemetry: telemetry({ tracer }),
})
await runner.run('How many lamps are there?')

const spans = exporter.getFinishedSpans()
const nameOf = (spanId: string | undefined) => spans.find((span) => span.spanContext().spanId === spanId)?.name ?? '–'
for (const { name, parentSpanContext } of spans) console.log(`${name} < ${nameOf(parentSpanContext?.spanId)}`)
