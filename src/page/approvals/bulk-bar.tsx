import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { announce } from '../ui/announce.ts'
import { useLive } from '../ui/live-context.ts'
import { useNewId } from '../ui/new-id.ts'
import { isFocusFree } from '../ui/refocus.ts'
import type { OpenDecision } from './open-decision.ts'

/**
 * The outcome of a bulk decision. `failure` is an error message or `''`. `announcement` is for screen readers, and is set if anything was
 * decided.
 */
export interface BulkOutcome {
  failure: string
  announcement?: string
}

interface BulkBarProps {
  decisions: readonly OpenDecision[]
  /** The label of the checkbox that selects all items. */
  label: string
  /**
   * Returns the buttons. A button passes its action to `decide`, which ignores it while another action is still running. The action
   * resolves with undefined if the user has canceled it.
   */
  children(selected: readonly OpenDecision[], decide: (work: () => Promise<BulkOutcome | undefined>) => Promise<void>): ComponentChildren
  /** Called after a bulk decision, unless the user has moved the focus elsewhere. */
  onDone(): void
}

/** Lets the user select several pending decisions and decide on them together. Hidden if there is only one. */
export function BulkBar({ decisions, label, children, onDone }: BulkBarProps) {
  const live = useLive()
  const [isBusy, setIsBusy] = useState(false)
  const [shownFailure, setShownFailure] = useState('')
  const boxId = useNewId()
  const bar = useRef<HTMLDivElement>(null)
  const selected = decisions.filter(({ isSelected }) => isSelected.value)
  const decide = async (work: () => Promise<BulkOutcome | undefined>) => {
    if (isBusy) return
    setShownFailure('')
    setIsBusy(true)
    const outcome = await work()
    setIsBusy(false)
    setShownFailure(outcome?.failure ?? '')
    if (outcome?.announcement === undefined) return
    announce(outcome.announcement)
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
            checked={selected.length > 0 && selected.length === decisions.length}
            onChange={({ currentTarget }) => {
              for (const { isSelected } of decisions) isSelected.value = currentTarget.checked
            }}
          />
          <label for={boxId}>{label}</label>
        </span>
        {children(selected, decide)}
      </div>
      <p class="error-text" role="alert">
        {shownFailure}
      </p>
    </>
  )
}
