import type { PendingItem } from '../agent/types/result.ts'
import type { RunEvent } from '../core/events.ts'
import { type JsonObject, withoutUndefined } from '../core/messages.ts'

/**
 * Returns the id that the page uses for the call of an item. The call's own id would not suffice, because it is unique only within its run,
 * not among nested runs.
 */
export function idOnPage({ path = [], toolCallId }: Pick<PendingItem, 'path' | 'toolCallId'>): string {
  return [...path.map((step) => step.toolCallId), toolCallId].join('/')
}

/** Whether the item is a call of the run that the page shows. Such a call is part of the conversation. */
export function isOwnCall({ kind, path }: Pick<PendingItem, 'kind' | 'path'>): boolean {
  return path === undefined && kind !== 'budget'
}

/** Whether the decision on an item is yes or no. */
export function isYesOrNo({ kind }: Pick<PendingItem, 'kind'>): boolean {
  return kind === 'approval' || kind === 'budget'
}

/** Returns metadata that marks a call on a page as not part of the conversation. The page sends the metadata back with its messages. */
export function metadataOf({ kind, path }: Pick<PendingItem, 'kind' | 'path'>): { toolloop: JsonObject } {
  return { toolloop: { kind, ...withoutUndefined({ path }) } }
}

/** Converts a decision to the form in which pages receive it. */
export function decisionOnPage({ type: _, meta: __, ...decision }: Extract<RunEvent, { type: 'DECISION_MADE' }>): object {
  return { ...decision, toolCallId: idOnPage(decision) }
}
