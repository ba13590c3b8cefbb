import { InvalidOptionError } from '../../core/errors.ts'
import { isList } from '../../core/json.ts'
import { type MessageInput, toChatMessage, toChatMessages } from '../../core/message-input.ts'
import { asChecked, type ChatMessage } from '../../core/messages.ts'

/** The input of a run: a text, or messages to append to the conversation. */
export type RunInput = string | MessageInput | readonly MessageInput[]

/** Throws `invalid_option` for anything but an input, and `invalid_message`. */
export function toMessages(input: RunInput): readonly ChatMessage[] {
  if (typeof input === 'string') return [asChecked({ role: 'user', content: input })]
  if (isList(input)) return toChatMessages(input, 'input')
  const expected = 'a string, a message or an array of messages'
  if (typeof input !== 'object' || input === null) throw new InvalidOptionError('input', expected, input)
  if (!('role' in input) && !('type' in input)) throw new InvalidOptionError('input', `${expected}${inputHint(input)}`, input)
  return [toChatMessage(input, 'input')]
}

/** Other libraries take the input as one of the options. */
function inputHint(input: object): string {
  const name = ['prompt', 'input', 'messages'].find((one) => one in input)
  return name === undefined ? '' : ` (did you mean \`run(${name}, options)\`?)`
}
