import type { ChatMessage } from '../../core/messages.ts'
import { idAt, listAt, malformed, objectAt, optionalText } from '../malformed.ts'
import { type MessagesFromUIOptions, messagesFromUI } from './messages-from-ui.ts'

/** The request of a page. */
export interface UIInput {
  /** The id of the chat. */
  id: string
  /**
   * The last message, if it is from the user. Otherwise empty: the request then contains decisions on pending calls. A run in a session
   * needs only this message.
   */
  input: readonly ChatMessage[]
  /**
   * The id of the message that `input` replaces, together with all later messages. Set after `regenerate()`, or if the user has edited a
   * message.
   */
  replaces: string | undefined
  /** The messages as the page sent them, for `decisionsFromUI`, `toUIMessageResponse` and `messagesFromUI`. */
  messages: readonly unknown[]
}

/**
 * Reads the body of a request from the AI SDK's `useChat`, for a conversation that is stored in a session: it uses only the last message of
 * the page. Throws `invalid_message`, which names the invalid place, if the body is invalid.
 *
 * ```ts
 * const { id, input, replaces, messages } = inputFromUI(await request.json())
 * const run = runner.stream(input, { session: { id, replaces } })
 * return toUIMessageResponse(run, { originalMessages: messages })
 * ```
 */
export function inputFromUI(body: unknown, options: MessagesFromUIOptions = {}): UIInput {
  const { id, messages, trigger, messageId } = objectAt(body, 'the body')
  const list = listAt(messages, 'messages')
  if (trigger !== undefined && trigger !== 'submit-message' && trigger !== 'regenerate-message')
    throw malformed('trigger', "'submit-message' or 'regenerate-message'", trigger)
  const input = messagesFromUI(list.slice(-1), options)
  const [last] = input
  const chat = { id: idAt(id, 'id'), messages: list }
  if (last?.role !== 'user') return { ...chat, input: [], replaces: undefined }
  // The id of a new message is not in the session yet, so it replaces nothing.
  const isAgain = trigger === 'regenerate-message' || optionalText(messageId, 'messageId') !== undefined
  return { ...chat, input, replaces: isAgain ? last.id : undefined }
}
