import type { ToolloopError } from '../../core/errors.ts'
import type { ToolCall } from '../../core/messages.ts'
import type { ModelRequest } from '../../models/chat-model.ts'
import type { StepTags } from '../journal/journal.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { CheckedText } from './model-call.ts'
import type { Objection, Plan, PlannedCall } from './recorded.ts'
import type { RunStep } from './result.ts'

/** A response before it becomes a reply. */
export interface ReviewedTurn {
  response: ReadResponse
  plan: Plan
  step: RunStep
  request: ModelRequest
  meta: { iteration: number } & StepTags
  /** Whether the text is shown only after guardrails have checked it. */
  isHeld: boolean
  /** Set if the text was checked as it arrived, and the part that passed was shown. */
  streamed: CheckedText | undefined
  /** The earlier text that this response continues. */
  earlier: string
  /** Whether the response reached a token limit and has no calls, so that the answer is cut off unless it is complete by its schema. */
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
  /** Set if a guardrail or a hook ends the run: the reason. */
  stop?: ToolloopError
  /** Set if nothing of the model's text may be kept. */
  isWithheld?: boolean
  /** Set if the text must not be shown if the run was interrupted meanwhile, because a required check may not have run. */
  isUnchecked?: boolean
}

/** Reviews a reply before it is recorded. */
export type Review = (turn: ReviewedTurn) => Promise<ReviewedReply>
