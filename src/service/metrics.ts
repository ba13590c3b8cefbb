/** The upper bounds of the histogram buckets, in seconds. */
const buckets = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
/**
 * Maximum number of series of a metric. The limit is needed because clients choose label values. All further label values share one series.
 */
const maxSeries = 500

type Labels = Readonly<Record<string, string>>

interface Metric {
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  series: Map<string, { value: number; buckets?: number[] }>
  /** Returns the value of a gauge. Called when the metrics are read. */
  read?(): number | Promise<number>
}

/**
 * The text format of Prometheus, or OpenMetrics. They differ in the names of counter families, the format of bounds, and the end marker.
 */
export type MetricsFormat = 'text' | 'openmetrics'

export const contentTypes: Readonly<Record<MetricsFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** Returns the format that an `accept` header prefers. Default: `text`. */
export function formatFor(accept: string | null): MetricsFormat {
  const wanted = (type: string) => {
    const range = (accept ?? '').split(',').find((one) => one.trim().split(';')[0] === type)
    const quality = range === undefined ? 0 : Number(/;\s*q=([\d.]+)/.exec(range)?.[1] ?? 1)
    return Number.isFinite(quality) ? quality : 0
  }
  const openMetrics = wanted('application/openmetrics-text')
  return openMetrics > 0 && openMetrics >= wanted('text/plain') ? 'openmetrics' : 'text'
}

/**
 * The metrics of the service, in Prometheus' format: https://prometheus.io/docs/instrumenting/exposition_formats/ and
 * https://prometheus.io/docs/specs/om/open_metrics_spec/.
 */
export class Metrics {
  readonly #metrics = new Map<string, Metric>()

  counter(name: string, help: string): (labels: Labels, by?: number) => void {
    const metric = this.#add(name, { help, type: 'counter', series: new Map() })
    return (labels, by = 1) => {
      seriesOf(metric, labels).value += by
    }
  }

  /** Adds a gauge. If `read` fails, the value is NaN. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void {
    this.#add(name, { help, type: 'gauge', series: new Map(), read })
  }

  /** Adds a histogram of durations in seconds. */
  histogram(name: string, help: string): (labels: Labels, seconds: number) => void {
    const metric = this.#add(name, { help, type: 'histogram', series: new Map() })
    return (labels, seconds) => {
      const series = seriesOf(metric, labels)
      series.buckets ??= buckets.map(() => 0)
      series.value += seconds
      const at = buckets.findIndex((bound) => seconds <= bound)
      // The last bucket counts the values above the highest bound.
      const slot = at < 0 ? buckets.length : at
      series.buckets[slot] = (series.buckets[slot] ?? 0) + 1
    }
  }

  async toText(format: MetricsFormat = 'text'): Promise<string> {
    let text = ''
    for (const [name, { help, type, series, read }] of this.#metrics) {
      const family = format === 'openmetrics' && type === 'counter' ? name.replace(/_total$/, '') : name
      text += `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`
      if (read !== undefined) text += `${name} ${await (async () => read())().catch(() => Number.NaN)}\n`
      for (const [labels, { value, buckets: counts }] of series) {
        text += counts === undefined ? `${name}${braced(labels)} ${value}\n` : histogramText(name, labels, value, counts, format)
      }
    }
    return format === 'openmetrics' ? `${text}# EOF\n` : text
  }

  #add(name: string, metric: Metric): Metric {
    this.#metrics.set(name, metric)
    return metric
  }
}

function seriesOf({ series }: Metric, labels: Labels): { value: number; buckets?: number[] } {
  const asked = labelText(labels)
  const key =
    series.has(asked) || series.size < maxSeries ? asked : labelText(Object.fromEntries(Object.keys(labels).map((name) => [name, 'other'])))
  const known = series.get(key)
  if (known !== undefined) return known
  const fresh = { value: 0 }
  series.set(key, fresh)
  return fresh
}

function labelText(labels: Labels): string {
  let text = ''
  for (const name of Object.keys(labels)) text += `${text === '' ? '' : ','}${name}="${escaped(labels[name] ?? '')}"`
  return text
}

function escaped(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

function histogramText(name: string, labels: string, sum: number, counts: readonly number[], format: MetricsFormat): string {
  let total = 0
  let text = ''
  for (const [at, bound] of [...buckets, '+Inf'].entries()) {
    total += counts[at] ?? 0
    const shown = format === 'openmetrics' && Number.isInteger(bound) ? `${bound}.0` : bound
    text += `${name}_bucket${braced([labels, `le="${shown}"`].filter(Boolean).join(','))} ${total}\n`
  }
  return `${text}${name}_sum${braced(labels)} ${sum}\n${name}_count${braced(labels)} ${total}\n`
}
