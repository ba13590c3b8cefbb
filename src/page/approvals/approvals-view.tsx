import { useRef } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import { count } from '../data/format.ts'
import type { DecisionFields } from '../data/pending-items.ts'
import { useTitle } from '../shell/address.ts'
import { confirmDialog } from '../ui/confirm-dialog.tsx'
import { useLive } from '../ui/live-context.ts'
import { Since } from '../ui/since.tsx'
import { ArrangeBar } from './arrange-bar.tsx'
import { arrangement, groupsOf, isWanted } from './arranged.ts'
import { BulkBar, type BulkOutcome } from './bulk-bar.tsx'
import { DecisionCards, useOpenDecisions } from './decision-list.tsx'
import { decideOnMany, linesOf, type OpenDecision } from './open-decision.ts'

/** Lists the decisions that runs are waiting for. The one that has waited longest comes first. */
export function ApprovalsView() {
  useTitle('Approvals')
  const live = useLive()
  const { pending, waiting } = live
  const all = useOpenDecisions(pending)
  const arranged = arrangement.value
  const decisions = all.filter(({ item }) => isWanted(item, arranged))
  const view = useRef<HTMLDivElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  // If the user has left the view meanwhile, the new view keeps the focus. The focus moves to a card, not to its button: otherwise,
  // pressing Enter again would decide the next call too.
  const onDecided = () => {
    const next = view.current?.querySelector('.decision:not([data-decided])')
    if (next instanceof HTMLElement) next.focus()
    else heading.current?.focus()
  }
  const selectable = decisions.filter(({ canApprove, decided }) => canApprove && decided.value === '')
  const [oldest] = pending
  return (
    <div ref={view} class="column">
      <div class="view-head">
        <h1 ref={heading} tabIndex={-1}>
          Approvals
        </h1>
        <p class="muted">
          {oldest !== undefined && (
            <>
              {`${count(waiting, 'call')} waiting, the first for `}
              <Since iso={oldest.since} />
              {waiting > pending.length && `; the ${count(pending.length, 'one')} that came last are shown`}
            </>
          )}
        </p>
      </div>
      {pending.length === 0 && <Empty />}
      <ArrangeBar items={pending} />
      {pending.length > 0 && decisions.length === 0 && <p class="muted">Nothing that waits fits these filters.</p>}
      <SelectionBar decisions={selectable} onDone={() => heading.current?.focus()} />
      {groupsOf(decisions, arranged).map(([name, group]) => (
        <section key={name} class="decision-group" aria-label={name === '' ? undefined : name}>
          {name !== '' && (
            <h2>
              <bdi>{visibleLines(name)}</bdi> <span class="count">{group.length}</span>
            </h2>
          )}
          <DecisionCards decisions={group} link canSelect={selectable.length > 1} onDecided={onDecided} />
        </section>
      ))}
    </div>
  )
}

function Empty() {
  return (
    <div class="empty">
      <p>Nothing is waiting for you. Calls that need an approval, a result or an answer appear here.</p>
      <p class="muted">
        Which tools need one is said under <code>tools.approval</code> in the <a href="#/config">configuration</a>. Press <kbd>a</kbd> and{' '}
        <kbd>Ctrl Enter</kbd> to approve, <kbd>e</kbd> to edit, <kbd>r</kbd> to reject.
      </p>
    </div>
  )
}

/** Buttons that approve or reject all selected calls at once. */
function SelectionBar({ decisions, onDone }: { decisions: readonly OpenDecision[]; onDone: () => void }) {
  return (
    <BulkBar decisions={decisions} label="Select all" onDone={onDone}>
      {(selected, decide) => {
        const decideAll = async (verdict: DecisionFields, verb: string): Promise<BulkOutcome | undefined> => {
          const title = `${verb} ${count(selected.length, 'call')}?`
          if (!(await confirmDialog({ title, lines: linesOf(selected), verb }))) return undefined
          const failed = await decideOnMany(selected, verdict, verb)
          return {
            failure: failed.length === 0 ? '' : `${count(failed.length, 'call')} could not be decided: ${failed[0]}`,
            announcement: `${verb}: ${count(selected.length - failed.length, 'call')}`,
          }
        }
        const isNone = selected.length === 0
        return (
          <>
            <span class="muted" role="status">
              {isNone ? '' : `${selected.length} selected`}
            </span>
            <div class="buttons">
              <button
                type="button"
                class="primary"
                disabled={isNone}
                onClick={() => decide(() => decideAll({ approved: true }, 'Approve'))}
              >
                Approve selected
              </button>
              <button type="button" class="danger" disabled={isNone} onClick={() => decide(() => decideAll({ approved: false }, 'Reject'))}>
                Reject selected
              </button>
            </div>
          </>
        )
      }}
    </BulkBar>
  )
}
