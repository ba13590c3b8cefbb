import type { ChatMessage } from '../../core/messages.ts'

/** The id of a message on a page: its own, or one derived from its position in the conversation. */
export function messageIdOf(message: ChatMessage, at: number): string {
  return message.role === 'user' && typeof message.id === 'string' && message.id !== '' ? message.id : `message-${at}`
}

/** The id of a message on a page that follows another. After a user's message, the first of these is the start of the reply. */
export function replyIdOf(id: string, part: number | string = 1): string {
  return `${id}-${part}`
}
