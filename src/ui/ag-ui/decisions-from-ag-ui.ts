import type { Decision } from '../../agent/decisions/decisions.ts'
import type { PendingItem } from '../../agent/types/result.ts'
import { isJsonObject, isToolResult, type Json, textOf, withoutUndefined } from '../../core/messages.ts'
import { malformed } from '../malformed.ts'
import type { AgUiInput, AgUiResume } from './ag-ui-input.ts'

/**
 * Reads an input's decisions on the calls that a run waits for (`pending` of its result or stored state): the answers to its interrupts,
 * and the results of the page's tools, which are tool messages. Ignores any other call, so that a client can't run anything that does not
 * wait. Returns an empty list if the input decides nothing. Throws `invalid_message` if an answer has another shape than requested.
 *
 * An interrupt for an approval is answered with `{ approved: true, editedArgs?, reason? }`, where `editedArgs` replaces the arguments. One
 * for a question is answered with any value. `cancelled` means no.
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
