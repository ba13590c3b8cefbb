import type { ChatMessage } from '../../core/messages.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { type AnyModel, openModel } from '../../models/create-model.ts'
import type { Steering } from '../types/recorded.ts'
import { History } from './history.ts'
import { type RunInput, toMessages } from './run-input.ts'

/**
 * Steers a running run: pass it to the run as `control`, or take it from the stream. Messages are read between two steps: when a turn's
 * calls have ended, or the model has answered, and before it is asked again.
 *
 * Messages that the run has not read when it ends are its result's `unread`, and stay in the control. Give the control to the run that
 * continues, or send the messages again, but not both.
 */
export class RunControl {
  /** Set by the run. False once it reads no more messages: from its last look until the control is given to another run. */
  listens = true
  readonly #messages: ChatMessage[] = []
  #model: ChatModel | undefined
  #stops = false

  /** Messages that have not been read yet. */
  get waiting(): readonly ChatMessage[] {
    return this.#messages
  }

  /** The model for the next turn, if it has not been used yet. */
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
   * Asks this model from the next turn on. Throws what `createModel` throws. Not stored: a resumed run begins with its runner's model, so
   * call it again.
   */
  useModel(model: AnyModel): void {
    this.#model = openModel(model)
  }

  /** Ends the run when the current step is done: stop reason `stopped`. */
  stop(): void {
    this.#stops = true
  }

  /**
   * Takes the messages and the request to stop, each once. `goesOn` is false at a limit, where a run takes no messages. With `hasAnswer`,
   * the run continues only if there are messages.
   */
  take({ goesOn, hasAnswer = false }: { goesOn: boolean; hasAnswer?: boolean }): Steering {
    const stops = this.#stops
    this.#stops = false
    const messages = stops || !goesOn ? [] : this.#messages.splice(0)
    this.listens = goesOn && (messages.length > 0 || !hasAnswer)
    return { messages, stops, unread: this.listens || stops ? undefined : [...this.#messages] }
  }

  /** Called when the run has ended. Returns the messages that it has not read. */
  end(): readonly ChatMessage[] {
    this.listens = false
    return [...this.#messages]
  }

  takeModel(): ChatModel | undefined {
    const model = this.#model
    this.#model = undefined
    return model
  }
}
