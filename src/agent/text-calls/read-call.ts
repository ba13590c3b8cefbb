import type { ToolCall } from '../../core/messages.ts'
import type { ModelResponse } from '../../models/chat-model.ts'

/** A call as it was found in a response, native or written as text. */
export interface ReadCall extends ToolCall {
  /** It was written as text, so its arguments may have the wrong type. */
  asText?: true
  /** The text that it was read from. */
  written?: string
  /** The model was given a text with this call, so the model may only be quoting it. */
  isQuoted?: true
  /** The repairs that were needed to read it. */
  repairs?: string[]
  /** Why it can't be read, in words for the model. */
  unreadable?: string
  /** The text after it, shown when it has ended. */
  textAfter?: string
}

/** A response after its text calls were found. */
export interface ReadResponse extends ModelResponse {
  toolCalls: ReadCall[]
}
