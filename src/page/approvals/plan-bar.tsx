import { useRef, useState } from 'preact/hooks'
import { count } from '../data/format.ts'
import { announce } from '../ui/announce.ts'
import { useLive } from '../ui/live-context.ts'
import { useNewId } from '../ui/new-id.ts'
import { isFocusFree } from '../ui/refocus.ts'
import { decidePlan, type OpenDecision } from './open-decision.ts'

/** Decides the calls of a plan at once: those that are selected are carried out, in order, and the others are rejected. */
export function PlanBar({ decisions, onDone }: { decisions: readonly OpenDecision[]; onDone: () => void }) {
  const live = useLive()
  const [isBusy, setIsBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const boxId = useNewId()
  const bar = useRef<HTMLDivElement>(null)
  const selected = decisions.filter(({ isSelected }) => isSelected.value)
  const decideAll = async () => {
    if (isBusy) return
    setIsBusy(true)
    const failed = await decidePlan(decisions)
    setIsBusy(false)
    setFailure(failed)
    if (failed !== '') return
    announce(`Approved: ${selected.length} of ${count(decisions.length, 'call')}`)
    live.refresh()
    if (isFocusFree(bar.current)) onDone()
  }
  return (
    <>
      <div ref={bar} class="selection-bar" hidden={decisions.length < 2} aria-busy={isBusy ? 'true' : undefined}>
        <span class="check-row">
          <input
            type="checkbox"
            id={boxId}
            checked={decisions.length > 0 && selected.length === decisions.length}
            onChange={({ currentTarget }) => {
              for (const { isSelected } of decisions) isSelected.value = currentTarget.checked
            }}
          />
          <label for={boxId}>The whole plan</label>
        </span>
        <div class="buttons">
          <button type="button" class={selected.length === 0 ? 'danger' : 'primary'} onClick={decideAll}>
            {selected.length === 0 ? 'Reject all' : `Carry out ${selected.length} of ${decisions.length}`}
          </button>
        </div>
      </div>
      <p class="error-text" role="alert">
        {failure}
      </p>
    </>
  )
}
