import type { ChatMessage } from '../../core/messages.ts'

/** The id of a message in the user interface. Returns a user message's own id, if it has one, or an id made from the message's position. */
export function messageIdOf(message: ChatMessage, at: number): string {
  return message.role === 'user' && typeof message.id === 'string' && message.id !== '' ? message.id : `message-${at}`
}

/** The id, in the user interface, of a reply to the message `id`. The first part of the reply is part 1. */
export function replyIdOf(id: string, part: number | string = 1): string {
  return `${id}-${part}`
}
