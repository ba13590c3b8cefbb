import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { AgentRunner, defineTool, type RunnerOptions } from '../../src/index.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

/**
 * What telemetry adds to a model request, in processor time: a run has twenty, each with a call, so that two spans are made for each. Least of
 * several rounds.
 */
const requests = 20
const goes = 50
const tool = defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'seen' })
const turns = [...Array.from({ length: requests - 1 }, () => ({ toolCalls: [{ name: 'look' }] })), 'done']

async function microseconds(options: Pick<RunnerOptions, 'telemetry'>): Promise<number> {
  const start = process.cpuUsage()
  for (let go = 0; go < goes; go++) {
    const model = scriptedModel(turns, { record: false })
    const limits = { repeatedCalls: Number.POSITIVE_INFINITY }
    await new AgentRunner({ model, tools: [tool], maxIterations: 30, limits, ...options }).run('go')
  }
  const { user, system } = process.cpuUsage(start)
  return (user + system) / goes / requests
}

const exporter = new InMemorySpanExporter()
const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer('bench')
const ways: readonly Pick<RunnerOptions, 'telemetry'>[] = [{}, { telemetry: telemetry() }, { telemetry: telemetry({ tracer }) }]
const least = ways.map(() => Number.POSITIVE_INFINITY)
// In turns, and the first rounds for nothing: what runs first is not compiled yet.
for (let round = -5; round < 25; round++) {
  for (const [at, way] of ways.entries()) {
    const time = await microseconds(way)
    if (round >= 0) least[at] = Math.min(least[at] ?? time, time)
    exporter.reset()
  }
}
const [without = 0, off = 0, on = 0] = least
console.log(`telemetry adds to a model request with its call: ${(on - without).toFixed(1)} µs with an exporter in memory`)
console.log(`${(off - without).toFixed(1)} µs where no SDK is registered; ${without.toFixed(1)} µs is what the request costs without it`)
