import type { Awaitable } from '../../core/callbacks/callbacks.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { JsonObject } from '../../core/messages.ts'
import type { RunResult } from '../types/result.ts'

/** The run whose conversation is loaded or saved. */
export interface HistoryRun<Context = unknown> {
  runId: string
  context: Context
  metadata?: JsonObject
  /** The run whose tool call started this run. */
  parentRunId?: string
}

/** Stores conversations in your own tables. */
export interface AgentHistory<Context = unknown> {
  /**
   * Loads the conversation that a run continues. Called when the run begins, unless its caller passes `messages` or a `session`.
   *
   * Contract: awaited. Throwing rejects the run. Returning nothing means that no conversation exists. In this case, `save` is not called.
   */
  load(run: HistoryRun<Context>): Awaitable<readonly MessageInput[] | undefined>
  /**
   * Saves `result.newMessages`, the messages that the run added.
   *
   * Contract: awaited before a journal records the end of the run. After a crash, `save` may be called again for the same `runId`, in
   * another process. Throwing rejects the run. If the run has a journal, saving is tried again later.
   */
  save(run: HistoryRun<Context>, result: RunResult): Awaitable<void>
}
