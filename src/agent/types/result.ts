import type { ErrorCode, ToolloopError } from '../../core/errors.ts'
import type { FinishReason, MadeDecision, PathStep, PlanPlace, ScriptLine, StopReason, ToolCallOutcome } from '../../core/events.ts'
import type { CallKey, ChatMessage, Content, Json, JsonObject, Usage } from '../../core/messages.ts'
import type { JsonSchema, ToolEffect } from '../../tools/tool.ts'

/** What the runs made inside a call have used. */
export interface Spent {
  usage: Usage
  toolCalls: number
}

export type { ToolCallOutcome }

/** One call of a run: what the model asked for, how it ended, and what the model was told. */
export interface ToolCallRecord {
  id: string
  tool: string
  /** Parsed arguments; undefined when they could not be parsed. */
  args?: JsonObject
  /** The model's own text of the arguments. */
  rawArguments: string
  iteration: number
  outcome: ToolCallOutcome
  /** The content that the model was given. */
  content: Content
  /** The return value of `execute`. Kept in memory only, and only if the model was given all of it. */
  value?: unknown
  errorCode?: ErrorCode
  durationMs: number
  attempts: number
  /** What was repaired so that the call could be understood, such as values that don't have their schema's type. */
  repairs?: string[]
  /** The decision on it. The last of several, with the others as `earlier`. */
  decision?: MadeDecision
  /** What the runs made inside the call have used. */
  nested?: Spent
  /**
   * Set if the call may have taken effect: the key of the same call from now on. Also set if the call carried such a key and has succeeded.
   */
  callKey?: CallKey
}

/** One model request of a run. */
export interface RunStep {
  iteration: number
  provider: string
  model: string
  /** The API that was asked: `'chat-completions'`, `'responses'`, `'messages'` or `'generate-content'`. Absent for your own models. */
  api?: string
  usage?: Usage
  finishReason: FinishReason
  durationMs: number
  /** How long the request waited for `rateLimits` and a `Budget` before it was sent. Absent if it did not wait. */
  waitedMs?: number
  /** From the request to the first piece of the response. Undefined for a response that arrived whole. */
  timeToFirstTokenMs?: number
  retries: number
  warnings: string[]
  /** Its calls by tool name. See `toolCalls` of the result for the rest. */
  toolCalls: { id: string; tool: string }[]
}

/** A call that waits for your application before the run can continue. */
export interface PendingItem {
  /** `budget` is a request that the run's `budget` does not allow, not a call. Raise the budget, then approve it. */
  kind: 'approval' | 'client_tool' | 'question' | 'budget'
  toolCallId: string
  tool: string
  args: JsonObject
  /** The tool's side effects. Absent for a `budget`. */
  effect?: ToolEffect
  /** What the model said before the call: at most the last 300 characters. Absent if it said nothing. */
  said?: string
  about?: Json
  schema?: JsonSchema
  /** The fingerprint of run, call and arguments. A decision must have it. */
  fingerprint: string
  /** The place in the run that waits for the decision. */
  place: string
  /** Names of arguments for the decider alone: pages and events don't show them. */
  secrets?: string[]
  /** For an item of an agent inside a call: the agents on the way to it, outermost first, each with the call that it runs in. */
  path?: PathStep[]
  /** For a call that a script makes: the line that makes it. */
  script?: ScriptLine
  /** For a call that was noted in a preview: its number in the plan, from 1, and the number of calls in it. */
  plan?: PlanPlace
}

/** A paused run as plain JSON. Store it, and pass it to `resume` in any process. Don't show it to anyone: it is for your program alone. */
export interface RunState {
  version: 1
  runId: string
  /** The input it was started with. */
  input: Json
  /** The results of its steps, by key. */
  steps: { [key: string]: Json }
  /** The decisions so far, by the place in the run that waits for them. */
  decisions: { [place: string]: Json }
  /** When the run began to wait at each place, in milliseconds since 1970. */
  waitingSince: { [place: string]: number }
  pending: PendingItem[]
  /** Large results that the run keeps, by id. */
  kept?: { [id: string]: string }
  /** What calls that have not ended have recorded, such as the runs inside them. */
  records?: { [record: string]: { position: number; fingerprint: string; value: Json }[] }
}

/** The fields of every result, however the run ended. */
interface RunOutcome<Call> {
  runId: string
  /** The answer as text: its JSON if it has a schema. */
  text: string
  /** The whole conversation without the instructions. Pass it back as `messages`. */
  messages: ChatMessage[]
  /** The messages this run added, including its input. */
  newMessages: ChatMessage[]
  usage: Usage
  iterations: number
  steps: RunStep[]
  /** If the agent's tools are known to the compiler, `tool` and `outcome` narrow the arguments and the value. */
  toolCalls: Call[]
  /** Calls that wait for the caller; only with `paused`. */
  pending: PendingItem[]
  /**
   * What `resume` needs to continue a `paused` run, as plain JSON. Absent if the run is kept in a journal, or in the outer run whose call
   * it was made in.
   */
  state?: RunState
  /** Approvals to remember. Pass them as `remembered` to other runs. */
  remembered?: string[]
  /** Messages sent to the run (`control.send`) that arrived too late. They are not part of the conversation. */
  unread?: ChatMessage[]
  /** The agent that has the conversation now, if it was handed off. */
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
  /** Why the run failed. If it was aborted, the caller's reason is the `cause`. */
  error: ToolloopError
}

interface UnansweredRun<Output, Call> extends RunOutcome<Call> {
  stopReason: Exclude<StopReason, (AnsweredRun<Output, Call> | FailedRun<Output, Call>)['stopReason']>
  /**
   * Partial text, `''` if there was none. With `output: schema`, the schema's value for an answer at a limit (`onLimit`), else undefined.
   */
  output: Output
  /** Why the last answer at a limit failed. */
  error?: ToolloopError
}

/**
 * The result of a run, however it ended. `stopReason` narrows `output` and `error`. `Call` is the type of its calls, if the compiler knows
 * its tools.
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
