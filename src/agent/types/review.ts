import type { ToolloopError } from '../../core/errors.ts'
import type { ToolCall } from '../../core/messages.ts'
import type { ModelRequest } from '../../models/chat-model.ts'
import type { StepTags } from '../journal/journal.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { CheckedText } from './model-call.ts'
import type { Objection, Plan, PlannedCall } from './recorded.ts'
import type { RunStep } from './result.ts'

/** A response, to review before it becomes a reply. */
export interface ReviewedTurn {
  response: ReadResponse
  plan: Plan
  step: RunStep
  request: ModelRequest
  meta: { iteration: number } & StepTags
  /** Whether the text is shown only after guardrails have checked it. */
  isHeld: boolean
  /** The text that was checked as it arrived. The part that passed was shown. Undefined if the text was not checked as it arrived. */
  streamed: CheckedText | undefined
  /** The earlier text that this response continues. */
  earlier: string
  /** Whether the response reached a token limit and has no calls. If so, the answer is cut off, unless it fits its schema. */
  mayBeCut: boolean
}

/** The parts of the response after the review. */
export interface ReviewedReply {
  text: string
  calls: ToolCall[]
  planned: PlannedCall[]
  /** The answer's JSON, if it has a schema. */
  answer?: string
  objection?: Objection
  /** Set if the text is only part of an answer, because the response reached a token limit. */
  isCut?: boolean
  /** The reason of the guardrail or hook that ends the run. */
  stop?: ToolloopError
  /** Set if none of the model's text may be kept. */
  isWithheld?: boolean
  /** Set if a required check may have been skipped when the run was interrupted. The text of an interrupted run must then not be shown. */
  isUnchecked?: boolean
}

/** Reviews a reply before it is recorded. */
export type Review = (turn: ReviewedTurn) => Promise<ReviewedReply>
