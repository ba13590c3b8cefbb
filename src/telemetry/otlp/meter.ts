import type { Attributes, Counter, Histogram, Meter } from '../api.ts'
import { keyValues, nanosecondsOf } from './attributes.ts'
import type { OtlpMessage } from './encode.ts'

/** Attributes may come from outside: a metric keeps this many series, all others share one more. */
const maxSeries = 2_000
const overflow: Attributes = { 'otel.metric.overflow': true }
const [deltaTemporality, cumulativeTemporality] = [1, 2]

interface Series {
  attributes: Attributes
  count: number
  sum: number
  min: number
  max: number
  buckets: number[]
}

interface Metric {
  name: string
  unit: string
  /** Of a histogram. */
  bounds: readonly number[] | undefined
  series: Map<string, Series>
}

/** Counters and histograms, as far as telemetry needs them. */
export class OtlpMeter implements Pick<Meter, 'createCounter' | 'createHistogram'> {
  readonly #metrics: Metric[] = []
  readonly #isDelta: boolean
  #since = nanosecondsOf(undefined)

  /** `isDelta`: what is collected is since the last time, instead of since the start. */
  constructor(isDelta: boolean) {
    this.#isDelta = isDelta
  }

  createCounter(name: string, { unit = '' }: { unit?: string } = {}): Counter {
    const metric = this.#add(name, unit, undefined)
    return { add: (value, attributes = {}) => record(metric, value, attributes) }
  }

  createHistogram(name: string, { unit = '', advice = {} }: Parameters<Meter['createHistogram']>[1] = {}): Histogram {
    const metric = this.#add(name, unit, advice.explicitBucketBoundaries ?? [])
    return { record: (value, attributes = {}) => record(metric, value, attributes) }
  }

  /** The metrics of now; empty where nothing was measured. */
  collect(): OtlpMessage[] {
    const times = { startTimeUnixNano: this.#since, timeUnixNano: nanosecondsOf(undefined) }
    const aggregationTemporality = this.#isDelta ? deltaTemporality : cumulativeTemporality
    const collected = this.#metrics.flatMap(({ name, unit, bounds, series }): OtlpMessage[] => {
      if (series.size === 0) return []
      const all = [...series.values()]
      if (bounds === undefined) {
        const dataPoints = all.map(({ attributes, sum }) => ({ ...times, asDouble: sum, attributes: keyValues(attributes) }))
        return [{ name, unit, sum: { dataPoints, aggregationTemporality, isMonotonic: true } }]
      }
      const dataPoints = all.map(({ attributes, count, sum, min, max, buckets }) => {
        const counted = { count: String(count), sum, min, max, bucketCounts: buckets.map(String), explicitBounds: bounds }
        return { ...times, ...counted, attributes: keyValues(attributes) }
      })
      return [{ name, unit, histogram: { dataPoints, aggregationTemporality } }]
    })
    if (this.#isDelta) {
      this.#since = times.timeUnixNano
      for (const { series } of this.#metrics) series.clear()
    }
    return collected
  }

  #add(name: string, unit: string, bounds: readonly number[] | undefined): Metric {
    const metric: Metric = { name, unit, bounds, series: new Map() }
    this.#metrics.push(metric)
    return metric
  }
}

function record({ series, bounds = [] }: Metric, value: number, given: Attributes): void {
  if (!Number.isFinite(value)) return
  const asked = JSON.stringify(given)
  const [key, attributes] = series.has(asked) || series.size < maxSeries ? [asked, given] : ['', overflow]
  let one = series.get(key)
  if (one === undefined) {
    const buckets = Array.from({ length: bounds.length + 1 }, () => 0)
    one = { attributes, count: 0, sum: 0, min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY, buckets }
    series.set(key, one)
  }
  one.count++
  one.sum += value
  one.min = Math.min(one.min, value)
  one.max = Math.max(one.max, value)
  const at = bounds.findIndex((bound) => value <= bound)
  const slot = at < 0 ? bounds.length : at
  one.buckets[slot] = (one.buckets[slot] ?? 0) + 1
}
