import { InvalidOptionError } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { ChatMessage, Content, JsonObject, Usage } from '../../core/messages.ts'
import { checkCallbackNames, type OptionNames } from '../../core/option-names.ts'
import type { ChatModel, ToolChoice } from '../../models/chat-model.ts'
import type { AnyModel } from '../../models/create-model.ts'
import type { ToolCallOutcome } from '../run/result.ts'

/** Where in which run a hook is asked. */
export interface HookPlace<Context = unknown> {
  readonly runId: string
  readonly iteration: number
  readonly context: Context
  /** Aborted when the run is. */
  readonly signal: AbortSignal
}

/** A request before it is sent. */
export interface ModelTurn<Context = unknown> extends HookPlace<Context> {
  /** The whole conversation as it is to be sent, the instructions first. Frozen. */
  readonly messages: readonly ChatMessage[]
  /** Names of the tools that are sent. */
  readonly tools: readonly string[]
  readonly model: ChatModel
  readonly toolChoice?: ToolChoice
}

/** What is different for this one request. The run's own conversation stays as it is. */
export interface ModelTurnChange {
  /** Sent instead. Put in order where calls lack results or results calls. */
  messages?: readonly MessageInput[]
  /** The tools of the run that are sent, by name; the others can't be called in this turn. */
  tools?: readonly string[]
  model?: AnyModel
  toolChoice?: ToolChoice
}

/** A whole response. */
export interface ModelEnding<Context = unknown> extends HookPlace<Context> {
  readonly text: string
  /** Arguments as the model wrote them: they are not validated yet. */
  readonly toolCalls: readonly { readonly id: string; readonly tool: string; readonly rawArguments: string }[]
  readonly finishReason: FinishReason
  readonly usage?: Usage
}

/** A call before its function is run. */
export interface ToolTurn<Context = unknown> extends HookPlace<Context> {
  readonly toolCallId: string
  readonly tool: string
  /** Validated; a copy. */
  readonly args: JsonObject
}

/** What a `beforeTool` hook does to a call. */
export type ToolTurnChange =
  /** The function is not run; the model is told why. */
  | { refuse: string }
  /** Run with these arguments instead; they are validated again. */
  | { args: JsonObject }
  /** The function is not run: this is taken for what it returned. */
  | { result: unknown }

/** A call whose function has run. */
export interface ToolEnding<Context = unknown> extends ToolTurn<Context> {
  readonly outcome: ToolCallOutcome
  /** What the model is to be given. */
  readonly content: Content
}

/**
 * Takes part in the loop. `beforeModel` and `beforeTool` are asked in the order of the hooks, each seeing what those before it made of the
 * request or the arguments, until one refuses or answers; `afterModel` and `afterTool` in reverse. All are awaited, for as long as an attempt
 * at a tool may take. One that throws, rejects, takes longer or asks for what can't be done is logged and passed over: what must never be
 * passed over belongs into a guardrail. Returning nothing changes nothing. Asked once for each step, and not again when a run is taken up
 * from its record.
 */
export interface Hooks<Context = unknown> {
  /** For the log. */
  name?: string
  beforeModel?(turn: ModelTurn<Context>): ModelTurnChange | undefined | Promise<ModelTurnChange | undefined>
  /** May replace the text that is kept and given out at the end; what was streamed has been seen. */
  afterModel?(ending: ModelEnding<Context>): { text: string } | undefined | Promise<{ text: string } | undefined>
  beforeTool?(call: ToolTurn<Context>): ToolTurnChange | undefined | Promise<ToolTurnChange | undefined>
  /** May replace what the model is given. */
  afterTool?(call: ToolEnding<Context>): { content: Content } | undefined | Promise<{ content: Content } | undefined>
}

const hookNames: OptionNames<Hooks> = { name: true, beforeModel: true, afterModel: true, beforeTool: true, afterTool: true }

/** Throws `invalid_option` for what are no hooks, or have a function that would never be called. */
export function checkHooks(hooks: readonly Hooks<never>[] | undefined): void {
  if (hooks === undefined) return
  if (!Array.isArray(hooks) || !hooks.every((hook) => typeof hook === 'object' && hook !== null))
    throw new InvalidOptionError('hooks', 'an array of hooks', hooks)
  for (const [at, hook] of hooks.entries()) checkCallbackNames(hook, hookNames, 'a hook', `hooks[${at}]`)
}
