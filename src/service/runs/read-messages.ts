import type { RunInput, RunOptions } from '../../agent/types/options.ts'
import { ToolloopError } from '../../core/errors.ts'
import { type MessageInput, toChatMessage } from '../../core/message-input.ts'
import { type ChatMessage, hasToolCalls } from '../../core/messages.ts'

/** Of one message: what is done with each is done for all of them in one turn of the event loop. */
export const mostCalls = 4_000

/** What is read here is taken as it is by the run. Throws `invalid_message`. */
function readMessages(messages: readonly MessageInput[], name: string): ChatMessage[] {
  return messages.map((given, at) => {
    const message = toChatMessage(given, `${name}[${at}]`)
    if (hasToolCalls(message) && message.toolCalls.length > mostCalls)
      throw new ToolloopError(
        'invalid_message',
        `Expected ${name}[${at}] to have at most ${mostCalls} calls, got ${message.toolCalls.length}`,
      )
    return message
  })
}

/** What a run is told, its messages read. Throws `invalid_message`. */
export function readInput(input: RunInput): RunInput {
  return Array.isArray(input) ? readMessages(input, 'input') : input
}

/** The options of a run, its messages read. Throws `invalid_message`. */
export function readOptions({ messages, ...others }: RunOptions): RunOptions {
  return { ...others, ...(messages === undefined ? {} : { messages: readMessages(messages, 'messages') }) }
}
