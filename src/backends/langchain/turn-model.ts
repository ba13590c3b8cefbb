import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { AIMessage, BaseMessage } from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'

/** Runs one model turn. Rejects if there is no reply to continue with. */
export type TakeTurn = (messages: readonly BaseMessage[]) => Promise<AIMessage>

/**
 * The model that LangChain's loop asks. It runs a turn, so the request goes to the run's own model, with its driver, retries and events.
 * Tools and settings are those of the run.
 */
export class TurnModel extends BaseChatModel {
  readonly #takeTurn: TakeTurn

  constructor(takeTurn: TakeTurn) {
    // Pins LangChain's message format, because messages must come back unchanged. An environment variable could change the format.
    super({ outputVersion: 'v0' })
    this.#takeTurn = takeTurn
  }

  override _llmType(): string {
    return 'toolloop'
  }

  /** The turn sends the tools of the run, so LangChain's copy of them is ignored. */
  override bindTools(): this {
    return this
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = await this.#takeTurn(messages)
    return { generations: [{ text: message.text, message }] }
  }
}
