import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { AIMessage, BaseMessage } from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'

/** Runs one model turn. Rejects if the model gives no reply. */
export type TakeTurn = (messages: readonly BaseMessage[]) => Promise<AIMessage>

/** The model that LangChain's loop asks. A request to it runs a turn, with the run's own model, tools and settings. */
export class TurnModel extends BaseChatModel {
  readonly #takeTurn: TakeTurn

  constructor(takeTurn: TakeTurn) {
    // Pins the format of LangChain's messages, which an environment variable could change.
    super({ outputVersion: 'v0' })
    this.#takeTurn = takeTurn
  }

  override _llmType(): string {
    return 'toolloop'
  }

  /** LangChain's list of tools is ignored, because a turn sends the tools of the run. */
  override bindTools(): this {
    return this
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = await this.#takeTurn(messages)
    return { generations: [{ text: message.text, message }] }
  }
}
