import { compareHref, listQuery, runHref, runsHref } from '../runs/addresses.ts'
import { Icon } from '../ui/icon.tsx'
import { loaded } from '../ui/loaded.tsx'

const ComparedRuns = loaded(() => import('./compared-runs.tsx').then(({ ComparedRuns }) => ComparedRuns))

/** Shows two runs side by side. If an id is empty, asks the user to choose that run. */
export function Compare({ first, second }: { first: string; second: string }) {
  return (
    <section class="panel compare-panel" aria-label="Compare">
      <a class="back" href={runsHref(listQuery.value)}>
        <Icon name="back" />
        All runs
      </a>
      <div class="panel-head">
        <h2 tabIndex={-1}>Compare runs</h2>
        <div class="panel-actions">
          {second !== '' && (
            <a class="button" href={compareHref(second, first)}>
              Swap
            </a>
          )}
          <a class="button" href={first === '' ? runsHref(listQuery.value) : runHref(first)}>
            {second === '' ? 'Cancel' : 'Close'}
          </a>
        </div>
      </div>
      <div class="compare">
        {second !== '' ? (
          <ComparedRuns first={first} second={second} />
        ) : (
          <p class="muted" role="status">
            {first === '' ? 'Choose the first run in the list.' : 'Choose the run to compare with in the list.'}
          </p>
        )}
      </div>
    </section>
  )
}
