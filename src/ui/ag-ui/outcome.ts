import type { PendingItem } from '../../agent/types/result.ts'
import { isOwnCall, isYesOrNo } from '../pending-on-page.ts'

/**
 * Returns the outcome of a run, with an interrupt for each item that the run waits for. A call of the page's own tools gets no interrupt,
 * because the page runs it and answers with a message.
 */
export function outcomeOf(pending: readonly PendingItem[]): object {
  const interrupts = pending.filter((item) => item.kind !== 'client_tool' || !isOwnCall(item)).map(interruptOf)
  if (interrupts.length > 0) return { type: 'interrupt', interrupts }
  return { type: 'success', ...(pending.length === 0 ? {} : { pendingToolCallIds: pending.map(({ toolCallId }) => toolCallId) }) }
}

/**
 * Returns the interrupt for an item. For an item of a nested agent, the interrupt names the outer call, because the client knows only that
 * call.
 */
function interruptOf(item: PendingItem): object {
  const { kind, fingerprint: id, tool, args, about, schema, path, plan } = item
  const toolCallId = path?.[0]?.toolCallId ?? item.toolCallId
  const within = path === undefined ? {} : { path }
  if (isYesOrNo(item)) {
    const message = kind === 'budget' ? 'May the run exceed its budget?' : `May ${tool} be called?`
    const metadata = { kind, tool, args, about, ...within, plan }
    return { id, reason: kind === 'budget' ? 'input_required' : 'tool_call', toolCallId, message, responseSchema: approvalSchema, metadata }
  }
  const input = { id, reason: 'input_required', toolCallId }
  if (kind === 'client_tool') return { ...input, message: `${tool} is yours to carry out.`, metadata: { kind, tool, args, ...within } }
  const message = typeof about === 'string' ? about : `${tool} asks a question.`
  const shape = schema === undefined ? {} : { responseSchema: schema }
  return { ...input, message, ...shape, metadata: { kind, tool, about: about ?? null, ...within } }
}

const approvalSchema = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    editedArgs: { type: 'object', description: 'Takes the place of the arguments.' },
    reason: { type: 'string', description: 'Why not; the model is told.' },
  },
  required: ['approved'],
}
