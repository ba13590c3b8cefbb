import pTimeout from 'p-timeout'
import { messageOf } from '../errors.ts'
import { type Content, copyJson, type JsonObject } from '../messages.ts'
import type { LiveRun } from './live-run.ts'
import type { ToolCallOutcome } from './run.ts'

/** A call before its function is run. */
export interface ToolTurn<Context = unknown> {
  readonly runId: string
  readonly iteration: number
  readonly toolCallId: string
  readonly tool: string
  /** Validated; a copy. */
  readonly args: JsonObject
  readonly context: Context
  /** Aborted when the run is. */
  readonly signal: AbortSignal
}

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
 * Takes part in the loop. `beforeTool` is asked in the order of the hooks, each seeing the arguments as those before it left them, until one
 * refuses or answers; `afterTool` in reverse. Both are awaited, for as long as an attempt at a tool may take. One that throws, rejects or
 * takes longer is logged and passed over: what must never be passed over belongs into the tool, or into its `approval`. Returning nothing
 * changes nothing.
 */
export interface Hooks<Context = unknown> {
  /** For the log. */
  name?: string
  beforeTool?(call: ToolTurn<Context>): ToolTurnChange | undefined | Promise<ToolTurnChange | undefined>
  /** May replace what the model is given. */
  afterTool?(call: ToolEnding<Context>): { content: Content } | undefined | Promise<{ content: Content } | undefined>
}

/** What the hooks make of a call before it is run; undefined where none of them changed anything. */
export async function askBeforeTool(run: LiveRun, call: ToolTurn<never>): Promise<ToolTurnChange | undefined> {
  let args = call.args
  for (const hook of run.settings.hooks ?? []) {
    const change = await ask(run, hook, 'beforeTool', () => hook.beforeTool?.({ ...call, args: copyJson(args) }))
    if (change === undefined) continue
    if (!('args' in change)) return change
    args = change.args
  }
  return args === call.args ? undefined : { args }
}

/** What the model is to be given after the hooks have seen it. */
export async function askAfterTool(run: LiveRun, call: ToolEnding<never>): Promise<Content> {
  let { content } = call
  for (const hook of (run.settings.hooks ?? []).toReversed()) {
    const change = await ask(run, hook, 'afterTool', () =>
      hook.afterTool?.({ ...call, args: copyJson(call.args), content: copyJson(content) }),
    )
    if (change !== undefined) content = change.content
  }
  return content
}

async function ask<T extends object>(
  run: LiveRun,
  { name }: Hooks<never>,
  what: string,
  hook: () => T | undefined | Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    const asked = async () => hook()
    const change = await pTimeout(run.untilInterrupted(asked()), { milliseconds: run.limits.toolTimeoutMs })
    return typeof change === 'object' && change !== null ? change : undefined
  } catch (error) {
    run.logger.error({ runId: run.runId, hook: name ?? '(unnamed)', error: messageOf(error) }, `${what} hook failed and was passed over`)
    return undefined
  }
}
