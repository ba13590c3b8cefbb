import { useEffect, useRef } from 'preact/hooks'
import { Compare } from '../compare/compare.tsx'
import { useTitle } from '../shell/address.ts'
import { loaded } from '../ui/loaded.tsx'
import { comparedIn, compareHref, runHref } from './addresses.ts'
import { RunListPane } from './run-list.tsx'

const loadRunView = () => import('../run/run-view.tsx')
const RunView = loaded(() => loadRunView().then(({ RunView }) => RunView))

/** All runs, beside one of them, or beside two that are compared. */
export function RunsView({ param }: { param: string | undefined }) {
  useTitle('Runs')
  const element = useRef<HTMLDivElement>(null)
  const side = useRef<HTMLDivElement>(null)
  const compared = comparedIn(param)
  // While a run is being chosen for a comparison, the list links to that.
  const isChoosing = compared?.[1] === ''
  const hrefOf = (id: string) => {
    if (compared === undefined || !isChoosing) return runHref(id)
    return compared[0] === '' ? compareHref(id) : compareHref(compared[0], id)
  }
  // Loaded after the list, so that a run opens at once, even without a connection.
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
