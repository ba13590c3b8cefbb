import { duration, ending, money, short } from '../data/format.ts'
import type { Query } from '../shell/address.ts'
import type { Overview } from '../types.ts'
import { endedHref, failedRuns, stepHref } from './links.ts'
import { BarList, Plot } from './plot.tsx'
import { ShareTable } from './share-table.tsx'
import { timeOfStep } from './use-overview.ts'

/** Shows an overview as figures, each with a plot, and as lists. */
export function Metrics({ overview }: { overview: Overview }) {
  const { runs, failed, p50Ms, p95Ms, inputTokens, outputTokens, costUsd, series, reasons, models, users, tools } = overview
  const share = (failed / runs) * 100
  return (
    <>
      <div class="metrics plots">
        <Metric
          overview={overview}
          title="Runs"
          total={whole(runs)}
          about="ended"
          query={{}}
          series={[series.map((step) => step.runs)]}
          format={whole}
        />
        <Metric
          overview={overview}
          title="Failures"
          total={whole(failed)}
          about={failed === 0 ? '' : `${share.toFixed(share < 10 ? 1 : 0)} % of runs`}
          series={[series.map((step) => step.failed)]}
          format={whole}
          tone="bad"
          query={{ stopReason: failedRuns }}
        />
        <Metric
          overview={overview}
          title="Worked"
          total={p50Ms === null ? '–' : duration(p50Ms)}
          about={`median, without waits for people; 95 % within ${p95Ms === null ? '–' : duration(p95Ms)} (dashed line)`}
          query={{ sort: '-worked' }}
          series={[series.map((step) => step.p50Ms), series.map((step) => step.p95Ms)]}
          format={duration}
        />
        <Metric
          overview={overview}
          title="Tokens"
          total={whole(inputTokens + outputTokens)}
          about={`${whole(inputTokens)} in, ${whole(outputTokens)} out`}
          query={{ sort: '-tokens' }}
          series={[series.map((step) => step.inputTokens + step.outputTokens)]}
          format={whole}
        />
        <Metric
          overview={overview}
          title="Cost"
          total={costUsd === 0 ? '–' : money(costUsd)}
          about={costUsd === 0 ? 'no price is known' : ''}
          query={{ sort: '-cost' }}
          series={[series.map((step) => step.costUsd)]}
          format={money}
        />
      </div>
      <div class="metrics lists">
        <section class="metric">
          <h2>How other runs ended</h2>
          {reasons.length === 0 && <p class="muted">Every run was answered.</p>}
          <BarList
            tone="bad"
            bars={reasons.map(({ stopReason, errorCode, runs: value }) => ({
              name: [ending(stopReason), errorCode].filter(Boolean).join(': '),
              href: endedHref(overview, { stopReason, errorCode: errorCode ?? '' }),
              value,
            }))}
          />
        </section>
        <section class="metric">
          <h2>By model</h2>
          <ShareTable
            words="Model"
            shares={models.map(({ model, ...share }) => ({ ...share, name: model, href: endedHref(overview, { model }) }))}
          />
        </section>
        <section class="metric">
          <h2>By tool</h2>
          {tools.length === 0 ? (
            <p class="muted">No run has called a tool.</p>
          ) : (
            <ShareTable
              words="Tool"
              shares={tools.map(({ tool, ...share }) => ({ ...share, name: tool, href: endedHref(overview, { tool }) }))}
            />
          )}
        </section>
        <section class="metric">
          <h2>By user</h2>
          <ShareTable
            words="User"
            shares={users.map(({ owner, ...share }) => ({ ...share, name: owner, href: endedHref(overview, { owner }) }))}
          />
        </section>
      </div>
    </>
  )
}

interface MetricProps {
  overview: Overview
  title: string
  total: string
  about: string
  /** The query for the runs that the figure counts. */
  query: Query
  series: (number | null)[][]
  format(value: number): string
  tone?: 'bad'
}

function Metric({ overview, title, total, about, query, series, format, tone }: MetricProps) {
  const words = overview.series.map((_, step) => {
    const values = series.map((line) => line[step] ?? null)
    return `${timeOfStep(overview, step)}: ${values.map((value) => (value === null ? 'none' : format(value))).join(', ')}`
  })
  return (
    <section class="metric">
      <h2>{title}</h2>
      <p class="metric-total">
        <a class="figure-link" href={endedHref(overview, query)}>
          {total}
        </a>
      </p>
      <p class="muted metric-about">{about}</p>
      <Plot
        label={`${title} by time: ${[total, about].filter(Boolean).join(', ')}. The numbers are in the table below.`}
        series={series}
        words={words}
        hrefs={words.map((_, step) => stepHref(overview, step, query))}
        format={format}
        tone={tone}
      />
      <p class="plot-times" aria-hidden="true">
        <span>{timeOfStep(overview, 0)}</span>
        <span>now</span>
      </p>
    </section>
  )
}

function whole(value: number): string {
  return short(Math.round(value))
}
