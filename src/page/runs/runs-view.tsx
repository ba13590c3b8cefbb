import { useEffect, useRef } from 'preact/hooks'
import { Compare } from '../compare/compare.tsx'
import { useTitle } from '../shell/address.ts'
import { loaded } from '../ui/loaded.tsx'
import { comparedIn, compareHref, runHref } from './addresses.ts'
import { RunListPane } from './run-list.tsx'

const loadRunView = () => import('../run/run-view.tsx')
const RunView = loaded(() => loadRunView().then(({ RunView }) => RunView))

/** Shows all runs. Beside the list, shows one run, or two runs that are compared. */
export function RunsView({ param }: { param: string | undefined }) {
  useTitle('Runs')
  const element = useRef<HTMLDivElement>(null)
  const side = useRef<HTMLDivElement>(null)
  const compared = comparedIn(param)
  // While the user chooses a run for a comparison, each run in the list links to the comparison.
  const isChoosing = compared?.[1] === ''
  const hrefOf = (id: string) => {
    if (compared === undefined || !isChoosing) return runHref(id)
    return compared[0] === '' ? compareHref(id) : compareHref(compared[0], id)
  }
  // Loads the view of a run in advance, after the list. A run then opens at once, even without a connection.
  useEffect(() => void loadRunView().catch(() => {}), [])
  useEffect(() => {
    const shown = param === undefined ? element : side
    shown.current?.querySelector('h1, h2')?.scrollIntoView({ block: 'nearest' })
  }, [param])
  const mode = isChoosing ? ' is-choosing' : param === undefined ? '' : ' has-selection'
  return (
    <div ref={element} class={`split${mode}`}>
      <RunListPane selected={compared === undefined ? param : compared[0]} hrefOf={hrefOf} />
      {param !== undefined && (
        <div key={param} ref={side} class="split-side">
          {compared === undefined ? <RunView id={param} /> : <Compare first={compared[0]} second={compared[1]} />}
        </div>
      )}
    </div>
  )
}
