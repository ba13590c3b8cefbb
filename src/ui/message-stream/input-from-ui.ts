import type { ChatMessage } from '../../core/messages.ts'
import { idAt, listAt, malformed, objectAt, optionalText } from '../malformed.ts'
import { type MessagesFromUIOptions, messagesFromUI } from './messages-from-ui.ts'

/** What a page asks for. */
export interface UIInput {
  /** The chat's id. */
  id: string
  /** The last message, if it is the user's: all that a run in a session is given. Empty: the page answers calls that wait. */
  input: readonly ChatMessage[]
  /** The message that `input` takes the place of, with all behind it: of `regenerate()`, and of a message that was edited. */
  replaces: string | undefined
  /** The messages as the page has sent them, for `decisionsFromUI`, `toUIMessageResponse` and `messagesFromUI`. */
  messages: readonly unknown[]
}

/**
 * The body of a request of the AI SDK's `useChat`, for a conversation that is kept in a session: only the last message is taken from the page.
 * Throws `invalid_message`, with the place, for anything else.
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
  // The id of a message that is sent for the first time names nothing.
  const isAgain = trigger === 'regenerate-message' || optionalText(messageId, 'messageId') !== undefined
  return { ...chat, input, replaces: isAgain ? last.id : undefined }
}
