import type { Awaitable } from '../../core/callbacks/callbacks.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { JsonObject } from '../../core/messages.ts'
import type { RunResult } from '../types/result.ts'

/** A run, as passed to a history. */
export interface HistoryRun<Context = unknown> {
  runId: string
  context: Context
  metadata?: JsonObject
  /** The run in whose tool call this one is made. */
  parentRunId?: string
}

/** Stores conversations in tables of your own. */
export interface AgentHistory<Context = unknown> {
  /**
   * The conversation that a run continues. Awaited when the run begins, unless its caller gives it `messages` or a `session`. Undefined: none, and
   * nothing of the run is saved. Throwing rejects the run.
   */
  load(run: HistoryRun<Context>): Awaitable<readonly MessageInput[] | undefined>
  /**
   * Keeps what a run has added, `result.newMessages`, when it has ended. Awaited before a journal records that: after a crash it may be called
   * again for the same `runId`, in another process. Throwing rejects the run; a recorded one is then tried again.
   */
  save(run: HistoryRun<Context>, result: RunResult): Awaitable<void>
}
