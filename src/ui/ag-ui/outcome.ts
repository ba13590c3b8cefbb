import type { PendingItem } from '../../agent/run/result.ts'

/** What a run waits for is asked as interrupts; calls of the page's tools are its own business, and answered by messages. */
export function outcomeOf(pending: readonly PendingItem[]): object {
  const interrupts = pending.filter(({ kind }) => kind !== 'client_tool').map(interruptOf)
  if (interrupts.length > 0) return { type: 'interrupt', interrupts }
  return { type: 'success', ...(pending.length === 0 ? {} : { pendingToolCallIds: pending.map(({ toolCallId }) => toolCallId) }) }
}

function interruptOf({ kind, fingerprint: id, toolCallId, tool, args, about, schema }: PendingItem): object {
  if (kind === 'approval')
    return {
      id,
      reason: 'tool_call',
      toolCallId,
      message: `May ${tool} be called?`,
      responseSchema: approvalSchema,
      metadata: { kind, tool, args },
    }
  const message = typeof about === 'string' ? about : `${tool} asks a question.`
  const shape = schema === undefined ? {} : { responseSchema: schema }
  return { id, reason: 'input_required', toolCallId, message, ...shape, metadata: { kind, tool, about: about ?? null } }
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
