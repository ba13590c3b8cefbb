import type { ToolCall } from '../../core/messages.ts'
import type { ModelResponse } from '../../models/chat-model.ts'

/** A call as it was found in a response: native, or written as text. */
export interface ReadCall extends ToolCall {
  /** It was written as text, so that its arguments may be of the wrong type. */
  asText?: true
  /** The text that it was read from. */
  written?: string
  /** It stands in a text that the model was given, so that it may only be quoted. */
  isQuoted?: true
  /** What had to be put right in order to read it. */
  repairs?: string[]
  /** Why it can't be read, in words for the model. */
  unreadable?: string
  /** Text that stood behind it; shown when it has ended. */
  textAfter?: string
}

/** A response whose calls were found in it. */
export interface ReadResponse extends ModelResponse {
  toolCalls: ReadCall[]
}
