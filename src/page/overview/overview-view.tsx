import { count } from '../data/format.ts'
import { Activity } from '../runs/activity.tsx'
import { runsHref } from '../runs/addresses.ts'
import { useTitle } from '../shell/address.ts'
import type { Overview } from '../types.ts'
import { useLive } from '../ui/live-context.ts'
import { Loading } from '../ui/loaded.tsx'
import { FirstRun } from './first-run.tsx'
import { Metrics } from './metrics.tsx'
import { NumbersTable } from './numbers-table.tsx'
import { timeOfDay, useOverview, type WindowName } from './use-overview.ts'
import { WrongNow } from './wrong-now.tsx'

const windows: Record<WindowName, string> = { hour: 'Last hour', day: 'Last day' }

/** Shows an overview of the runs of the last hour or day. `param` is `hour` or `day`. */
export function OverviewView({ param }: { param: string | undefined }) {
  useTitle('Overview')
  const name = param === 'day' ? 'day' : 'hour'
  const { loaded, failure, load } = useOverview(useLive(), name)
  return (
    <div class="column wide">
      <div class="view-head">
        <h1 tabIndex={-1}>Overview</h1>
        <nav class="segments" aria-label="Time">
          {Object.entries(windows).map(([key, words]) => (
            <a key={key} href={`#/overview/${key}`} aria-current={key === name ? 'true' : undefined}>
              {words}
            </a>
          ))}
        </nav>
        <p class="muted">{loaded !== undefined && <Status overview={loaded.overview} />}</p>
      </div>
      <WrongNow overview={loaded?.overview} name={loaded?.name ?? name} />
      {(loaded === undefined || failure !== '') && <Loading failure={failure} retry={load} />}
      {loaded !== undefined && (
        <>
          <div class="stack">
            {loaded.overview.runs === 0 ? (
              <FirstRun why={`No run has ended in the last ${loaded.name}.`} />
            ) : (
              <Metrics overview={loaded.overview} />
            )}
          </div>
          <NumbersTable overview={loaded.overview} />
        </>
      )}
      <Activity />
    </div>
  )
}

function Status({ overview: { running, waiting, since, from } }: { overview: Overview }) {
  const isPart = Date.parse(since) > Date.parse(from)
  return (
    <>
      <a href={runsHref({ status: 'running' })}>{`${count(running, 'run')} running`}</a>
      {' · '}
      <a href={runsHref({ status: 'waiting', sort: '-waited' })}>{`${waiting.toLocaleString()} waiting for a decision`}</a>
      {isPart && ` · counted since ${timeOfDay.format(new Date(since))}`}
    </>
  )
}
