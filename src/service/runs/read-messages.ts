import type { RunOptions } from '../../agent/types.ts'
import { toChatMessage } from '../../core/message-input.ts'
import type { ChatMessage } from '../../core/messages.ts'
import { Pauses } from '../../tools/yield-to-event-loop.ts'

/** A client's conversation may be thousands of messages. What is read here is taken as it is by the run. Rejects with `invalid_message`. */
export async function readMessages({ messages, ...options }: RunOptions): Promise<RunOptions> {
  if (!Array.isArray(messages)) return { ...options, ...(messages === undefined ? {} : { messages }) }
  const pauses = new Pauses()
  const read: ChatMessage[] = []
  for (const [at, message] of messages.entries()) {
    read.push(toChatMessage(message, `messages[${at}]`))
    await pauses.take()
  }
  return { ...options, messages: read }
}
