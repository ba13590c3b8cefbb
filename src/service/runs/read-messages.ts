import type { RunInput, RunOptions } from '../../agent/types.ts'
import { ToolloopError } from '../../core/errors.ts'
import { type MessageInput, toChatMessage } from '../../core/message-input.ts'
import { type ChatMessage, hasToolCalls } from '../../core/messages.ts'
import { Pauses } from '../../tools/yield-to-event-loop.ts'

/** Of one message: what is done with each is done for all of them in one turn of the event loop. */
export const mostCalls = 4_000

/** A client's conversation may be thousands of messages. What is read here is taken as it is by the run. Rejects with `invalid_message`. */
function readMessages(messages: readonly MessageInput[], name: string): Promise<ChatMessage[]> {
  return inTurn(messages.keys(), (at) => {
    const message = toChatMessage(messages[at] as MessageInput, `${name}[${at}]`)
    if (hasToolCalls(message) && message.toolCalls.length > mostCalls)
      throw new ToolloopError(
        'invalid_message',
        `Expected ${name}[${at}] to have at most ${mostCalls} calls, got ${message.toolCalls.length}`,
      )
    return message
  })
}

/** What a run is told, its messages read. Rejects with `invalid_message`. */
export async function readInput(input: RunInput): Promise<RunInput> {
  return Array.isArray(input) ? readMessages(input, 'input') : input
}

/** What `read` makes of each item, so that others get their turn in between. */
export async function inTurn<T, U>(items: Iterable<T>, read: (item: T) => U): Promise<U[]> {
  const pauses = new Pauses()
  const done: U[] = []
  for (const item of items) {
    done.push(read(item))
    await pauses.take()
  }
  return done
}

/** The options of a run, its messages read. Rejects with `invalid_message`. */
export async function readOptions({ messages, ...others }: RunOptions): Promise<RunOptions> {
  return { ...others, ...(messages === undefined ? {} : { messages: await readMessages(messages, 'messages') }) }
}
