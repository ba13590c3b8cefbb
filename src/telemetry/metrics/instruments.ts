import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import type { Usage } from '../../core/messages.ts'
import type { Attributes, Counter, Histogram, Meter } from '../api.ts'
import { type MetricNames, tokensOf, type UsageKind } from '../names.ts'
import { addTo, recordIn } from '../redacted-span.ts'

const doubling = (first: number, last: number): number[] => {
  const buckets: number[] = []
  for (let bucket = first; bucket <= last * 1.001; bucket *= 2) buckets.push(Number(bucket.toPrecision(6)))
  return buckets
}
const requestSeconds = doubling(0.01, 81.92)
const runSeconds = doubling(0.1, 409.6)
const counts = doubling(1, 128)
const tokens = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]

/** The part of a meter that telemetry needs. */
export type InstrumentMaker = Pick<Meter, 'createCounter' | 'createHistogram'>

/** The metrics of runs. Their names depend on the version of the conventions. */
export class Instruments {
  readonly #requestDuration: Histogram
  readonly #timeToFirstChunk: Histogram
  readonly #timePerOutputChunk: Histogram | undefined
  readonly #runDuration: Histogram | undefined
  readonly #requestsOfRun: Histogram | undefined
  readonly #callsOfRun: Histogram | undefined
  readonly #callDuration: Histogram | undefined
  readonly #recordTokens: (kind: UsageKind, count: number, attributes: Attributes) => void

  constructor(meter: InstrumentMaker, names: MetricNames) {
    const histogram = (name: string, unit: string, explicitBucketBoundaries: number[]): Histogram =>
      syncAnswer('createHistogram', meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } }))
    const optional = (name: string | undefined, unit: string, buckets: number[]) =>
      name === undefined ? undefined : histogram(name, unit, buckets)
    this.#requestDuration = histogram(names.requestDuration, 's', requestSeconds)
    this.#timeToFirstChunk = histogram(names.timeToFirstChunk, 's', requestSeconds)
    this.#timePerOutputChunk = optional(names.timePerOutputChunk, 's', requestSeconds)
    this.#runDuration = optional(names.runDuration, 's', runSeconds)
    this.#requestsOfRun = optional(names.requestsOfRun, '{call}', counts)
    this.#callsOfRun = optional(names.callsOfRun, '{call}', counts)
    this.#callDuration = optional(names.callDuration, 's', requestSeconds)
    this.#recordTokens = tokenRecorder(meter, names.usage)
  }

  /** Records a model request that has ended, successfully or not. */
  request(seconds: number, firstChunkSeconds: number | undefined, usage: Usage | undefined, attributes: Attributes): void {
    recordIn(this.#requestDuration, seconds, attributes)
    if (firstChunkSeconds !== undefined) recordIn(this.#timeToFirstChunk, firstChunkSeconds, attributes)
    if (usage !== undefined) for (const [kind, count] of tokensOf(usage)) this.#recordTokens(kind, count, attributes)
  }

  /** Records the gaps between the pieces of a response. */
  chunks(seconds: Iterable<number>, attributes: Attributes): void {
    if (this.#timePerOutputChunk !== undefined) for (const one of seconds) recordIn(this.#timePerOutputChunk, one, attributes)
  }

  run(seconds: number, did: { requests: number; calls: number }, attributes: Attributes): void {
    recordIn(this.#runDuration, seconds, attributes)
    recordIn(this.#requestsOfRun, did.requests, attributes)
    recordIn(this.#callsOfRun, did.calls, attributes)
  }

  call(seconds: number, attributes: Attributes): void {
    recordIn(this.#callDuration, seconds, attributes)
  }
}

function tokenRecorder(
  meter: InstrumentMaker,
  names: MetricNames['usage'],
): (kind: UsageKind, count: number, attributes: Attributes) => void {
  if ('histogram' in names) {
    const usage = syncAnswer(
      'createHistogram',
      meter.createHistogram(names.histogram, { unit: '{token}', advice: { explicitBucketBoundaries: tokens } }),
    )
    // The old metric counts only input and output tokens.
    return (kind, count, attributes) => {
      if (kind === 'input' || kind === 'output') recordIn(usage, count, { ...attributes, 'gen_ai.token.type': kind })
    }
  }
  const counters = new Map<UsageKind, Counter>()
  for (const [kind, name] of Object.entries(names) as [UsageKind, string][])
    counters.set(kind, syncAnswer('createCounter', meter.createCounter(name, { unit: '{token}' })))
  return (kind, count, attributes) => addTo(counters.get(kind), count, attributes)
}
