import { useCallback, useRef } from 'preact/hooks'
import type { Item } from '../data/pending-items.ts'
import { DecisionCard, type DecisionCardProps } from './decision-card.tsx'
import { OpenDecision } from './open-decision.ts'

interface DecisionListProps extends Pick<DecisionCardProps, 'link' | 'onDecided'> {
  items: readonly Item[]
}

/** What waits for a decision. */
export function DecisionList({ items, ...props }: DecisionListProps) {
  return <DecisionCards decisions={useOpenDecisions(items)} {...props} />
}

interface DecisionCardsProps extends Pick<DecisionCardProps, 'link' | 'onDecided'> {
  decisions: readonly OpenDecision[]
  /** Whether they can be selected, where there are several to be approved. Default false. */
  canSelect?: boolean
}

export function DecisionCards({ decisions, link = false, canSelect = false, onDecided }: DecisionCardsProps) {
  const isAny = canSelect && decisions.filter(({ canApprove }) => canApprove).length > 1
  // The same function each time: the cards need not be drawn anew for it.
  const latest = useRef(onDecided)
  latest.current = onDecided
  const decided = useCallback(() => latest.current(), [])
  return (
    <div class={`decisions${isAny ? ' can-select' : ''}`}>
      {decisions.map((decision) => (
        <DecisionCard key={decision.item.key} decision={decision} link={link} hasBox={canSelect} onDecided={decided} />
      ))}
    </div>
  )
}

/** Items that are kept, shown or not. */
const mostKept = 1_200

/**
 * What somebody is doing about each item. A run that goes on with one of its items has none for a while: when the others come back, what was written
 * for them is still there.
 */
export function useOpenDecisions(items: readonly Item[]): OpenDecision[] {
  const kept = useRef(new Map<string, OpenDecision>()).current
  const open = items.map((item) => {
    const known = kept.get(item.key)
    // One that was decided on and asks again, does so because that could not be carried out.
    if (known !== undefined && (known.decided.peek() === '' || known.item.since === item.since)) return known
    const decision = new OpenDecision(item)
    kept.set(item.key, decision)
    return decision
  })
  // Others may have decided on them: the oldest go.
  for (const key of [...kept.keys()].slice(0, Math.max(0, kept.size - mostKept))) kept.delete(key)
  return open
}
