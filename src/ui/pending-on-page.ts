import type { PendingItem } from '../agent/types/result.ts'
import type { RunEvent } from '../core/events.ts'
import { type JsonObject, withoutUndefined } from '../core/messages.ts'

/** The id by which a page knows an item's call. Within a run ids are unique, but not among the runs inside its calls. */
export function idOnPage({ path = [], toolCallId }: Pick<PendingItem, 'path' | 'toolCallId'>): string {
  return [...path.map((step) => step.toolCallId), toolCallId].join('/')
}

/** Whether the item is a call of the run that the page shows, and so a part of its conversation. */
export function isOwnCall({ kind, path }: Pick<PendingItem, 'kind' | 'path'>): boolean {
  return path === undefined && kind !== 'budget'
}

/** Whether the item is decided by yes or no. */
export function isYesOrNo({ kind }: Pick<PendingItem, 'kind'>): boolean {
  return kind === 'approval' || kind === 'budget'
}

/** Says on a page that a call is none of the conversation: it comes back with the page's messages. */
export function metadataOf({ kind, path }: Pick<PendingItem, 'kind' | 'path'>): { toolloop: JsonObject } {
  return { toolloop: { kind, ...withoutUndefined({ path }) } }
}

/** A decision as pages are told of it. */
export function decisionOnPage({ type: _, meta: __, ...decision }: Extract<RunEvent, { type: 'DECISION_MADE' }>): object {
  return { ...decision, toolCallId: idOnPage(decision) }
}
