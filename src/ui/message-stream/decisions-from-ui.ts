import { isDeepStrictEqual } from 'node:util'
import type { Decision } from '../../agent/decisions/decisions.ts'
import type { PendingItem } from '../../agent/types/result.ts'
import { isJsonObject, type Json, withoutUndefined } from '../../core/messages.ts'
import { idOnPage, isYesOrNo } from '../pending-on-page.ts'
import { openToolParts, type UIToolPart } from './ui-message.ts'

/**
 * What the last of `useChat`'s messages decides on the calls that a run waits for (`pending` of its result or of its stored state): an approval
 * or a refusal, also with an `input` that was edited; the output of a tool that the page runs; and, as the output of its call, the answer to a
 * question. What it says of any other call is passed over, so that a client can't make anything run that does not wait. An empty list: it
 * decides on nothing. Throws `invalid_message` for anything that is no such message.
 */
export function decisionsFromUI(messages: unknown, pending: readonly PendingItem[]): Decision[] {
  const parts = new Map(openToolParts(messages).map((part) => [part.toolCallId, part]))
  return pending.flatMap((item) => {
    const part = parts.get(idOnPage(item))
    const decision = part === undefined || part.tool !== item.tool ? undefined : decisionOf(item, part)
    return decision === undefined ? [] : [decision]
  })
}

function decisionOf(item: PendingItem, part: UIToolPart): Decision | undefined {
  const { state, output, errorText, approval, input } = part
  const { toolCallId, fingerprint } = item
  const about = { toolCallId, fingerprint }
  if (isYesOrNo(item)) {
    // The id is the item's fingerprint: an approval of another call, or of other arguments of this one, is none.
    if (state !== 'approval-responded' || approval?.id !== fingerprint) return undefined
    if (approval.approved === false) return { ...about, approved: false, ...withoutUndefined({ reason: approval.reason }) }
    if (approval.approved !== true) return undefined
    return { ...about, approved: true, ...(isJsonObject(input) && !isDeepStrictEqual(input, item.args) ? { args: input } : {}) }
  }
  if (state === 'output-error') {
    if (item.kind === 'question') return { ...about, approved: false, reason: errorText }
    return { ...about, result: errorText, isError: true }
  }
  if (state !== 'output-available' || part.isPreliminary) return undefined
  const value = (output ?? null) as Json
  return item.kind === 'question' ? { ...about, answer: value } : { ...about, result: value }
}
