import type { ToolloopError } from '../../core/errors.ts'
import type { ChatMessage, ToolCall } from '../../core/messages.ts'
import type { ChatModel, ModelRequest, ToolChoice } from '../../models/chat-model.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { StepTags } from '../journal/journal.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { CheckedText } from './model-call.ts'
import type { CallChange, Objection, PlannedCall } from './recorded.ts'
import type { RunStep } from './result.ts'

/**
 * Decides on a subject. Returns the subject, a changed copy, or a copy with `end`. After a copy with `end`, no further entry of the plan is
 * asked.
 */
export type Decide<Subject> = (subject: Subject) => Promise<Subject>

/** The request of a turn that the entries of the plan decide on. */
export interface RequestInPlan {
  readonly iteration: number
  readonly model: ChatModel
  readonly tools: ToolSet
  readonly messages: readonly ChatMessage[]
  readonly toolChoice: ToolChoice | undefined
  /** The schema of the answer. Set if the provider has to enforce it. */
  readonly responseSchema?: ModelRequest['responseSchema']
  /** Whether no tool may be called, because the run ends after this turn. */
  readonly isLast: boolean
  /** Whether the model must answer, so it can call no tool except the answer tool. */
  readonly mustAnswer: boolean
  /** The plan's decision: the run ends, and nothing is sent. Absent if the request is sent. */
  readonly end?: { stop: ToolloopError }
}

/** A reply that the entries of the plan decide on, before it is recorded. */
export interface ReplyInPlan {
  /** The response as it arrived. */
  readonly response: ReadResponse
  readonly request: ModelRequest
  readonly meta: { iteration: number } & StepTags
  /** The text, if guardrails checked it as it arrived. Text that passed the check was shown. */
  readonly streamed: CheckedText | undefined
  /** The earlier text that this response continues. */
  readonly earlier: string
  readonly step: RunStep
  readonly text: string
  readonly calls: ToolCall[]
  readonly planned: PlannedCall[]
  /** Whether the text is only part of an answer, because the response reached a token limit and has no calls. */
  readonly isCut: boolean
  /** The answer's JSON, if it has a schema. */
  readonly answer?: string
  /** The plan's decision: the run ends, or the answer is not accepted. Absent if the reply is recorded as it is. */
  readonly end?: { stop?: ToolloopError; objection?: Objection }
}

/** A call that the entries of the plan decide on. */
export interface CallInPlan {
  readonly iteration: number
  /** The call with its current arguments. */
  readonly call: PlannedCall
  readonly prepared: PreparedCall
  /** The plan's decision. Absent if the call runs as usual. */
  readonly end?: Pick<CallChange, 'refusal' | 'stop' | 'result' | 'ask'>
}
