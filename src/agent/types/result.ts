import type { ErrorCode, ToolloopError } from '../../core/errors.ts'
import type { FinishReason, MadeDecision, PathStep, PlanPlace, ScriptLine, StopReason, ToolCallOutcome } from '../../core/events.ts'
import type { CallKey, ChatMessage, Content, Json, JsonObject, Usage } from '../../core/messages.ts'
import type { JsonSchema, ToolEffect } from '../../tools/tool.ts'

/** The usage of the runs started inside a call. */
export interface Spent {
  usage: Usage
  toolCalls: number
}

export type { ToolCallOutcome }

/** One call of a run: its arguments, its outcome, and the result that the model got. */
export interface ToolCallRecord {
  id: string
  tool: string
  /** Parsed arguments. Undefined if they could not be parsed. */
  args?: JsonObject
  /** The arguments as the model wrote them. */
  rawArguments: string
  iteration: number
  outcome: ToolCallOutcome
  /** The content that the model got. */
  content: Content
  /** The return value of `execute`. The value is kept only in memory, and only if the model got the complete value. */
  value?: unknown
  errorCode?: ErrorCode
  durationMs: number
  attempts: number
  /** Descriptions of the repairs to the call, such as a conversion of values that had the wrong type. */
  repairs?: string[]
  /** The last decision on the call. Its field `earlier` has the decisions before it. */
  decision?: MadeDecision
  /** The usage of the runs started inside the call. */
  nested?: Spent
  /**
   * The idempotency key that later calls of the same tool with the same arguments reuse. Set if this call has not succeeded but may have
   * taken effect. Also set, with `settled`, if this call has succeeded with a reused key.
   */
  callKey?: CallKey
}

/** One model request of a run. */
export interface RunStep {
  iteration: number
  provider: string
  model: string
  /** The API of the request: `'chat-completions'`, `'responses'`, `'messages'` or `'generate-content'`. Absent for your own models. */
  api?: string
  usage?: Usage
  finishReason: FinishReason
  durationMs: number
  /** How long the request waited for `rateLimits` and a `Budget` before it was sent, in milliseconds. Absent if it did not wait. */
  waitedMs?: number
  /** The time from the request to the first piece of the response, in milliseconds. Undefined for a response that was not streamed. */
  timeToFirstTokenMs?: number
  /** The number of failed requests before the one that succeeded. */
  retries: number
  /** Settings that were left out, replaced parts of messages, and corrected irregularities of the response. */
  warnings: string[]
  /** The calls of the response, with their tools. The details of each call are in `toolCalls` of the result. */
  toolCalls: { id: string; tool: string }[]
}

/** A call that waits for your application before the run can continue. */
export interface PendingItem {
  /** `budget`: a model request, not a call, that the run's `budget` does not allow. Raise the budget, then approve the item. */
  kind: 'approval' | 'client_tool' | 'question' | 'budget'
  toolCallId: string
  tool: string
  args: JsonObject
  /** The tool's side effects. Absent for a `budget`. */
  effect?: ToolEffect
  /** The model's text before the call: at most the last 300 characters. Absent if the model wrote no text. */
  said?: string
  /** What to show to the person who decides: the tool's question, or `about` of its approval. */
  about?: Json
  /** The JSON Schema of the answer to a question. */
  schema?: JsonSchema
  /** The fingerprint of run, call and arguments. A decision must contain it. */
  fingerprint: string
  /** The place in the run that waits for the decision. */
  place: string
  /** Names of arguments that only the approver may see. Pages and events don't show them. */
  secrets?: string[]
  /**
   * The nested agents that lead to the item, outermost first. Each step names the call that runs the agent. Absent if the item belongs to
   * the run itself.
   */
  path?: PathStep[]
  /** The line of the script that makes the call. Absent if no script makes the call. */
  script?: ScriptLine
  /**
   * The position of the call in the plan of a preview, starting at 1, and the number of calls in the plan. Absent if the run is not a
   * preview.
   */
  plan?: PlanPlace
}

/** A paused run as plain JSON. Store it, and pass it to `resume` in any process. Keep it private: only your program may see it. */
export interface RunState {
  version: 1
  runId: string
  /** The input of the run. */
  input: Json
  /** The results of the run's steps, by key. */
  steps: { [key: string]: Json }
  /** The decisions so far, by the place that waited for them. */
  decisions: { [place: string]: Json }
  /** When the run started to wait at each place, in milliseconds since 1970. */
  waitingSince: { [place: string]: number }
  pending: PendingItem[]
  /** Large results that the run keeps, by id. */
  kept?: { [id: string]: string }
  /** Records that belong to unfinished calls, such as those of nested runs. */
  records?: { [record: string]: { position: number; fingerprint: string; value: Json }[] }
}

/** The fields of every result, however the run ended. */
interface RunOutcome<Call> {
  runId: string
  /** The answer as text. An answer with a schema is written as JSON. */
  text: string
  /** The whole conversation without the instructions. Pass it back as `messages`. */
  messages: ChatMessage[]
  /** The messages this run added, including its input. */
  newMessages: ChatMessage[]
  /** The usage of all model requests of the run and its nested runs. */
  usage: Usage
  /** The number of model requests, each with its retries. */
  iterations: number
  /** The model requests of the run, in order. */
  steps: RunStep[]
  /**
   * The calls of the run. If the types of the agent's tools are known, checking `tool` and `outcome` narrows the types of the arguments and
   * the value.
   */
  toolCalls: Call[]
  /** Calls that wait for the caller. Empty unless the run has `paused`. */
  pending: PendingItem[]
  /**
   * The state of a `paused` run, as plain JSON. Pass it to `resume`. Absent if the run is recorded in a journal, or if it is a nested run
   * that is recorded with the call that started it.
   */
  state?: RunState
  /** The remembered approvals. Pass them as `remembered` to other runs. */
  remembered?: string[]
  /** Messages sent with `control.send` that the run did not read before it ended. They are not part of the conversation. */
  unread?: ChatMessage[]
  /** The agent that has the conversation at the end, if it was handed off. */
  agent?: string
}

interface AnsweredRun<Output, Call> extends RunOutcome<Call> {
  stopReason: 'answered'
  /** The final answer. With `output: schema`, the value that the schema returns for it. */
  output: Exclude<Output, undefined>
  error?: undefined
}

interface FailedRun<Output, Call> extends RunOutcome<Call> {
  stopReason: 'model_error' | 'refused' | 'aborted'
  /** Partial text, `''` if there was none. With `output: schema`, undefined. */
  output: Output
  /** The error of the run. If the run was aborted, the caller's reason is the `cause`. */
  error: ToolloopError
}

interface UnansweredRun<Output, Call> extends RunOutcome<Call> {
  stopReason: Exclude<StopReason, (AnsweredRun<Output, Call> | FailedRun<Output, Call>)['stopReason']>
  /**
   * Partial text, `''` if there was none. With `output: schema`, the value of an answer that `onLimit: 'answer'` requested, otherwise
   * undefined.
   */
  output: Output
  /** Set if the last request of `onLimit: 'answer'` failed. */
  error?: ToolloopError
}

/**
 * The result of a run, however it ended. `stopReason` narrows `output` and `error`. `Call` is the type of `toolCalls`.
 *
 * ```ts
 * const result = await runner.run('…', { output: schema })
 * if (result.stopReason === 'answered') save(result.output)
 * else if (result.error) report(result.error)
 * ```
 */
export type RunResult<Output = string, Call = ToolCallRecord> =
  | AnsweredRun<Output, Call>
  | FailedRun<Output, Call>
  | UnansweredRun<Output, Call>
