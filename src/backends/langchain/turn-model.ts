import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { AIMessage, BaseMessage } from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'

/** Takes one turn of the run; rejects when there is no reply to go on with. */
export type TakeTurn = (messages: readonly BaseMessage[]) => Promise<AIMessage>

/**
 * The model LangChain's loop asks: a turn of the run, and so a request to the run's own model, with its driver, its retries and its
 * events. Tools and settings are those of the run.
 */
export class TurnModel extends BaseChatModel {
  readonly #takeTurn: TakeTurn

  constructor(takeTurn: TakeTurn) {
    // Whatever the environment says: messages are to come back as they were given.
    super({ outputVersion: 'v0' })
    this.#takeTurn = takeTurn
  }

  override _llmType(): string {
    return 'toolloop'
  }

  /** The turn sends the run's tools, of which LangChain has a copy. */
  override bindTools(): this {
    return this
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = await this.#takeTurn(messages)
    return { generations: [{ text: message.text, message }] }
  }
}
