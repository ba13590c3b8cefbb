import { replyIdOf } from '../../agent/conversation/message-id.ts'
import type { MessageInput } from '../../core/message-input.ts'
import { type Content, type ContentPart, legalName, textOf, withoutUndefined } from '../../core/messages.ts'
import { isOwnCall } from '../pending-on-page.ts'
import { readConversation, type ShownCall, type ShownConversationOptions } from '../stored-conversation.ts'
import { sseHeaders } from '../web/sse-stream.ts'
import { outcomeOf } from './outcome.ts'

/** A message of AG-UI 1.0. A list of these messages can be used as AG-UI's `Message[]`. */
export type AgUiMessage =
  | { id: string; role: 'system'; content: string }
  | { id: string; role: 'user'; content: string | AgUiContent[] }
  | {
      id: string
      role: 'assistant'
      content: string
      toolCalls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
    }
  | { id: string; role: 'tool'; toolCallId: string; content: string; error?: string }

/** A part of a user's message. */
export type AgUiContent =
  | { type: 'text'; text: string }
  | { type: 'image' | 'document'; source: AgUiSource; metadata?: { filename: string } }

type AgUiSource = { type: 'data'; value: string; mimeType: string } | { type: 'url'; value: string; mimeType?: string }

/** Options of `toAgUiSnapshot`. */
export interface AgUiSnapshotOptions extends ShownConversationOptions {
  threadId: string
  /** The id by which the client identifies the run. Default: a random id. */
  runId?: string
}

/**
 * Converts a stored conversation to messages of AG-UI: the inverse of `inputFromAgUi`. Ids are stable: a user's message keeps its `id`, and
 * the ids of all other messages are derived from it. Leaves out images and files in results, because results in AG-UI can only be text.
 * Throws `invalid_message` and `invalid_option`.
 */
export function messagesToAgUi(messages: readonly MessageInput[], options: ShownConversationOptions = {}): AgUiMessage[] {
  return readConversation(messages, options, 'messagesToAgUi').flatMap((one): AgUiMessage[] => {
    const { id, message } = one
    if (!('calls' in one)) {
      if (message.role === 'system') return [{ id, role: 'system', content: textOf(message.content) }]
      return [{ id, role: 'user', content: contentOf(message.content) }]
    }
    // Pending items of nested agents, for example, are sent only as interrupts.
    const own = one.calls.filter(({ pending }) => pending === undefined || isOwnCall(pending))
    const calls = own.map(({ call }) => ({ ...call, function: { ...call.function, name: legalName(call.function.name) } }))
    return [
      { id, role: 'assistant', content: textOf(message.content), ...(calls.length === 0 ? {} : { toolCalls: calls }) },
      ...own.flatMap((call) => resultOf(call, id)),
    ]
  })
}

function resultOf({ call, result }: ShownCall, id: string): AgUiMessage[] {
  if (result === undefined) return []
  const content = textOf(result.content)
  const failed = result.isError === true ? { error: content } : {}
  return [{ id: replyIdOf(id, call.id), role: 'tool', toolCallId: call.id, content, ...failed }]
}

function contentOf(content: Content): string | AgUiContent[] {
  return typeof content === 'string' ? content : content.map(partOf)
}

function partOf(part: ContentPart): AgUiContent {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { mediaType } = part
  const source: AgUiSource =
    'data' in part
      ? { type: 'data', value: part.data, mimeType: part.mediaType }
      : { type: 'url', value: part.url, ...withoutUndefined({ mimeType: mediaType }) }
  if (part.type === 'image') return { type: 'image', source }
  return { type: 'document', source, ...(part.name === undefined ? {} : { metadata: { filename: part.name } }) }
}

/**
 * Sends a stored conversation as an AG-UI response, for a client that was reloaded or runs on another device. The response contains a
 * snapshot of the messages, and the interrupts of the run in `waiting`. Throws `invalid_message` and `invalid_option`.
 *
 * ```ts
 * const session = await sessions.get(threadId)
 * return toAgUiSnapshot(await sessions.read(threadId), { threadId, waiting: session?.waiting })
 * ```
 */
export function toAgUiSnapshot(messages: readonly MessageInput[], options: AgUiSnapshotOptions): Response {
  const { threadId, runId = `snapshot_${crypto.randomUUID()}`, ...shown } = options
  const ids = { threadId, runId }
  const events = [
    { type: 'RUN_STARTED', ...ids, protocolVersion: '1.0' },
    { type: 'MESSAGES_SNAPSHOT', messages: messagesToAgUi(messages, shown) },
    { type: 'RUN_FINISHED', ...ids, outcome: outcomeOf(shown.waiting?.pending ?? []) },
  ]
  return new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), { headers: sseHeaders })
}
