import type { ToolCall } from '../../core/messages.ts'
import type { ModelResponse } from '../../models/chat-model.ts'

/** A call as it was found in a response, native or written as text. */
export interface ReadCall extends ToolCall {
  /** Set if the call was written as text. Its arguments may then have the wrong type. */
  asText?: true
  /** The text that the call was read from. */
  written?: string
  /** Set if a text that the model was given contains this call. The model may only be quoting that text. */
  isQuoted?: true
  /** The repairs that were needed to read the call. */
  repairs?: string[]
  /** The reason why the call can't be read, in words for the model. */
  unreadable?: string
  /** The text after the call, shown when the call has ended. */
  textAfter?: string
}

/** A response with the calls found in its text. */
export interface ReadResponse extends ModelResponse {
  toolCalls: ReadCall[]
}
