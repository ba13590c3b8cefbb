import type { ModelRequest } from '../../models/chat-model.ts'
import type { Durable } from '../journal/journal.ts'
import type { RunContext } from '../run/run-context.ts'
import type { LoopState } from '../run/run-state.ts'
import type { AskModel, ChangeTurn, FormatAnswer } from './model-call.ts'
import type { PlanCall } from './plan.ts'
import type { Ending, Failed, Turn } from './recorded.ts'
import type { Review } from './review.ts'
import type { AroundTool, RunCall } from './running-call.ts'

/** One execution of a run, from its start or from where its record ends. */
export interface Execution {
  readonly durable: Durable
  /** What lives only in this process. */
  readonly run: RunContext
  /** What a replay brings back. */
  readonly state: LoopState
  /** What stands around its requests and calls. */
  layers: Layers
  /** Composes that for the agent that has the conversation. */
  compose(): Layers
}

/** Where the loop is. */
export interface Place {
  iteration: number
  /** How the run ends after this turn, in which nothing can be called: the model is asked only so that there is an answer. */
  lastTurn?: Ending
  /** The turn takes the place of this one. */
  after?: Failed
}

/** Takes one turn. */
export type TakeTurn = (execution: Execution, place: Place) => Promise<Turn>

/** What a run has of the following, composed when it begins; a run pays only for what it has. */
export interface Layers {
  /** What every request says. */
  readonly request: Omit<ModelRequest, 'messages'>
  /** A turn in the context window, as steps of the journal. */
  readonly takeTurn: TakeTurn
  /** A request, inside of such a step. */
  readonly askModel: AskModel
  /** A call, inside of such a step. */
  readonly runCall: RunCall
  /** Wraps what the caller gives as the result of a call. */
  readonly takeResult: AroundTool
  /** What is asked, before it is sent. */
  readonly changeTurn?: ChangeTurn
  /** A call, before any call of its round runs. */
  readonly planCall?: PlanCall
  /** A request for an answer with a schema. */
  readonly formatAnswer?: FormatAnswer
  /** A reply, before it is recorded. */
  readonly review?: Review
}

/** Drives an execution to its end. */
export type Loop = (execution: Execution) => Promise<Ending>
