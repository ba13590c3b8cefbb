import { duration, money } from '../data/format.ts'
import type { Overview, Sums } from '../types.ts'
import { scrollable } from '../ui/scrollable.ts'
import { failedRuns, stepHref } from './links.ts'
import { timeOfStep } from './use-overview.ts'

const heads = ['From', 'Runs', 'Failures', 'Worked, median', '95 %', 'Input tokens', 'Output tokens', 'Cost']

/** Shows the values of the plots as a table. */
export function NumbersTable({ overview }: { overview: Overview }) {
  return (
    <details class="raw overview-table" hidden={overview.runs === 0}>
      <summary class="raw-summary">Show the numbers as a table</summary>
      <div class="table-box" {...scrollable('Numbers by time')}>
        <table>
          <caption class="visually-hidden">Runs by the time they ended</caption>
          <thead>
            <tr>
              {heads.map((one) => (
                <th key={one} scope="col">
                  {one}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {overview.series.map((step, at) => {
              const time = timeOfStep(overview, at)
              return (
                <Row
                  key={time}
                  step={step}
                  time={time}
                  href={stepHref(overview, at)}
                  failedHref={stepHref(overview, at, { stopReason: failedRuns })}
                />
              )
            })}
          </tbody>
        </table>
      </div>
    </details>
  )
}

function Row({ step, time, href, failedHref }: { step: Sums; time: string; href: string; failedHref: string }) {
  const { runs, failed, p50Ms, p95Ms, inputTokens, outputTokens, costUsd } = step
  const took = (ms: number | null) => (ms === null ? '–' : duration(ms))
  return (
    <tr>
      <th scope="row">{time}</th>
      <td>{runs === 0 ? '0' : <a href={href}>{runs.toLocaleString()}</a>}</td>
      <td>{failed === 0 ? '0' : <a href={failedHref}>{failed.toLocaleString()}</a>}</td>
      <td>{took(p50Ms)}</td>
      <td>{took(p95Ms)}</td>
      <td>{inputTokens.toLocaleString()}</td>
      <td>{outputTokens.toLocaleString()}</td>
      <td>{costUsd === 0 ? '–' : money(costUsd)}</td>
    </tr>
  )
}
