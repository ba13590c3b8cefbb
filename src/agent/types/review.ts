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
  /** Whether its text is shown only after guardrails have checked it. */
  isHeld: boolean
  /** Set if it was checked as it arrived, and what passed was shown. */
  streamed: CheckedText | undefined
  /** The text that it continues. */
  earlier: string
  /** It reached a token limit and calls nothing: the answer is cut off, unless it is complete by its schema. */
  mayBeCut: boolean
}

/** What remains of the response after the review. */
export interface ReviewedReply {
  text: string
  calls: ToolCall[]
  planned: PlannedCall[]
  /** The answer's JSON, if it has a schema. */
  answer?: string
  objection?: Objection
  /** The text is only a part of an answer: the response reached a token limit. */
  isCut?: boolean
  /** Why a guardrail or a hook ends the run. */
  stop?: ToolloopError
  /** Nothing of the model's text may be kept. */
  isWithheld?: boolean
  /** It must not be shown if the run was interrupted meanwhile: a required check may not have run. */
  isUnchecked?: boolean
}

/** Looks at a reply before it is recorded. */
export type Review = (turn: ReviewedTurn) => Promise<ReviewedReply>
