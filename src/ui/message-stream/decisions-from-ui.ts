import { isDeepStrictEqual } from 'node:util'
import type { Decision } from '../../agent/decisions/decisions.ts'
import type { PendingItem } from '../../agent/types/result.ts'
import { isJsonObject, type Json, withoutUndefined } from '../../core/messages.ts'
import { idOnPage, isYesOrNo } from '../pending-on-page.ts'
import { openToolParts, type UIToolPart } from './ui-message.ts'

/**
 * Reads the decisions on the pending calls of a run from the last message of `useChat`. A decision is an approval or refusal, possibly with
 * an edited `input`; the output of a tool that the page runs; or the answer to a question, which arrives as the output of the call.
 * `pending` are the pending items from the run's result or stored state. Ignores calls that are not pending, so that a client can't run
 * anything else. Returns an empty list if the message contains no decisions. Throws `invalid_message` if the messages are invalid.
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
    // The id of an approval is the fingerprint of the pending item. An approval with another id is ignored, because it is for another call
    // or other arguments.
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
