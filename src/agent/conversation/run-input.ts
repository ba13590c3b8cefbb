import { InvalidOptionError } from '../../core/errors.ts'
import { isList } from '../../core/json.ts'
import { asChecked, type MessageInput, toChatMessage, toChatMessages } from '../../core/message-input.ts'
import type { ChatMessage } from '../../core/messages.ts'

/** What a run is started with: a user's words, or messages to append to the conversation. */
export type RunInput = string | MessageInput | readonly MessageInput[]

/** Throws `invalid_option` for what is no input at all, and `invalid_message`. */
export function toMessages(input: RunInput): readonly ChatMessage[] {
  if (typeof input === 'string') return [asChecked({ role: 'user', content: input })]
  if (isList(input)) return toChatMessages(input, 'input')
  if (typeof input === 'object' && input !== null) return [toChatMessage(input, 'input')]
  throw new InvalidOptionError('input', 'a string, a message or an array of messages', input)
}
