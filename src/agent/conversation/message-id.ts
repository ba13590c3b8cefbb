import type { ChatMessage } from '../../core/messages.ts'

/** The id of a message on a page: a user's message may have its own id. Any other id is derived from the position in the conversation. */
export function messageIdOf(message: ChatMessage, at: number): string {
  return message.role === 'user' && typeof message.id === 'string' && message.id !== '' ? message.id : `message-${at}`
}

/** The id, on a page, of a message that follows the message `id`. After a user's message, part 1 is the start of the reply. */
export function replyIdOf(id: string, part: number | string = 1): string {
  return `${id}-${part}`
}
