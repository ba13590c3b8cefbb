import type { ErrorCode, ToolloopError } from '../../core/errors.ts'
import type { MadeDecision, ScriptLine, StopReason } from '../../core/events.ts'
import type { AssistantMessage, ChatMessage, Content, Json, JsonObject, ToolCall, Usage } from '../../core/messages.ts'
import type { ToolEffect } from '../../tools/tool.ts'
import type { PendingItem, RunStep, Spent, ToolCallRecord } from './result.ts'

/** An error as it is recorded. Its stack and cause stay in the process that threw it. */
export interface PlainError {
  code: ToolloopError['code']
  message: string
}

/** The plan for one call. It is recorded with the model's reply, and a resumed run follows it unchanged. */
export interface PlannedCall {
  id: string
  /** The tool's registered name, or the name that the model wrote if there is no such tool. */
  name: string
  rawArguments: string
  args?: JsonObject
  /** `client`: the tool has no `execute`, so the caller runs it. */
  action: 'run' | 'client' | 'reject'
  /** Set if the call needs an approval first. `about`: the information that the tool shows the approver. */
  approval?: true | { about: Json }
  decision?: MadeDecision
  /** How often an approver has changed the call's arguments. */
  edits?: number
  /** The reason why the call does not run, in words for the model. Set only if `action` is `reject`. */
  refusal?: Refusal
  effect: ToolEffect
  repairs?: string[]
  /** Set if the call was written as text. The tool's schema then decides how its arguments are parsed. */
  asText?: true
  /** The text after the call, shown when the call has ended. */
  textAfter?: string
  /** A note that the model gets in addition to the result. */
  note?: string
  /** The plan's decision on the call. */
  plan?: CallChange
  /** Set if the call is part of a preview's plan. `about`: the information that the tool shows the approver. */
  intent?: true | { about: Json }
  script?: ScriptLine
}

/** The decision of the plan on a call. It is recorded as a step before the call runs. `nested`: the usage of the plan's entries. */
export interface CallChange {
  /** The arguments to run the call with. They replace the arguments that the model wrote. */
  args?: JsonObject
  repairs?: string[]
  /** The reason why the call does not run, in words for the model. */
  refusal?: Refusal
  /** The reason to end the run. */
  stop?: string
  /** The result of the call. If set, the call does not run. */
  result?: { value: Json }
  /** Set if the call waits for an approval. `about`: what to show the approver. `asked`: the number of entries asked so far. */
  ask?: { about: Json; asked: number }
  nested?: Spent
}

/** What the run does with the calls of a response. */
export interface Plan {
  /** The calls to add to the history. Wrapped calls are unwrapped, ids are unique, and names are valid. */
  calls: ToolCall[]
  planned: PlannedCall[]
}

export interface Refusal {
  code: ErrorCode
  text: string
}

/** The usage of guardrails, hooks and summaries, recorded with the step that ran them. */
export interface Beside {
  beside?: Spent
}

/** One model turn: the model's message and the plan for its calls, or the reason why there is no message. */
export type Turn = TurnEnd & Beside
type TurnEnd =
  | Reply
  /** If neither `step` nor `usage` is set, a hook failed before the request was sent. */
  | { kind: 'refused'; text: string; step?: RunStep; usage?: Usage; error: PlainError }
  | Failed
  /** `unasked`: the run was interrupted before the request was sent. */
  | { kind: 'interrupted'; why: 'aborted' | 'deadline'; text: string; usage?: Usage; unasked?: true }
  | Unpaid

/** A turn whose request failed. */
export interface Failed {
  kind: 'failed'
  text: string
  usage?: Usage
  error: PlainError
  /** Set if part of the response was shown. `revocably`: all recipients can discard that part. */
  shown?: 'for good' | 'revocably'
}

/** A turn whose request was not sent, because a budget does not allow it. */
export interface Unpaid {
  kind: 'unpaid'
  text: ''
  /** The usage of the turn's earlier requests, if there were any. */
  usage?: Usage
  /** The amounts that remain in the budget, and the amounts that the request needs. */
  about: JsonObject
  /** Set if the run's own `limits` don't allow the request. Nobody can raise these limits, so the run ends. */
  isLimit?: true
  /** The item to approve after raising the budget. Set if the run pauses. */
  pending?: PendingItem[]
}

/** A turn in which the model replied with a message. */
export interface Reply {
  kind: 'reply'
  /** The model's message. If the turn continues a text that was cut off, the message has only the new part. */
  message: AssistantMessage
  /**
   * The answer, if it differs from the text of the message. An answer with a schema is JSON. Any other answer is the text without the
   * model's commentary.
   */
  answer?: string
  planned: PlannedCall[]
  step: RunStep
  objection?: Objection
  /** Set if the text is only part of an answer, because the response reached a token limit. */
  isCut?: true
}

/** The reason why an answer is not accepted, in words for the model. */
export interface Objection {
  code: 'invalid_output' | 'guardrail'
  text: string
}

/** The agent to which a call hands the conversation. */
export interface Handoff {
  tool: string
  agent: string
  instructions?: string
}

/** The result of carrying out a call. The call has ended, asks a question, or became part of a preview's plan. */
export interface FinishedCall {
  record: ToolCallRecord
  /** The name of the guardrail that ends the run, and its reason. */
  stop?: string
  /** The agent to which the tool hands the conversation. */
  handoff?: Handoff
  /** Whether the tool's result is the output of the run. */
  final?: boolean
  /** The question that the tool asks. The tool is called again with the answer. */
  question?: Pick<PendingItem, 'about' | 'schema'>
  interrupted?: 'aborted' | 'deadline'
  /** Set if the call, or a call of its nested run, became part of a preview's plan. `record` then has a substitute result. */
  noted?: true
  /** Set if the call became part of the plan after a decision: the call as it was decided, and how often it has waited. */
  after?: Pick<Intent, 'call' | 'waited'>
}

/** A call in the plan of a preview. */
export interface Intent extends Pick<FinishedCall, 'question'> {
  call: PlannedCall
  iteration: number
  /** The call's position in the turn. */
  index: number
  waited: number
}

/** The results of the calls of one turn, in order. */
export interface ToolRound {
  records: ToolCallRecord[]
  pending: PendingItem[]
  /** The calls that became part of a preview's plan. */
  intents: Intent[]
  /** The record of the call whose result is the output of the run. */
  final?: ToolCallRecord
  /** The agent that takes over the conversation. If several calls hand the conversation over, the last call counts. */
  handoff?: Handoff
  /** The reason of the guardrail that ends the run. */
  stop?: string
  interrupted?: 'aborted' | 'deadline'
}

/** What a `RunControl` has sent to the run since the run last read it. */
export interface Steering extends Beside {
  messages: readonly ChatMessage[]
  stops: boolean
  /** The messages that the run will not read. Set once the run reads no more messages. */
  unread?: readonly ChatMessage[]
  /** The reason of the guardrail that refused the messages and ends the run. */
  refused?: string
}

/** How the run ended. */
export interface Ending {
  stopReason: StopReason
  error?: PlainError
  pending?: PendingItem[]
  /** The output of the run. Absent if the output is the model's last text. */
  output?: Content
}
