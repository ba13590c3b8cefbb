import { refusalIn, waitsWithinText } from '../../agent/run-texts.ts'
import type { PendingItem } from '../../agent/types/result.ts'
import type { MessageInput } from '../../core/message-input.ts'
import { type Content, type ContentPart, type Json, type JsonObject, legalName, textOf, withoutUndefined } from '../../core/messages.ts'
import { isOwnCall, isYesOrNo, metadataOf } from '../pending-on-page.ts'
import { readConversation, type ShownCall, type ShownConversationOptions } from '../stored-conversation.ts'
import { structured, structuredArguments } from '../structured.ts'

/** A part of a message, as the package `ai` defines it. */
export type UIPart =
  | { type: 'step-start' }
  | { type: 'text'; text: string; state: 'done' }
  | { type: 'file'; mediaType: string; url: string; filename?: string }
  | { type: `data-${string}`; id: string; data: unknown }
  | UICallPart

/** A call and its state. */
export type UICallPart = { type: `tool-${string}`; toolCallId: string; input: unknown; callProviderMetadata?: { toolloop: JsonObject } } & (
  | { state: 'input-available' }
  | { state: 'approval-requested'; approval: { id: string } }
  | { state: 'output-available'; output: unknown; resultProviderMetadata?: { toolloop: { content: Json } } }
  | { state: 'output-error'; errorText: string }
  | { state: 'output-denied'; approval: { id: string; approved: false; reason?: string } }
)

/** A message of the AI SDK's `useChat`. A list of these messages can be used as `UIMessage[]`. */
export interface StoredUIMessage {
  id: string
  role: 'system' | 'user' | 'assistant'
  parts: UIPart[]
}

/**
 * Converts a stored conversation to messages of the AI SDK's `useChat`: the inverse of `messagesFromUI`. Use it for a reloaded page, a
 * second device, or a list of chats. The calls contain their results. The user can decide the pending calls of the run in `waiting`, as if
 * the page had not been reloaded. Ids are stable: a user's message keeps its `id`, and the id of a reply is derived from it. Leaves out
 * provider data that is attached to messages. Throws `invalid_message` and `invalid_option`.
 *
 * ```ts
 * const session = await sessions.get(id)
 * return Response.json(messagesToUI(await sessions.read(id), { waiting: session?.waiting }))
 * ```
 */
export function messagesToUI(messages: readonly MessageInput[], options: ShownConversationOptions = {}): StoredUIMessage[] {
  const shown: StoredUIMessage[] = []
  for (const one of readConversation(messages, options, 'messagesToUI')) {
    const { id, message } = one
    const last = shown.at(-1)
    if (!('calls' in one)) {
      shown.push({ id, role: message.role as 'system' | 'user', parts: partsOf(message.content) })
      continue
    }
    const said = message.content === '' ? [] : partsOf(message.content)
    const parts: UIPart[] = [{ type: 'step-start' }, ...said, ...one.calls.flatMap(callParts)]
    // On a page, one message contains all turns of a run.
    if (last?.role === 'assistant') last.parts.push(...parts)
    else shown.push({ id, role: 'assistant', parts })
  }
  return shown
}

function partsOf(content: Content): UIPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content, state: 'done' }] : content.map(partOf)
}

function partOf(part: ContentPart): UIPart {
  if (part.type === 'text') return { type: 'text', text: part.text, state: 'done' }
  const mediaType = part.mediaType ?? (part.type === 'image' ? 'image' : 'application/octet-stream')
  const url = 'data' in part ? `data:${mediaType};base64,${part.data}` : part.url
  const name = part.type === 'file' ? part.name : undefined
  return { type: 'file', mediaType, url, ...withoutUndefined({ filename: name }) }
}

function callParts({ call, result, pending, waitingAgent }: ShownCall): UIPart[] {
  const name = legalName(call.function.name)
  const part = { type: `tool-${name}` as const, toolCallId: call.id, input: pending?.args ?? structuredArguments(call.function.arguments) }
  if (waitingAgent !== undefined) return [{ ...part, state: 'output-available', output: waitsWithinText(waitingAgent) }]
  if (result === undefined) return pending === undefined ? [{ ...part, state: 'input-available' }] : waitingParts(part, pending)
  const text = textOf(result.content)
  if (result.isError !== true) {
    const isText = typeof result.content === 'string' || result.content.every(({ type }) => type === 'text')
    const metadata = isText ? {} : { resultProviderMetadata: { toolloop: { content: result.content as Json } } }
    return [{ ...part, state: 'output-available', output: structured(text), ...metadata }]
  }
  const refusal = refusalIn(call.function.name, text)
  if (refusal === undefined) return [{ ...part, state: 'output-error', errorText: text }]
  return [{ ...part, state: 'output-denied', approval: { id: call.id, approved: false, ...refusal } }]
}

function waitingParts(call: Pick<UICallPart, 'type' | 'toolCallId' | 'input'>, pending: PendingItem): UIPart[] {
  const { kind, tool, about, schema, fingerprint } = pending
  const { toolCallId } = call
  const part = isOwnCall(pending) ? call : { ...call, callProviderMetadata: metadataOf(pending) }
  if (isYesOrNo(pending)) return [{ ...part, state: 'approval-requested', approval: { id: fingerprint } }]
  if (kind !== 'question') return [{ ...part, state: 'input-available' }]
  return [
    { ...part, state: 'input-available' },
    { type: 'data-question', id: toolCallId, data: { toolCallId, tool, about, schema } },
  ]
}
