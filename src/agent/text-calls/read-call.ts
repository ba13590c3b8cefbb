import type { ToolCall } from '../../core/messages.ts'
import type { ModelResponse } from '../../models/chat-model.ts'

/** A call as it was found in a response, native or written as text. */
export interface ReadCall extends ToolCall {
  /** Set if the call was written as text, so that its arguments may have the wrong type. */
  asText?: true
  /** The text that the call was read from. */
  written?: string
  /** Set if the model was given a text with this call, so that it may only be quoting it. */
  isQuoted?: true
  /** The repairs that were needed to read the call. */
  repairs?: string[]
  /** Why the call can't be read, in words for the model. */
  unreadable?: string
  /** The text after the call, shown when the call has ended. */
  textAfter?: string
}

/** A response after its text calls were found. */
export interface ReadResponse extends ModelResponse {
  toolCalls: ReadCall[]
}
