import type { ChatMessage } from '../../core/messages.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { type AnyModel, openModel } from '../../models/create-model.ts'
import type { Steering } from '../types/recorded.ts'
import { History } from './history.ts'
import { type RunInput, toMessages } from './run-input.ts'

/**
 * Steers a running run: pass it to the run as `control`, or take it from the stream. What is said here is taken up between two steps: when
 * a turn's calls have ended, or the model has answered, and before it is asked again.
 *
 * What the run has not taken up when it ends is its result's `unread`, and still here: give the control to the run that goes on from it, or send
 * the messages again, not both.
 */
export class RunControl {
  /** Set by the run. False once nothing more is taken up: from its last look on, until the control is given to another run. */
  listens = true
  readonly #messages: ChatMessage[] = []
  #model: ChatModel | undefined
  #stops = false

  /** Messages not taken up yet. */
  get waiting(): readonly ChatMessage[] {
    return this.#messages
  }

  /** What is to be asked from the next turn on, where it has not been taken up yet. */
  get model(): ChatModel | undefined {
    return this.#model
  }

  /** Adds a user's words, or messages, to the conversation. The run goes on with them even if the model has just answered. Throws `invalid_message`. */
  send(input: RunInput): void {
    this.#messages.push(...new History(toMessages(input)).messages)
  }

  /**
   * Asks this model from the next turn on. Throws what `createModel` throws. Not stored: a run that is resumed begins with its runner's
   * model, and is to be told again.
   */
  useModel(model: AnyModel): void {
    this.#model = openModel(model)
  }

  /** Ends the run when the current step is done: stop reason `stopped`. */
  stop(): void {
    this.#stops = true
  }

  /** What is to be done now, each thing once. A run at a limit takes no messages; one that has its answer goes on for them alone. */
  take({ goesOn, hasAnswer = false }: { goesOn: boolean; hasAnswer?: boolean }): Steering {
    const stops = this.#stops
    this.#stops = false
    const messages = stops || !goesOn ? [] : this.#messages.splice(0)
    this.listens = goesOn && (messages.length > 0 || !hasAnswer)
    return { messages, stops, unread: this.listens || stops ? undefined : [...this.#messages] }
  }

  /** The run has ended: what it has not taken up. */
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
