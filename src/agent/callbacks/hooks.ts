import { InvalidOptionError } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { ChatMessage, Content, JsonObject, Usage } from '../../core/messages.ts'
import { checkCallbackNames, type OptionNames } from '../../core/option-names.ts'
import type { ChatModel, ModelRequest, ModelResponse, ToolChoice } from '../../models/chat-model.ts'
import type { AnyModel } from '../../models/create-model.ts'
import type { RunScope, ToolEffect } from '../../tools/tool.ts'
import type { ToolCallOutcome } from '../types/result.ts'

/** The run and the place in it where a hook is called. */
export interface HookPlace<Context = unknown> {
  readonly runId: string
  readonly iteration: number
  readonly context: Context
  /** The run's `metadata`, or that of the outer run if a nested run has none. Frozen. */
  readonly metadata?: JsonObject
  /** Aborted when the run is. */
  readonly signal: AbortSignal
  /**
   * The run, to be passed as `parent`. A run made with it, such as that of an agent that judges, has its limits, its budget and its trace.
   */
  readonly run: RunScope
}

/** A request before it is sent, as passed to `beforeModel`. */
export interface ModelTurn<Context = unknown> extends HookPlace<Context> {
  /** The whole conversation as it will be sent, the instructions first. Frozen. */
  readonly messages: readonly ChatMessage[]
  /** Names of the tools that are sent. */
  readonly tools: readonly string[]
  readonly model: ChatModel
  readonly toolChoice?: ToolChoice
}

/** What `beforeModel` may change for this one request. The run's own conversation stays as it is. */
export interface ModelTurnChange {
  /** Sent instead of the conversation. Healed if calls lack results or results lack calls. */
  messages?: readonly MessageInput[]
  /** The names of the run's tools to send. The others can't be called in this turn. */
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
  /** A validated copy. */
  readonly args: JsonObject
}

/** What `beforeTool` may return for a call. */
export type ToolTurnChange =
  /** The function does not run; the model is told why. */
  | { refuse: string }
  /** Runs the call with these arguments instead. They are validated again. */
  | { args: JsonObject }
  /** The function does not run: this counts as what it returned. Kept as JSON. */
  | { result: unknown }

/** A call whose function has run, as passed to `afterTool`. */
export interface ToolEnding<Context = unknown> extends ToolTurn<Context> {
  readonly outcome: ToolCallOutcome
  /** The content that the model will get. */
  readonly content: Content
}

/** A request as it is sent, as passed to `aroundModel`. Frozen, with lists of its own. */
export interface SentRequest<Context = unknown> extends HookPlace<Context>, Readonly<Omit<ModelRequest, 'signal'>> {
  readonly model: ChatModel
}

/** A call that is about to run, with its final arguments. Both are frozen. */
export interface RunningToolCall<Context = unknown> extends ToolTurn<Context> {
  readonly effect: ToolEffect
  /** The key in the tool's own context: the same for every attempt, also after a crash. */
  readonly idempotencyKey: string
}

/**
 * Functions that take part in the loop. They act as entries of the plan (`beforeModel`, `beforeTool`, `afterModel`) and as wrappers of a
 * step (`aroundModel`, `aroundTool`, `afterTool`); see `PlanEntry` and `AroundEntry`. Those before a step are called in the order of the
 * hooks. Each sees the request or the arguments as earlier hooks changed them, until one refuses or answers. Those after a step are called
 * in reverse. Of those around a step, the first is the outermost. They are called once for each step, and not again when a run is resumed
 * from its record.
 *
 * Contract of all of them: awaited, for as long as an attempt at a tool may take (`toolTimeoutMs`), not counting the time in `next`. A hook
 * may throw. It then counts as failed, as it does if it rejects, takes longer, or asks for something invalid; see `onFailure`. Returning
 * nothing changes nothing.
 */
export interface Hooks<Context = unknown> {
  /** Its name in the log. */
  name?: string
  /**
   * What happens when a hook of this object fails. A failure is logged in any case. `'skip'`: the run continues as if the hook had returned
   * nothing. `'refuse'`: the hook's subject does not continue. `beforeTool`: the call is refused. `aroundTool`: the call fails, and the
   * model is told whether the function ran. `afterTool`: the result is withheld from the model. `beforeModel`, `aroundModel` and
   * `afterModel`: the run ends `refused` with the error code `hook_failed`. Default: `'refuse'` for `beforeTool`, `'skip'` for the others.
   */
  onFailure?: 'refuse' | 'skip'
  /** Called before each model request. May change it for this turn. */
  beforeModel?(turn: ModelTurn<Context>): ModelTurnChange | undefined | Promise<ModelTurnChange | undefined>
  /**
   * Called with each response, before its reply is recorded. May replace the text that is kept. Text that was streamed has already been
   * shown.
   */
  afterModel?(ending: ModelEnding<Context>): { text: string } | undefined | Promise<{ text: string } | undefined>
  /**
   * Called for each call of a turn, before any of them runs, after its arguments are validated and it is approved. Return `{ refuse }` to
   * prevent it. Not called again for the same call if its tool asks a question.
   */
  beforeTool?(call: ToolTurn<Context>): ToolTurnChange | undefined | Promise<ToolTurnChange | undefined>
  /** Called with the result of each call that has run. May replace the content for the model. */
  afterTool?(call: ToolEnding<Context>): { content: Content } | undefined | Promise<{ content: Content } | undefined>
  /**
   * Wraps one model request, with its retries. `next()` sends it, at most once, and resolves with the whole response; text is streamed
   * meanwhile. It rejects with the request's error, or with `budget_spent` if a budget does not allow it.
   *
   * The response that the hook returns replaces that one. If `next` is not called, nothing is sent, and the returned response is shown as
   * if it had been streamed. The usage is that of the returned response, or that of the request if the response has none. A `Budget` counts
   * what was sent.
   */
  aroundModel?(
    request: SentRequest<Context>,
    next: () => Promise<ModelResponse>,
  ): ModelResponse | undefined | Promise<ModelResponse | undefined>
  /**
   * Wraps the function of a call, with its time limit and its retries. `next()` runs it, at most once, and resolves with what it returned.
   * It rejects with a `ToolloopError` if the call fails (`tool_failed`, `tool_timeout`, `tool_cancelled`), whose `cause` is what was
   * thrown.
   *
   * The value that the hook returns replaces that of the function. If `next` is not called, the function does not run. Guardrails and
   * `beforeTool` come before it, `afterTool` and checks of the result after it.
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

/** Throws `invalid_option` for anything but hooks, and for a function that would never be called. */
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
