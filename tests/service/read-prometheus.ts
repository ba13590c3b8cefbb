/** A metric as Prometheus would have it. */
export interface Family {
  type: string
  samples: { name: string; labels: Record<string, string>; value: number }[]
}

const label = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y

/**
 * Reads what a service gives to Prometheus, as strictly as its formats are specified: throws for a sample without a family, one that is there
 * twice, a histogram whose buckets don't count up to its count, and in OpenMetrics for a counter by another name, or an end that is missing.
 */
export function readPrometheus(text: string, format: 'text' | 'openmetrics'): Map<string, Family> {
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  const fail = (why: string, line: string): never => {
    throw new Error(`${why}: ${line}`)
  }
  const lines = text.split('\n')
  if (lines.pop() !== '') fail('The last line does not end', text.slice(-40))
  if (format === 'openmetrics' && lines.pop() !== '# EOF') fail('Expected # EOF', text.slice(-40))
  let current: [name: string, family: Family] | undefined
  for (const line of lines) {
    const [, kind, family = '', rest = ''] = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (families.has(family)) fail('Announced twice', line)
      current = undefined
      continue
    }
    if (kind === 'TYPE') {
      if (!['counter', 'gauge', 'histogram'].includes(rest) || families.has(family)) fail('No type', line)
      current = [family, { type: rest, samples: [] }]
      families.set(family, current[1])
      continue
    }
    const [, name = '', , labelText = '', value = ''] = /^([a-zA-Z_:][\w:]*)(\{(.*)\})? (\S+)$/.exec(line) ?? fail('No sample', line)
    if (current === undefined) return fail('A sample without a type', line)
    const suffixes: Record<string, string[]> = {
      counter: [format === 'openmetrics' ? '_total' : ''],
      gauge: [''],
      histogram: ['_bucket', '_sum', '_count'],
    }
    if (!suffixes[current[1].type]?.some((suffix) => name === current?.[0] + suffix)) fail('Of another family', line)
    const labels: Record<string, string> = {}
    label.lastIndex = 0
    while (label.lastIndex < labelText.length) {
      const [, key = '', shown = ''] = label.exec(labelText) ?? fail('No labels', line)
      if (key in labels) fail('A label twice', line)
      labels[key] = shown.replace(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one))
    }
    const key = `${name} ${JSON.stringify(Object.entries(labels).toSorted())}`
    if (seen.has(key)) fail('A sample twice', line)
    seen.add(key)
    if (value !== 'NaN' && !Number.isFinite(Number(value))) fail('No number', line)
    current[1].samples.push({ name, labels, value: Number(value) })
  }
  for (const [name, { type, samples }] of families) if (type === 'histogram') checkHistogram(name, samples, format)
  return families
}

function checkHistogram(name: string, samples: Family['samples'], format: 'text' | 'openmetrics'): void {
  const of = (suffix: string) => samples.filter((sample) => sample.name === name + suffix)
  for (const { labels, value } of of('_count')) {
    const own = of('_bucket').filter(({ labels: { le: _, ...others } }) => JSON.stringify(others) === JSON.stringify(labels))
    const bounds = own.map(({ labels: { le = '' } }) => {
      if (format === 'openmetrics' && le !== '+Inf' && !le.includes('.')) throw new Error(`${name}: ${le} is no canonical bound`)
      return le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
    })
    const counts = own.map((sample) => sample.value)
    const isSorted = (list: number[]) => list.every((one, at) => at === 0 || one >= (list[at - 1] ?? 0))
    if (!isSorted(bounds) || !isSorted(counts) || bounds.at(-1) !== Number.POSITIVE_INFINITY || counts.at(-1) !== value)
      throw new Error(`${name}: buckets don't count up to ${value}`)
  }
}

/** The value of one sample; undefined where it is not there. */
export function valueIn(families: Map<string, Family>, name: string, labels: Record<string, string>): number | undefined {
  const all = [...families.values()].flatMap(({ samples }) => samples)
  const found = all.filter((sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}
