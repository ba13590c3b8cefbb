import { InvalidOptionError } from '../../core/errors.ts'
import { isList } from '../../core/json.ts'
import { type MessageInput, toChatMessage, toChatMessages } from '../../core/message-input.ts'
import { asChecked, type ChatMessage } from '../../core/messages.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { type AnyModel, openModel } from '../../models/create-model.ts'
import type { Steering } from '../types/recorded.ts'
import { History } from './history.ts'

/** The input of a run: a text, or messages to append to the conversation. */
export type RunInput = string | MessageInput | readonly MessageInput[]

/**
 * Converts an input to messages. Throws `invalid_option` if the value is not an input, and `invalid_message` if one of its messages is
 * invalid.
 */
export function toMessages(input: RunInput): readonly ChatMessage[] {
  if (typeof input === 'string') return [asChecked({ role: 'user', content: input })]
  if (isList(input)) return toChatMessages(input, 'input')
  const expected = 'a string, a message or an array of messages'
  if (typeof input !== 'object' || input === null) throw new InvalidOptionError('input', expected, input)
  if (!('role' in input) && !('type' in input)) throw new InvalidOptionError('input', `${expected}${inputHint(input)}`, input)
  return [toChatMessage(input, 'input')]
}

/** Returns a hint for callers who are used to libraries that take the input as one of the options. */
function inputHint(input: object): string {
  const name = ['prompt', 'input', 'messages'].find((one) => one in input)
  return name === undefined ? '' : ` (did you mean \`run(${name}, options)\`?)`
}

/**
 * Sends messages to a running run, switches its model, or stops it. Pass it to the run as `control`, or take it from the stream. The run
 * reads messages after the calls of a turn, and after an answer.
 *
 * Unread messages of a run that has ended are in `result.unread`, and stay in the control. To deliver them, pass the control to the next
 * run, or send the messages again, but don't do both.
 */
export class RunControl {
  /** Whether a run will still read messages. Set by the run. */
  listens = true
  readonly #messages: ChatMessage[] = []
  #model: ChatModel | undefined
  #stops = false

  /** Messages that have not been read yet. */
  get waiting(): readonly ChatMessage[] {
    return this.#messages
  }

  /** The model that `useModel` has set. Undefined as soon as a turn uses it. */
  get model(): ChatModel | undefined {
    return this.#model
  }

  /**
   * Adds a user's text, or messages, to the conversation. The run continues with them even if the model has just answered. Throws
   * `invalid_message`.
   */
  send(input: RunInput): void {
    this.#messages.push(...new History(toMessages(input)).messages)
  }

  /**
   * Uses this model from the next turn on. Throws the errors of `createModel`. The change is not stored: a resumed run begins with its
   * runner's model, so call `useModel` again.
   */
  useModel(model: AnyModel): void {
    this.#model = openModel(model)
  }

  /** Ends the run when the current step is done: stop reason `stopped`. */
  stop(): void {
    this.#stops = true
  }

  /**
   * Returns the new messages and whether `stop` was called, and clears both. `continues`: false if the run reads no more messages, because
   * it has reached a limit. `hasAnswer`: true if the model has answered, so that the run continues only if messages have arrived.
   *
   * @internal
   */
  take({ continues, hasAnswer = false }: { continues: boolean; hasAnswer?: boolean }): Steering {
    const stops = this.#stops
    this.#stops = false
    const messages = stops || !continues ? [] : this.#messages.splice(0)
    this.listens = continues && (messages.length > 0 || !hasAnswer)
    return { messages, stops, unread: this.listens || stops ? undefined : [...this.#messages] }
  }

  /** Called when the run has ended. Returns the messages that the run has not read. @internal */
  end(): readonly ChatMessage[] {
    this.listens = false
    return [...this.#messages]
  }

  /** @internal */
  takeModel(): ChatModel | undefined {
    const model = this.#model
    this.#model = undefined
    return model
  }
}
