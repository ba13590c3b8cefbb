import { useCallback, useRef } from 'preact/hooks'
import type { Item } from '../data/pending-items.ts'
import { DecisionCard, type DecisionCardProps } from './decision-card.tsx'
import { OpenDecision } from './open-decision.ts'
import { PlanBar } from './plan-bar.tsx'

interface DecisionListProps extends Pick<DecisionCardProps, 'link' | 'onDecided'> {
  items: readonly Item[]
}

/** Lists the pending decisions of a run. The user can decide on all calls of a plan together. */
export function DecisionList({ items, ...props }: DecisionListProps) {
  const decisions = useOpenDecisions(items)
  const planned = decisions.filter(({ item, canApprove, decided }) => item.plan !== undefined && canApprove && decided.value === '')
  return (
    <>
      <PlanBar decisions={planned} onDone={props.onDecided} />
      <DecisionCards decisions={decisions} canSelect={planned.length > 1} {...props} />
    </>
  )
}

interface DecisionCardsProps extends Pick<DecisionCardProps, 'link' | 'onDecided'> {
  decisions: readonly OpenDecision[]
  /** Whether items can be selected. Default false. */
  canSelect?: boolean
}

export function DecisionCards({ decisions, link = false, canSelect = false, onDecided }: DecisionCardsProps) {
  // The callback is wrapped in a stable function, so that a new `onDecided` doesn't re-render the cards.
  const latest = useRef(onDecided)
  latest.current = onDecided
  const decided = useCallback(() => latest.current(), [])
  return (
    <div class="decisions">
      {decisions.map((decision, at) => (
        <DecisionCard
          key={decision.item.key}
          decision={decision}
          link={link}
          hasBox={canSelect}
          hasSaid={!isSaidAbove(decision, decisions[at - 1])}
          onDecided={decided}
        />
      ))}
    </div>
  )
}

/** Whether the card above already shows the same text of the model. */
function isSaidAbove({ item }: OpenDecision, above: OpenDecision | undefined): boolean {
  return above !== undefined && above.item.runId === item.runId && above.item.said === item.said
}

/** Maximum number of items to remember. */
const mostKept = 1_200

/**
 * Returns each pending item with the state of its form. When a run continues after a decision on one item, its other items disappear for a
 * while. When they reappear, the texts that the user had typed are restored.
 */
export function useOpenDecisions(items: readonly Item[]): OpenDecision[] {
  const kept = useRef(new Map<string, OpenDecision>()).current
  const open = items.map((item) => {
    const known = kept.get(item.key)
    // If a decided item is pending again with another `since`, its decision could not be applied, and the run asks again.
    if (known !== undefined && (known.decided.peek() === '' || known.item.since === item.since)) return known
    const decision = new OpenDecision(item)
    kept.set(item.key, decision)
    return decision
  })
  for (const key of [...kept.keys()].slice(0, Math.max(0, kept.size - mostKept))) kept.delete(key)
  return open
}
