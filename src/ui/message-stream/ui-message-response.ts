import { replyIdOf } from '../../agent/conversation/message-id.ts'
import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { isJsonObject } from '../../core/messages.ts'
import type { ResponseOptions } from '../web/respond.ts'
import type { ResponseFormat } from '../web/response-format.ts'
import type { RunEnding } from '../web/run-ending.ts'
import { openToolParts } from './ui-message.ts'
import { UIMessageWriter } from './ui-message-writer.ts'

/** An object that can be sent as a response, such as a run. */
export interface SendableRun {
  toResponse(options?: ResponseOptions): Response
}

/** Options for converting a run to a UI message. */
export interface UIMessageOptions {
  /**
   * The messages that the client sent. If the last message is from the assistant, the response continues it, and does not send its calls
   * again.
   */
  originalMessages?: unknown
  /**
   * The id of the new message, if the response does not continue an existing one. Default: the id that `messagesToUI` would assign. Without
   * `originalMessages`, the client creates the id.
   */
  messageId?: string
  /**
   * Returns the metadata of the message. When the message starts, it is called without an argument. When the message has ended without an
   * error, it is called with the ending of the run.
   *
   * Contract: synchronous. Must not throw.
   */
  messageMetadata?(ending?: RunEnding): unknown
}

const formatOptionNames: OptionNames<UIMessageOptions> = { originalMessages: true, messageId: true, messageMetadata: true }

/** Options of `toUIMessageResponse`: the options of every response, and the options of a UI message. */
export type UIMessageResponseOptions = Omit<ResponseOptions, 'format' | 'lastEventId'> & UIMessageOptions

/**
 * Sends a run as a response for the AI SDK's `useChat`: text, reasoning, calls with arguments and results, and calls that wait for an
 * approval or for the page. A tool's question is sent as the tool's call without an output, plus a part `data-question`. Progress reported
 * with `ctx.progress` is sent as a transient part `data-tool-progress`. If a client reconnects, call this function again with the same run.
 * The new response starts from the beginning. Throws `invalid_option`, and `invalid_message` for invalid `originalMessages`.
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

/** The AI SDK's UI message stream as a format for `toResponse`. Throws `invalid_option` or `invalid_message`. */
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

/** The last message of the client. Undefined if that message has no id. */
function lastOf(messages: unknown): { id: string; isReply: boolean } | undefined {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  return isJsonObject(last) && typeof last.id === 'string' ? { id: last.id, isReply: last.role === 'assistant' } : undefined
}
