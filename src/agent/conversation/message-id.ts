import type { ChatMessage } from '../../core/messages.ts'

/** What a page calls a message: the id that it came with, or one made of its position in the conversation. */
export function messageIdOf(message: ChatMessage, at: number): string {
  return message.role === 'user' && typeof message.id === 'string' && message.id !== '' ? message.id : `message-${at}`
}

/** What a page calls a message behind another: of a user's, the first is the beginning of the reply to it. */
export function replyIdOf(id: string, part: number | string = 1): string {
  return `${id}-${part}`
}
