import type { ErrorCode, ToolloopError } from '../../core/errors.ts'
import type { FinishReason, MadeDecision, PathStep, ScriptLine, StopReason, ToolCallOutcome } from '../../core/events.ts'
import type { CallKey, ChatMessage, Content, Json, JsonObject, Usage } from '../../core/messages.ts'
import type { JsonSchema } from '../../tools/tool.ts'

/** What runs made inside a call have used up. */
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
  /** What the model was given. */
  content: Content
  /** What `execute` returned; kept in memory only, and only where the model was given all of it. */
  value?: unknown
  errorCode?: ErrorCode
  durationMs: number
  attempts: number
  /** What had to be put right before the call could be understood, such as values of another type than their schema's. */
  repairs?: string[]
  /** What somebody decided on it; of several decisions, the last, with the others as `earlier`. */
  decision?: MadeDecision
  /** What runs made inside the call have used up. */
  nested?: Spent
  /** The call may have taken effect: the key that the same call carries from now on. Also if it carried such a key, and has succeeded. */
  callKey?: CallKey
}

/** One model request of a run. */
export interface RunStep {
  iteration: number
  provider: string
  model: string
  /** The API that was asked: `'chat-completions'`, `'responses'`, `'messages'` or `'generate-content'`. Absent for models of one's own. */
  api?: string
  usage?: Usage
  finishReason: FinishReason
  durationMs: number
  /** How long the request waited for `rateLimits` and a `Budget` before it was sent; absent where it did not. */
  waitedMs?: number
  /** From the request to the first piece of the response. Undefined for a response that came whole. */
  timeToFirstTokenMs?: number
  retries: number
  warnings: string[]
  /** The calls it made, by the names of their tools; `toolCalls` of the result has the rest. */
  toolCalls: { id: string; tool: string }[]
}

/** A call that waits for your application before the run can continue. */
export interface PendingItem {
  /** `budget`: no call, but a request that the run's `budget` does not allow; to be approved when that has been raised. */
  kind: 'approval' | 'client_tool' | 'question' | 'budget'
  toolCallId: string
  tool: string
  args: JsonObject
  about?: Json
  schema?: JsonSchema
  /** Of run, call and arguments; a decision has to bear it. */
  fingerprint: string
  /** Where in the run it is waited for. */
  place: string
  /** Names of arguments that are for whoever decides alone: pages and events don't show them. */
  secrets?: string[]
  /** For an item of an agent inside a call: the agents on the way to it, outermost first, each with the call that it runs in. */
  path?: PathStep[]
  /** For a call that a script makes: the line that makes it. */
  script?: ScriptLine
}

/** A paused run as plain JSON: store it, and pass it to `resume` in any process. What it holds is for no one's eyes but the program's. */
export interface RunState {
  version: 1
  runId: string
  /** What it was started with. */
  input: Json
  /** What its steps have come to, by key. */
  steps: { [key: string]: Json }
  /** What was decided so far, by the place in the run that waits for it. */
  decisions: { [place: string]: Json }
  /** Since when the run waits at a place, in milliseconds since 1970. */
  waitingSince: { [place: string]: number }
  pending: PendingItem[]
  /** Long results that are kept aside, by their ids. */
  kept?: { [id: string]: string }
  /** What calls that have not ended have recorded, such as the runs inside them. */
  records?: { [record: string]: { position: number; fingerprint: string; value: Json }[] }
}

/** The fields of every result, however the run ended. */
interface RunOutcome<Call> {
  runId: string
  /** The answer as text: of an answer with a schema, its JSON. */
  text: string
  /** The whole conversation, without the instructions, ready to be passed back as `messages`. */
  messages: ChatMessage[]
  /** What this run added, its input included. */
  newMessages: ChatMessage[]
  usage: Usage
  iterations: number
  steps: RunStep[]
  /** Where the agent's tools are known to the compiler, narrowed by `tool` and `outcome` to arguments and value. */
  toolCalls: Call[]
  /** Calls that wait for the caller; only with `paused`. */
  pending: PendingItem[]
  /** What `resume` needs to go on with a run that is `paused`; plain JSON. Absent if a journal keeps the run, or another run in whose call it was made. */
  state?: RunState
  /** Approvals that were to be remembered: for `remembered` of other runs. */
  remembered?: string[]
  /** What was sent to the run (`control.send`) and came too late for it: no part of the conversation. */
  unread?: ChatMessage[]
  /** The agent that has the conversation now, where it was handed off. */
  agent?: string
}

interface AnsweredRun<Output, Call> extends RunOutcome<Call> {
  stopReason: 'answered'
  /** The final answer. With `output: schema`, what the schema makes of it. */
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
  /** Partial text, `''` if there was none. With `output: schema`, what the schema makes of an answer at a limit (`onLimit`), else undefined. */
  output: Output
  /** Why the last answer at a limit failed. */
  error?: ToolloopError
}

/**
 * The result of a run, however it ended. `stopReason` narrows `output` and `error`. `Call`: its calls, where the compiler knows its tools.
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
