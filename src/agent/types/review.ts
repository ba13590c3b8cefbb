import type { ToolloopError } from '../../core/errors.ts'
import type { ToolCall } from '../../core/messages.ts'
import type { ModelRequest } from '../../models/chat-model.ts'
import type { StepTags } from '../journal/journal.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { CheckedText } from './model-call.ts'
import type { Objection, Plan, PlannedCall } from './recorded.ts'
import type { RunStep } from './result.ts'

/** A response that is about to become a reply. */
export interface ReviewedTurn {
  response: ReadResponse
  plan: Plan
  step: RunStep
  request: ModelRequest
  meta: { iteration: number } & StepTags
  /** Whether its text is given out only when guardrails have checked it. */
  isHeld: boolean
  /** It was checked while it arrived, and what has passed was shown. */
  streamed: CheckedText | undefined
  /** The text that it continues. */
  earlier: string
  /** It reached a token limit, and calls nothing: the answer is cut, unless it is whole by its schema. */
  mayBeCut: boolean
}

/** What is kept of it. */
export interface ReviewedReply {
  text: string
  calls: ToolCall[]
  planned: PlannedCall[]
  /** The answer's JSON, where it has a schema. */
  answer?: string
  objection?: Objection
  /** The text is only a part of an answer: the response reached a token limit. */
  isCut?: boolean
  /** Why a guardrail or a hook ends the run. */
  stop?: ToolloopError
  /** Something the model wrote must not be kept in any form. */
  isWithheld?: boolean
  /** It can't be given out should the run have been interrupted meanwhile: what had to be checked may not be. */
  isUnchecked?: boolean
}

/** Looks at a reply before it is recorded. */
export type Review = (turn: ReviewedTurn) => Promise<ReviewedReply>
