import type { Awaitable } from '../../core/callbacks/callbacks.ts'
import type { Json, JsonObject } from '../../core/messages.ts'
import type { ModelResponse } from '../../models/chat-model.ts'
import type { ModelTurn, ModelTurnChange, RunningToolCall, SentRequest, ToolTurn } from '../callbacks/hooks.ts'

/** The return value of an entry of `plan` for a request. */
export type RequestPlan =
  | ModelTurnChange
  /** Nothing is sent, and the run ends: stop reason `refused`, error code `guardrail`. */
  | { stop: string }

/**
 * The return value of `call` in an entry of `plan`: refuses the call, asks for an approval, changes its arguments, or supplies its result.
 * `args` may be combined with `ask` or `result`. A refusal takes precedence over
 * everything else.
 */
export type CallPlan =
  /** The call is not run; the model is told why. */
  | { refuse: string }
  /** The call is not run, and the run ends when its round is over: stop reason `refused`, error code `guardrail`. */
  | { stop: string }
  /** The call is run with these arguments, which are validated again. */
  | { args: JsonObject }
  /** The tool does not run. `result` replaces the tool's return value, and is stored as JSON. */
  | { result: unknown }
  /**
   * The call waits for an approval, like a call of a tool with `approval`. The approver sees this value. After the approval, the remaining
   * entries are asked. If the approver changed the arguments, all entries are asked again.
   */
  | { ask: Json }

/**
 * Decides on a request or a call before it is carried out. The decision is recorded, so it stays the same if the run continues in another
 * process. Entries are asked in order, after the hooks and before the guardrails, until one refuses, answers or asks. Each entry sees the
 * request or the arguments with the changes of the entries before it.
 */
export interface PlanEntry<Context = unknown> {
  /** The name in logs and messages. */
  readonly name: string
  /**
   * What happens if the entry fails: it throws, rejects, takes longer than `toolTimeoutMs`, or returns something invalid. A failure is
   * logged. `'refuse'`: a call is refused; for a request, the run ends `refused` with the error code `hook_failed`. `'skip'`: continues as
   * if the entry had returned nothing. Default: `'refuse'`.
   */
  readonly onFailure?: 'refuse' | 'skip'
  /**
   * Called before each model request.
   *
   * Contract: awaited. May throw; see `onFailure`. Returning nothing sends the request unchanged.
   */
  request?(turn: ModelTurn<Context>): Awaitable<RequestPlan | undefined>
  /**
   * Called for each call of a turn, after its arguments are validated and it is approved, and before any call of the turn runs. It is
   * called for all calls of a turn at the same time.
   *
   * Contract: awaited. May throw; see `onFailure`. Returning nothing lets the call run.
   */
  call?(call: ToolTurn<Context>): Awaitable<CallPlan | undefined>
}

/**
 * Wraps model requests and tool functions while they run. Middleware that waits for people belongs in `plan`. The first entry is the
 * outermost; hooks wrap all entries.
 */
export interface AroundEntry<Context = unknown> {
  /** The name in logs and messages. */
  readonly name: string
  /**
   * What happens if the entry fails: it throws, rejects, or takes longer than `toolTimeoutMs`, not counting the time in `next`. A failure
   * is logged. `'refuse'`: the call fails, and the model is told whether its tool ran; for a request, the run ends `refused` with the error
   * code `hook_failed`. `'skip'`: continues as if the entry had returned the result of the wrapped request or function unchanged. Default:
   * `'skip'`.
   */
  readonly onFailure?: 'refuse' | 'skip'
  /**
   * Wraps a model request, with its retries. `next()` sends it, at most once, and resolves with the response; deltas are emitted meanwhile.
   *
   * Contract: awaited. May throw; see `onFailure`. The return value replaces the response; returning nothing keeps it. If `next` is not
   * called, no request is sent, and a response must be returned.
   */
  request?(request: SentRequest<Context>, next: () => Promise<ModelResponse>): Awaitable<ModelResponse | undefined>
  /**
   * Wraps a tool's function, with its time limits and retries. `next()` runs the function, at most once, and resolves with its return
   * value. It rejects with a `ToolloopError` if the call fails.
   *
   * Contract: awaited. May throw; see `onFailure`. The return value replaces the return value of the function; returning nothing keeps it.
   * If `next` is not called, the function does not run.
   */
  call?(call: RunningToolCall<Context>, next: () => Promise<unknown>): unknown
}
