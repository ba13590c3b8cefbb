import { checkCallbackNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { ChatMessage, Content, JsonObject, Usage } from '../../core/messages.ts'
import type { ChatModel, ModelRequest, ModelResponse, ToolChoice } from '../../models/chat-model.ts'
import type { AnyModel } from '../../models/create-model.ts'
import type { RunScope, ToolEffect } from '../../tools/tool.ts'
import type { ToolCallOutcome } from '../types/result.ts'

/** The run and the place in it where a hook is called. */
export interface HookPlace<Context = unknown> {
  readonly runId: string
  readonly iteration: number
  readonly context: Context
  /** The run's `metadata`. A nested run without its own `metadata` has the `metadata` of the outer run. The object is frozen. */
  readonly metadata?: JsonObject
  /** The signal that is aborted when the run is aborted. */
  readonly signal: AbortSignal
  /**
   * The run itself. Pass it as `parent` to start another run inside it. The nested run, such as a run of a judging agent, shares the
   * limits, the budget and the trace of this run.
   */
  readonly run: RunScope
}

/** The argument of `beforeModel`: the messages, the tools and the model of the next request. */
export interface ModelTurn<Context = unknown> extends HookPlace<Context> {
  /** The whole conversation as it will be sent, starting with the instructions. The list is frozen. */
  readonly messages: readonly ChatMessage[]
  /** Names of the tools that are sent. */
  readonly tools: readonly string[]
  readonly model: ChatModel
  readonly toolChoice?: ToolChoice
}

/** Changes that `beforeModel` may make to one request. The run's own conversation does not change. */
export interface ModelTurnChange {
  /**
   * Messages to send instead of the conversation. A call without a result gets a substitute result. A result without a call is left out.
   */
  messages?: readonly MessageInput[]
  /** Names of the tools to send, out of the run's tools. The other tools can't be called in this turn. */
  tools?: readonly string[]
  model?: AnyModel
  toolChoice?: ToolChoice
}

/** A whole response, as passed to `afterModel`. */
export interface ModelEnding<Context = unknown> extends HookPlace<Context> {
  readonly text: string
  /** Arguments as the model wrote them, not yet validated. */
  readonly toolCalls: readonly { readonly id: string; readonly tool: string; readonly rawArguments: string }[]
  readonly finishReason: FinishReason
  readonly usage?: Usage
}

/** A call before its function runs, as passed to `beforeTool`. */
export interface ToolTurn<Context = unknown> extends HookPlace<Context> {
  readonly toolCallId: string
  readonly tool: string
  /** A copy of the validated arguments. */
  readonly args: JsonObject
}

/** The return value of `beforeTool`. */
export type ToolTurnChange =
  /** The function does not run; the model is told why. */
  | { refuse: string }
  /** Runs the call with these arguments instead. The arguments are validated again. */
  | { args: JsonObject }
  /** The function does not run, and this value replaces its return value. The value is stored as JSON. */
  | { result: unknown }

/** A call whose function has run, as passed to `afterTool`. */
export interface ToolEnding<Context = unknown> extends ToolTurn<Context> {
  readonly outcome: ToolCallOutcome
  /** The content that the model will get. */
  readonly content: Content
}

/** A request as it is sent, as passed to `aroundModel`. The request is frozen, and its lists are copies. */
export interface SentRequest<Context = unknown> extends HookPlace<Context>, Readonly<Omit<ModelRequest, 'signal'>> {
  readonly model: ChatModel
}

/** A call that is about to run, with its final arguments. The call and its arguments are frozen. */
export interface RunningToolCall<Context = unknown> extends ToolTurn<Context> {
  readonly effect: ToolEffect
  /** The key that the tool gets as `ctx.idempotencyKey`. It is the same for every attempt, even after a crash. */
  readonly idempotencyKey: string
}

/**
 * Functions that the run calls before, around and after its model requests and tool calls. See also `PlanEntry` and `AroundEntry`.
 *
 * Before a step, functions are called in the order of the hooks. Each function gets the request or the arguments as changed by the earlier
 * functions. Once a function refuses or answers, the remaining functions are not called. After a step, functions are called in reverse
 * order. Among the functions that wrap a step, the first function is the outermost. Hooks are called once for each step, and not again when
 * a recorded run is resumed.
 *
 * Contract of all hooks: awaited for at most `toolTimeoutMs`, not counting the time in `next`. A hook fails if it throws, rejects, takes
 * longer, or returns something invalid. Returning nothing changes nothing.
 */
export interface Hooks<Context = unknown> {
  /** The name of these hooks in the log. */
  name?: string
  /**
   * What happens when a hook of this object fails. A failure is logged in any case. `'skip'`: the run continues as if the hook had returned
   * nothing. `'refuse'` stops the step that the hook was called for. `beforeTool`: the call is refused. `aroundTool`: the call fails, and
   * the model is told whether the function ran. `afterTool`: the result is withheld from the model. `beforeModel`, `aroundModel` and
   * `afterModel`: the run ends `refused` with the error code `hook_failed`. Default: `'refuse'` for `beforeTool`, `'skip'` for the others.
   */
  onFailure?: 'refuse' | 'skip'
  /** Called before each model request. May change the request for this turn. */
  beforeModel?(turn: ModelTurn<Context>): ModelTurnChange | undefined | Promise<ModelTurnChange | undefined>
  /**
   * Called with each response, before the response is recorded. May replace the text that is kept. Text that was streamed has already been
   * shown unchanged.
   */
  afterModel?(ending: ModelEnding<Context>): { text: string } | undefined | Promise<{ text: string } | undefined>
  /**
   * Called for each valid and approved call of a turn, before any call of the turn runs. Return `{ refuse }` to prevent the call. The hook
   * is not called again for the same call if the tool asks a question.
   */
  beforeTool?(call: ToolTurn<Context>): ToolTurnChange | undefined | Promise<ToolTurnChange | undefined>
  /** Called with the result of each call that has run. May replace the content for the model. */
  afterTool?(call: ToolEnding<Context>): { content: Content } | undefined | Promise<{ content: Content } | undefined>
  /**
   * Wraps one model request, including its retries. `next()` sends the request and resolves with the whole response. Text is streamed while
   * the response arrives. `next()` rejects with the request's error, or with `budget_spent` if a budget does not allow the request. A
   * second call of `next` rejects.
   *
   * The response that the hook returns replaces the response from `next`. If `next` is not called, nothing is sent, and the returned
   * response is shown as if it had been streamed. The run counts the usage in the returned response. If that response has no usage, the run
   * counts the usage of the sent request. A `Budget` always counts what was sent.
   */
  aroundModel?(
    request: SentRequest<Context>,
    next: () => Promise<ModelResponse>,
  ): ModelResponse | undefined | Promise<ModelResponse | undefined>
  /**
   * Wraps the function of a call, including its time limit and its retries. `next()` runs the function at most once, and resolves with its
   * return value. If the call fails, `next()` rejects with a `ToolloopError` (`tool_failed`, `tool_timeout`, `tool_cancelled`). The `cause`
   * of the error is the value that was thrown.
   *
   * The hook's return value replaces the function's return value. If `next` is not called, the function does not run. Guardrails and
   * `beforeTool` are called before this hook; `afterTool` and checks of the result are called after it.
   */
  aroundTool?(call: RunningToolCall<Context>, next: () => Promise<unknown>): unknown
}

const hookNames: OptionNames<Hooks> = {
  name: true,
  onFailure: true,
  beforeModel: true,
  afterModel: true,
  beforeTool: true,
  afterTool: true,
  aroundModel: true,
  aroundTool: true,
}

/** Throws `invalid_option` if a hook is invalid or has an unknown field. */
export function checkHooks(hooks: readonly Hooks<never>[] | undefined): void {
  if (hooks === undefined) return
  if (!Array.isArray(hooks) || !hooks.every((hook) => typeof hook === 'object' && hook !== null))
    throw new InvalidOptionError('hooks', 'an array of hooks', hooks)
  for (const [at, hook] of hooks.entries()) {
    checkCallbackNames(hook, hookNames, 'a hook', `hooks[${at}]`)
    const { onFailure } = hook
    if (onFailure !== undefined && onFailure !== 'refuse' && onFailure !== 'skip')
      throw new InvalidOptionError(`hooks[${at}].onFailure`, "'refuse' or 'skip'", onFailure)
  }
}
