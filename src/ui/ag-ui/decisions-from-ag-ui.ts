import type { Decision } from '../../agent/decisions/decisions.ts'
import type { PendingItem } from '../../agent/types/result.ts'
import { isJsonObject, isToolResult, type Json, textOf, withoutUndefined } from '../../core/messages.ts'
import { malformed } from '../malformed.ts'
import type { AgUiInput, AgUiResume } from './ag-ui-input.ts'

/**
 * Reads the decisions on the pending calls of a run from an AG-UI input. Decisions are the answers to interrupts, and the results of the
 * page's tools, which arrive as tool messages. `pending` are the pending items from the run's result or stored state. Ignores calls that
 * are not pending, so that a client can't run anything else. Returns an empty list if the input contains no decisions. Throws
 * `invalid_message` if an answer does not have the requested shape.
 *
 * An interrupt for an approval is answered with `{ approved: true, editedArgs?, reason? }`, where `editedArgs` replaces the arguments. An
 * interrupt for a question is answered with any value. The status `cancelled` refuses the pending item.
 */
export function decisionsFromAgUi({ resume, messages }: AgUiInput, pending: readonly PendingItem[]): Decision[] {
  const places = new Map(resume.map(({ interruptId }, at) => [interruptId, at] as const).toReversed())
  const results = new Map(messages.filter(isToolResult).map((message) => [message.toolCallId, message]))
  return pending.flatMap((item) => {
    const at = places.get(item.fingerprint) ?? -1
    const entry = resume[at]
    if (entry !== undefined) return [decisionOf(item, entry, `resume[${at}].payload`)]
    if (item.kind !== 'client_tool') return []
    const result = results.get(item.toolCallId)
    if (result === undefined) return []
    const { toolCallId, fingerprint } = item
    return [{ toolCallId, fingerprint, result: textOf(result.content), ...(result.isError === true ? { isError: true } : {}) }]
  })
}

function decisionOf({ kind, toolCallId, fingerprint }: PendingItem, { status, payload }: AgUiResume, path: string): Decision {
  const about = { toolCallId, fingerprint }
  if (status === 'cancelled') return { ...about, approved: false }
  if (kind === 'client_tool') return { ...about, result: payload ?? null }
  if (kind === 'question') return { ...about, answer: payload ?? null }
  const { approved, editedArgs, reason } = isJsonObject(payload) ? payload : ({} as { [key: string]: Json })
  if (typeof approved !== 'boolean') throw malformed(path, '`{ approved: true }` or `{ approved: false }`', payload)
  if (!approved) return { ...about, approved, ...(typeof reason === 'string' ? { reason } : {}) }
  if (editedArgs !== undefined && !isJsonObject(editedArgs)) throw malformed(`${path}.editedArgs`, 'an object', editedArgs)
  return { ...about, approved, ...withoutUndefined({ args: editedArgs }) }
}
