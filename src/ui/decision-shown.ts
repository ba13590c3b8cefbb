import type { RunEvent } from '../core/events.ts'

/** A decision as pages are told of it. */
export function decisionShown({ type: _, meta: __, ...decision }: Extract<RunEvent, { type: 'DECISION_MADE' }>): object {
  return decision
}
