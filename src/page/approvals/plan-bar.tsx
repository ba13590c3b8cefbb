import { count } from '../data/format.ts'
import { confirmDialog } from '../ui/confirm-dialog.tsx'
import { BulkBar, type BulkOutcome } from './bulk-bar.tsx'
import { decidePlan, linesOf, type OpenDecision } from './open-decision.ts'

/** Lets the user decide on all calls of a plan at once. The selected calls are carried out, in order; the others are rejected. */
export function PlanBar({ decisions, onDone }: { decisions: readonly OpenDecision[]; onDone: () => void }) {
  return (
    <BulkBar decisions={decisions} label="The whole plan" onDone={onDone}>
      {(selected, decide) => {
        const rejection = `Reject ${count(decisions.length, 'call')}?`
        const decideAll = async (): Promise<BulkOutcome | undefined> => {
          if (selected.length === 0 && !(await confirmDialog({ title: rejection, lines: linesOf(decisions), verb: 'Reject' })))
            return undefined
          const failure = await decidePlan(decisions)
          if (failure !== '') return { failure }
          return { failure, announcement: `Approved: ${selected.length} of ${count(decisions.length, 'call')}` }
        }
        return (
          <div class="buttons">
            <button type="button" class={selected.length === 0 ? 'danger' : 'primary'} onClick={() => decide(decideAll)}>
              {selected.length === 0 ? 'Reject all' : `Carry out ${selected.length} of ${decisions.length}`}
            </button>
          </div>
        )
      }}
    </BulkBar>
  )
}
