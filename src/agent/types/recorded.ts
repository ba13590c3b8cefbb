import type { ErrorCode, ToolloopError } from '../../core/errors.ts'
import type { MadeDecision, ScriptLine, StopReason } from '../../core/events.ts'
import type { AssistantMessage, ChatMessage, Content, Json, JsonObject, ToolCall, Usage } from '../../core/messages.ts'
import type { ToolEffect } from '../../tools/tool.ts'
import type { PendingItem, RunStep, Spent, ToolCallRecord } from './result.ts'

/** An error as it is recorded: the error itself, with its stack and cause, stays in the process that threw it. */
export interface PlainError {
  code: ToolloopError['code']
  message: string
}

/** What is to be done with one call. Recorded with the model's reply, so that a resumed run does the same without looking anything up. */
export interface PlannedCall {
  id: string
  /** The tool's name as it is registered, or what the model wrote when there is none. */
  name: string
  rawArguments: string
  args?: JsonObject
  /** `client`: the tool has no `execute`, the caller runs it. */
  action: 'run' | 'client' | 'reject'
  /** It needs an approval first. */
  approval?: true
  decision?: MadeDecision
  /** How often an approval has changed its arguments. */
  edits?: number
  /** Why it is not run, in words for the model. Only with `reject`. */
  refusal?: Refusal
  effect: ToolEffect
  repairs?: string[]
  /** It was written as text: values of its arguments are read by the tool's schema. */
  asText?: true
  /** Text that stood behind it, shown when it has ended. */
  textAfter?: string
  /** What the model is told beside the result. */
  note?: string
  /** What the plan made of it before it ran. */
  plan?: CallChange
  script?: ScriptLine
}

/** What the entries of the plan made of a call, and used (`nested`). Recorded as a step before the call runs. */
export interface CallChange {
  /** It is run with these arguments, which replace the model's. */
  args?: JsonObject
  repairs?: string[]
  /** It is not run: why, in words for the model. */
  refusal?: Refusal
  /** Why the run ends. */
  stop?: string
  /** It is not run: this counts as what its tool returned. */
  result?: { value: Json }
  /** It waits for an approval: what whoever decides is shown, and how many entries were asked. */
  ask?: { about: Json; asked: number }
  nested?: Spent
}

/** What is to be done with the calls of a response. */
export interface Plan {
  /** The calls as they go into the history: wrappers opened, ids unique, names legal. */
  calls: ToolCall[]
  planned: PlannedCall[]
}

export interface Refusal {
  code: ErrorCode
  text: string
}

/** What runs of guardrails, hooks and summaries have used, by the step in which they were made. */
export interface Beside {
  beside?: Spent
}

/** One model turn: what was said and what is to be done about it. */
export type Turn = TurnEnd & Beside
type TurnEnd =
  | Reply
  /** Without `step` a hook has failed: before the model was asked, unless there is a `usage`. */
  | { kind: 'refused'; text: string; step?: RunStep; usage?: Usage; error: PlainError }
  | Failed
  /** `unasked`: the run was over before the model was asked. */
  | { kind: 'interrupted'; why: 'aborted' | 'deadline'; text: string; usage?: Usage; unasked?: true }
  | Unpaid

/** A turn whose request failed. */
export interface Failed {
  kind: 'failed'
  text: string
  usage?: Usage
  error: PlainError
  /** A part of the response was shown: to somebody who can't take it back, or to those alone who can. */
  shown?: 'for good' | 'revocably'
}

/** A turn whose request was not sent, because a budget does not allow it. */
export interface Unpaid {
  kind: 'unpaid'
  text: ''
  /** What its earlier requests have used, where there were any. */
  usage?: Usage
  /** What is left, and what was needed. */
  about: JsonObject
  /** It is the `limits` of a run that do not allow it: nobody can raise those. */
  isLimit?: true
  /** The run waits until the budget is raised. */
  pending?: PendingItem[]
}

/** A turn to go on with. */
export interface Reply {
  kind: 'reply'
  /** Of a turn that continues a text, the part that was said now. */
  message: AssistantMessage
  /** The answer, if it is not the message's text: its JSON if it has a schema, or the text without the model's commentary. */
  answer?: string
  planned: PlannedCall[]
  step: RunStep
  objection?: Objection
  /** The text is only a part of an answer: the response reached a token limit. */
  isCut?: true
}

/** Why an answer is not accepted, in words for the model. */
export interface Objection {
  code: 'invalid_output' | 'guardrail'
  text: string
}

/** To whom a call has handed the conversation. */
export interface Handoff {
  tool: string
  agent: string
  instructions?: string
}

/** A call that is over. */
export interface FinishedCall {
  record: ToolCallRecord
  /** A guardrail ends the run: its name and why. */
  stop?: string
  /** Its tool hands the conversation to another agent. */
  handoff?: Handoff
  /** Its tool's result is the run's output. */
  final?: boolean
  /** Its tool asks something, and is called again with the answer. */
  question?: Pick<PendingItem, 'about' | 'schema'>
  interrupted?: 'aborted' | 'deadline'
}

/** What the calls of one turn came to, in their order. */
export interface ToolRound {
  records: ToolCallRecord[]
  pending: PendingItem[]
  /** The result of a tool whose result is the run's output. */
  final?: ToolCallRecord
  /** The conversation is another agent's from now on; of several, the last counts. */
  handoff?: Handoff
  /** Why a guardrail ends the run. */
  stop?: string
  interrupted?: 'aborted' | 'deadline'
}

/** What was said to the run from outside since it was asked last. */
export interface Steering extends Beside {
  messages: readonly ChatMessage[]
  stops: boolean
  /** That was the last look: what it left. */
  unread?: readonly ChatMessage[]
  /** Why a guardrail ends the run: its messages were not to be sent. */
  refused?: string
}

/** How the run ended. */
export interface Ending {
  stopReason: StopReason
  error?: PlainError
  pending?: PendingItem[]
  /** In place of the model's last text. */
  output?: Content
}
