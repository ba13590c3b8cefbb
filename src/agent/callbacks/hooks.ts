import { InvalidOptionError } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { ChatMessage, Content, JsonObject, Usage } from '../../core/messages.ts'
import { checkCallbackNames, type OptionNames } from '../../core/option-names.ts'
import type { ChatModel, ModelRequest, ModelResponse, ToolChoice } from '../../models/chat-model.ts'
import type { AnyModel } from '../../models/create-model.ts'
import type { RunScope, ToolEffect } from '../../tools/tool.ts'
import type { ToolCallOutcome } from '../types/result.ts'

/** Where in which run a hook is asked. */
export interface HookPlace<Context = unknown> {
  readonly runId: string
  readonly iteration: number
  readonly context: Context
  /** The run's `metadata`; of a nested run without its own, that of the run outside. Frozen. */
  readonly metadata?: JsonObject
  /** Aborted when the run is. */
  readonly signal: AbortSignal
  /** The run: one that is made here with `parent`, such as that of an agent that judges, has its limits, its budget and its trace. */
  readonly run: RunScope
}

/** A request before it is sent, as passed to `beforeModel`. */
export interface ModelTurn<Context = unknown> extends HookPlace<Context> {
  /** The whole conversation as it is to be sent, the instructions first. Frozen. */
  readonly messages: readonly ChatMessage[]
  /** Names of the tools that are sent. */
  readonly tools: readonly string[]
  readonly model: ChatModel
  readonly toolChoice?: ToolChoice
}

/** What `beforeModel` may change for this one request. The run's own conversation stays as it is. */
export interface ModelTurnChange {
  /** Sent instead. Put in order where calls lack results or results calls. */
  messages?: readonly MessageInput[]
  /** The tools of the run that are sent, by name; the others can't be called in this turn. */
  tools?: readonly string[]
  model?: AnyModel
  toolChoice?: ToolChoice
}

/** A whole response, as passed to `afterModel`. */
export interface ModelEnding<Context = unknown> extends HookPlace<Context> {
  readonly text: string
  /** Arguments as the model wrote them: they are not validated yet. */
  readonly toolCalls: readonly { readonly id: string; readonly tool: string; readonly rawArguments: string }[]
  readonly finishReason: FinishReason
  readonly usage?: Usage
}

/** A call before its function runs, as passed to `beforeTool`. */
export interface ToolTurn<Context = unknown> extends HookPlace<Context> {
  readonly toolCallId: string
  readonly tool: string
  /** Validated; a copy. */
  readonly args: JsonObject
}

/** What `beforeTool` may return for a call. */
export type ToolTurnChange =
  /** The function is not run; the model is told why. */
  | { refuse: string }
  /** Run with these arguments instead; they are validated again. */
  | { args: JsonObject }
  /** The function is not run: this counts as what it returned. Kept as JSON. */
  | { result: unknown }

/** A call whose function has run, as passed to `afterTool`. */
export interface ToolEnding<Context = unknown> extends ToolTurn<Context> {
  readonly outcome: ToolCallOutcome
  /** What the model is to be given. */
  readonly content: Content
}

/** A request as it is sent, as passed to `aroundModel`. Frozen, and its lists are its own. */
export interface SentRequest<Context = unknown> extends HookPlace<Context>, Readonly<Omit<ModelRequest, 'signal'>> {
  readonly model: ChatModel
}

/** A call that is about to run, with its final arguments. Frozen, and so are they. */
export interface RunningToolCall<Context = unknown> extends ToolTurn<Context> {
  readonly effect: ToolEffect
  /** As in the tool's own context: the same for every attempt, also after a crash. */
  readonly idempotencyKey: string
}

/**
 * Functions that take part in the loop. The functions of hooks are entries of the plan (`beforeModel`, `beforeTool`, `afterModel`) and of
 * what stands around a step (`aroundModel`, `aroundTool`, `afterTool`); see `PlanEntry` and `AroundEntry`. Those before are asked in the
 * order of the hooks, each seeing what those before it made of the request or the arguments, until one refuses or answers; those after in
 * reverse; of those around, the first is the outermost. They are asked once for each step, and not again when a run is resumed from its
 * record.
 *
 * Contract of all of them: awaited, for as long as an attempt at a tool may take (`toolTimeoutMs`), the time in `next` not counted. A hook may
 * throw; it has failed then, as it has if it rejects, takes longer, or asks for what can't be done, and `onFailure` says what that means.
 * Returning nothing changes nothing.
 */
export interface Hooks<Context = unknown> {
  /** For the log. */
  name?: string
  /**
   * What happens when a hook of this object fails; it is logged in any case. `'skip'`: the run continues as if the hook had returned nothing.
   * `'refuse'`: the hook's subject does not go on. `beforeTool`: the call is refused. `aroundTool`: the call fails, and the model is told
   * whether the function ran. `afterTool`: the result is withheld from the model. `beforeModel`, `aroundModel` and `afterModel`: the run ends
   * `refused` with the error code `hook_failed`. Default: `'refuse'` for `beforeTool`, `'skip'` for the others.
   */
  onFailure?: 'refuse' | 'skip'
  /** Called before each model request. May change it for this turn. */
  beforeModel?(turn: ModelTurn<Context>): ModelTurnChange | undefined | Promise<ModelTurnChange | undefined>
  /** Called with each response, before its reply is recorded. May replace the text that is kept; what was streamed has been seen. */
  afterModel?(ending: ModelEnding<Context>): { text: string } | undefined | Promise<{ text: string } | undefined>
  /**
   * Called for each call of a turn, before any of them runs, after its arguments are validated and it is approved. Return `{ refuse }` to prevent
   * it. The same call is not put to it again when its tool asks a question.
   */
  beforeTool?(call: ToolTurn<Context>): ToolTurnChange | undefined | Promise<ToolTurnChange | undefined>
  /** Called with the result of each call that has run. May replace what the model is given. */
  afterTool?(call: ToolEnding<Context>): { content: Content } | undefined | Promise<{ content: Content } | undefined>
  /**
   * Stands around one model request, its retries included: `next()` sends it, once, and gives the whole response; what is streamed goes out
   * meanwhile. It rejects with what the request fails with, or with `budget_spent` where a budget does not allow it. The response that the
   * hook returns takes the place of that one; without `next` nothing is sent, and what is returned is shown as if it had been streamed. What
   * was used is as the returned response says; where that does not say it, what was sent has used it. A `Budget` counts what was sent.
   */
  aroundModel?(
    request: SentRequest<Context>,
    next: () => Promise<ModelResponse>,
  ): ModelResponse | undefined | Promise<ModelResponse | undefined>
  /**
   * Stands around the function of a call, its time limit and its retries included: `next()` runs it, once, and gives what it returned. It
   * rejects with a `ToolloopError` where the call fails (`tool_failed`, `tool_timeout`, `tool_cancelled`), whose `cause` is what was thrown.
   * What the hook returns takes the place of that value; without `next` the function is not run. Guardrails and `beforeTool` come before it,
   * `afterTool` and checks of the result after it.
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

/** Throws `invalid_option` for what are no hooks, or have a function that would never be called. */
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
