import { replyIdOf } from '../../agent/conversation/message-id.ts'
import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { isJsonObject } from '../../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import type { ResponseOptions } from '../web/respond.ts'
import type { ResponseFormat } from '../web/response-format.ts'
import type { RunEnding } from '../web/run-ending.ts'
import { openToolParts } from './ui-message.ts'
import { UIMessageWriter } from './ui-message-writer.ts'

/** What can be sent. */
export interface SendableRun {
  toResponse(options?: ResponseOptions): Response
}

/** How a run becomes a message of the page. */
export interface UIMessageOptions {
  /**
   * The messages that the client has sent. Where the last is the assistant's, because its calls were decided on, the response goes on with it;
   * and calls that are in it are not told of again.
   */
  originalMessages?: unknown
  /**
   * The id of the message, where the response does not go on with one. Default: the one that `messagesToUI` gives it; without
   * `originalMessages`, the client makes one.
   */
  messageId?: string
  /** The message's metadata: asked without an ending when it begins, and with it when it has ended without an error. Must not throw. */
  messageMetadata?(ending?: RunEnding): unknown
}

const formatOptionNames: OptionNames<UIMessageOptions> = { originalMessages: true, messageId: true, messageMetadata: true }

/** Options of `toUIMessageResponse`: those of every response, and those of a UI message. */
export type UIMessageResponseOptions = Omit<ResponseOptions, 'format' | 'lastEventId'> & UIMessageOptions

/**
 * The run as a response for the AI SDK's `useChat`: text, reasoning, calls with their arguments and results, calls that wait for an approval or
 * for the page. A question of a tool is its call without an output, and a part `data-question`; what a tool reports through `ctx.progress` is a
 * transient part `data-tool-progress`. For a client that comes again, call it again with the same run: it is told everything from the beginning.
 * Throws `invalid_option`, and `invalid_message` for `originalMessages` that are none.
 *
 * ```ts
 * const { messages } = await request.json()
 * return toUIMessageResponse(runner.stream(messagesFromUI(messages)), { originalMessages: messages })
 * ```
 */
export function toUIMessageResponse(run: SendableRun, options: UIMessageResponseOptions = {}): Response {
  const { originalMessages, messageId, messageMetadata, ...response } = options
  const format = uiMessageFormat({
    originalMessages,
    messageId,
    messageMetadata,
  })
  return syncAnswer('toResponse', run.toResponse({ ...response, format }))
}

/** The AI SDK's UI message stream as a format of `toResponse`. Throws `invalid_option` or `invalid_message`. */
export function uiMessageFormat(options: UIMessageOptions = {}): ResponseFormat {
  checkOptionNames(options, formatOptionNames, 'a UI message')
  const { originalMessages, messageId, messageMetadata } = options
  const known = originalMessages === undefined ? undefined : new Map(openToolParts(originalMessages).map((part) => [part.toolCallId, part]))
  const last = lastOf(originalMessages)
  const own = messageId ?? (last && replyIdOf(last.id))
  const writerOptions = { messageId: last?.isReply ? last.id : own, known, messageMetadata }
  const headers = { 'x-vercel-ai-ui-message-stream': 'v1' }
  return { headers, takesBack: true, continues: last?.isReply === true, open: () => new UIMessageWriter(writerOptions) }
}

/** The last message of the client, if it has an id. */
function lastOf(messages: unknown): { id: string; isReply: boolean } | undefined {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  return isJsonObject(last) && typeof last.id === 'string' ? { id: last.id, isReply: last.role === 'assistant' } : undefined
}
