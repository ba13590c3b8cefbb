import { visibleLines } from '../../core/text/visible.ts'

interface PlotProps {
  /** A description of the plot for people who can't see it. */
  label: string
  /** The values of each step, earliest first. A missing value is null. Two series are drawn as lines, and one series as bars. */
  series: (number | null)[][]
  /** The tooltip of each step. */
  words: string[]
  hrefs: string[]
  format(value: number): string
  /** The color of the bars. `bad` marks failures. */
  tone?: 'bad' | undefined
}

const [width, height, top] = [300, 72, 4]
/** The space between two bars, as a share of the width of a step. */
const gap = 0.22
/** The styles of the lines. They differ even for people who can't distinguish colors. */
const looks = ['plot-line', 'plot-line dashed']

/** A small plot over time. The page must also show its values in a table. */
export function Plot({ label, series, words, hrefs, format, tone }: PlotProps) {
  const most = Math.max(0, ...series.flat().map((value) => value ?? 0))
  const stepWidth = width / words.length
  const x = (step: number) => step * stepWidth
  const y = (value: number) => (most === 0 ? height : height - (value / most) * (height - top))
  return (
    <div class="plot-box">
      <span class="plot-most" aria-hidden="true">
        {most === 0 ? '' : format(most)}
      </span>
      <svg class="plot" viewBox={`0 0 ${width} ${height + 1}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {[0, 0.5, 1].map((share) => (
          <path key={share} class="plot-grid" d={`M0 ${height - share * (height - top)}H${width}`} />
        ))}
        {series.length > 1
          ? looks.map((look, at) => <path key={look} class={look} d={lineThrough(series[at] ?? [], (step) => x(step + 0.5), y)} />)
          : barsOf(series[0] ?? []).map(({ step, value }) => (
              <rect
                key={step}
                class={tone === undefined ? 'plot-bar' : `plot-bar ${tone}`}
                x={x(step + gap / 2)}
                y={y(value)}
                width={stepWidth * (1 - gap)}
                height={height - y(value)}
              />
            ))}
      </svg>
      {/* The pointer target of a step has the full height of the plot, even if the value is small. Keyboard users reach the same runs
          through the table. */}
      <span class="plot-steps" aria-hidden="true">
        {words.map((word, at) => (
          <a key={word} class="plot-step" href={hrefs[at]} title={word} tabIndex={-1}>
            <span class="visually-hidden">{word}</span>
          </a>
        ))}
      </span>
    </div>
  )
}

function barsOf(values: (number | null)[]): { step: number; value: number }[] {
  return values.flatMap((value, step) => (value === null || value === 0 ? [] : [{ step, value }]))
}

/** Returns a path through the values. A value without neighbors becomes a dot. */
function lineThrough(values: (number | null)[], x: (step: number) => number, y: (value: number) => number): string {
  let path = ''
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    const before = values[at - 1] ?? null
    path += before === null ? `M${x(at)} ${y(value)}h0` : `L${x(at)} ${y(value)}`
  }
  return path
}

/** Shows how often things occurred, as a list with bars. The most frequent comes first. */
export function BarList({ bars, tone }: { bars: { name: string; href: string; value: number }[]; tone?: 'bad' }) {
  const most = Math.max(1, ...bars.map(({ value }) => value))
  if (bars.length === 0) return null
  return (
    <ul class="bar-list">
      {bars.map(({ name, href, value }) => (
        <li key={name}>
          <a class="bar-name share-link" href={href}>
            {visibleLines(name)}
          </a>
          <span class="bar-value">{value.toLocaleString()}</span>
          <span class={tone === undefined ? 'bar-share' : `bar-share ${tone}`} aria-hidden="true" style={{ '--share': value / most }} />
        </li>
      ))}
    </ul>
  )
}
