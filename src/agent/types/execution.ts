import type { ModelRequest } from '../../models/chat-model.ts'
import type { Durable } from '../journal/journal.ts'
import type { RunContext } from '../run/run-context.ts'
import type { LoopState } from '../run/run-state.ts'
import type { AskModel } from './model-call.ts'
import type { CallInPlan, Decide, ReplyInPlan, RequestInPlan } from './plan.ts'
import type { Ending, Failed, Turn } from './recorded.ts'
import type { AroundTool, RunCall } from './running-call.ts'

/** One execution of a run. It replays the steps that earlier executions have recorded. */
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
  /** Set for the last turn of a run, in which the model can't call tools: how the run ends after this turn. */
  lastTurn?: Ending
  /** The failed turn that this turn replaces. */
  after?: Failed
  /** Distinguishes the key of a repeated turn. */
  suffix?: string
}

type TakeTurn = (execution: Execution, place: Place) => Promise<Turn>

/** Wraps the step of a turn. The wrapper may record its own steps, and repeat the turn with another `suffix`. */
export type AroundTurn = (next: TakeTurn) => TakeTurn

/** The plans and the wrapped functions of each step. A plan that no feature uses is absent. */
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
