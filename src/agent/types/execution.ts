import type { ModelRequest } from '../../models/chat-model.ts'
import type { Durable } from '../journal/journal.ts'
import type { RunContext } from '../run/run-context.ts'
import type { LoopState } from '../run/run-state.ts'
import type { AskModel } from './model-call.ts'
import type { CallInPlan, Decide, ReplyInPlan, RequestInPlan } from './plan.ts'
import type { Ending, Failed, Turn } from './recorded.ts'
import type { AroundTool, RunCall } from './running-call.ts'

/** One execution of a run, which starts at the beginning of the run or at the end of its record. */
export interface Execution {
  readonly durable: Durable
  /** State that exists only in this process. */
  readonly run: RunContext
  /** State that a replay restores. */
  readonly state: LoopState
  /** The fields that every request shares. */
  readonly request: Omit<ModelRequest, 'messages'>
  layers: Layers
  /** Composes the layers for the agent that currently has the conversation. */
  compose(): Layers
}

/** The current position of the loop. */
export interface Place {
  iteration: number
  /** The ending of the run after this turn. Set if the model is only asked for an answer and can't call tools. */
  lastTurn?: Ending
  /** The failed turn that this turn replaces. */
  after?: Failed
  /** Distinguishes the key of a repeated turn. */
  suffix?: string
}

/** Takes one turn. */
type TakeTurn = (execution: Execution, place: Place) => Promise<Turn>

/** Wraps a turn, outside its step. The wrapper may record its own steps, and repeat the turn with another `suffix`. */
export type AroundTurn = (next: TakeTurn) => TakeTurn

/** The plans and the wrappers of each step, composed when the run starts. An absent plan costs nothing. */
export interface Layers {
  /** Decides on the request of a turn before it is sent. */
  readonly planRequest?: Decide<RequestInPlan>
  /** Decides on a reply before it is recorded. */
  readonly planReply?: Decide<ReplyInPlan>
  /** Decides on a call before any call of its round runs. */
  readonly planCall?: Decide<CallInPlan>
  /** Takes a turn, as a step of the journal. */
  readonly takeTurn: TakeTurn
  /** Sends a request, inside the step of a turn. */
  readonly askModel: AskModel
  /** Runs a call, inside the step of the call. */
  readonly runCall: RunCall
  /** Wraps the result that the caller supplies for a call. */
  readonly takeResult: AroundTool
}

/** Drives an execution to its end. */
export type Loop = (execution: Execution) => Promise<Ending>
