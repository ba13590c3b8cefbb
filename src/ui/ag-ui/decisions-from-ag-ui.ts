import type { Decision } from '../../agent/decisions/decisions.ts'
import type { PendingItem } from '../../agent/types/result.ts'
import { isJsonObject, isToolResult, type Json, textOf, withoutUndefined } from '../../core/messages.ts'
import { malformed } from '../malformed.ts'
import type { AgUiInput, AgUiResume } from './ag-ui-input.ts'

/**
 * What an input decides on the calls that a run waits for (`pending` of its result or of its stored state): the answers to its interrupts, and the
 * results of the page's tools, which are tool messages. What it says of any other call is passed over, so that a client can't make anything
 * run that does not wait. An empty list: it decides on nothing. Throws `invalid_message` for an answer of another shape than was asked for.
 *
 * An interrupt of an approval is answered by `{ approved: true, editedArgs?, reason? }`, where `editedArgs` take the place of the arguments; one
 * of a question by anything. `cancelled` means no.
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
