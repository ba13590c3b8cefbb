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

/** The plan for one call. It is recorded with the model's reply, so that a resumed run follows it without looking anything up again. */
export interface PlannedCall {
  id: string
  /** The tool's registered name, or the name that the model wrote if there is no such tool. */
  name: string
  rawArguments: string
  args?: JsonObject
  /** `client`: the tool has no `execute`, so the caller runs it. */
  action: 'run' | 'client' | 'reject'
  /** Set if the call needs an approval first. `about`: what the tool shows the approver. */
  approval?: true | { about: Json }
  decision?: MadeDecision
  /** How often an approval has changed its arguments. */
  edits?: number
  /** Why the call does not run, in words for the model. Only with `reject`. */
  refusal?: Refusal
  effect: ToolEffect
  repairs?: string[]
  /** Set if the call was written as text, so that the tool's schema determines how its arguments are read. */
  asText?: true
  /** The text after the call, shown when the call has ended. */
  textAfter?: string
  /** A note that the model gets in addition to the result. */
  note?: string
  /** The plan's decision before the call ran. */
  plan?: CallChange
  /** Set in a preview: the call is noted, and carried out only if it is approved. `about`: what the tool shows the approver. */
  intent?: true | { about: Json }
  script?: ScriptLine
}

/** The changes by the entries of the plan, and what the entries used (`nested`). Recorded as a step before the call runs. */
export interface CallChange {
  /** The arguments to run with, which replace the model's. */
  args?: JsonObject
  repairs?: string[]
  /** Why the call does not run, in words for the model. */
  refusal?: Refusal
  /** Why the run ends. */
  stop?: string
  /** The result that replaces running the call. */
  result?: { value: Json }
  /** Set if the call waits for an approval: what to show the approver, and how many entries were asked. */
  ask?: { about: Json; asked: number }
  nested?: Spent
}

/** What to do with the calls of a response. */
export interface Plan {
  /** The calls as they are added to the history: wrappers opened, ids unique, names valid. */
  calls: ToolCall[]
  planned: PlannedCall[]
}

export interface Refusal {
  code: ErrorCode
  text: string
}

/** The usage of guardrails, hooks and summaries, by the step that ran them. */
export interface Beside {
  beside?: Spent
}

/** One model turn: what the model said, and what to do about it. */
export type Turn = TurnEnd & Beside
type TurnEnd =
  | Reply
  /** Without `step`, a hook failed before the model was asked, unless there is a `usage`. */
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
  /** Set if part of the response was shown: `revocably` if every watcher can take it back. */
  shown?: 'for good' | 'revocably'
}

/** A turn whose request was not sent, because a budget does not allow it. */
export interface Unpaid {
  kind: 'unpaid'
  text: ''
  /** The usage of the turn's earlier requests, if there were any. */
  usage?: Usage
  /** What remains in the budget, and what was needed. */
  about: JsonObject
  /** Set if the run's own `limits` don't allow the request, because nobody can raise them. */
  isLimit?: true
  /** Set if the run waits until the budget is raised. */
  pending?: PendingItem[]
}

/** A turn after which the run continues. */
export interface Reply {
  kind: 'reply'
  /** If the turn continues a text, this is only the new part. */
  message: AssistantMessage
  /** The answer, if it differs from the message's text: its JSON if it has a schema, or the text without the model's commentary. */
  answer?: string
  planned: PlannedCall[]
  step: RunStep
  objection?: Objection
  /** Set if the text is only part of an answer, because the response reached a token limit. */
  isCut?: true
}

/** Why an answer is not accepted, in words for the model. */
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

/** The result of carrying out a call: it has ended, asks a question, or was only noted. */
export interface FinishedCall {
  record: ToolCallRecord
  /** Set if a guardrail ends the run: its name and the reason. */
  stop?: string
  /** Set if the tool hands the conversation to another agent. */
  handoff?: Handoff
  /** Set if the tool's result is the output of the run. */
  final?: boolean
  /** Set if the tool asks a question. It is called again with the answer. */
  question?: Pick<PendingItem, 'about' | 'schema'>
  interrupted?: 'aborted' | 'deadline'
  /**
   * Set if the call was noted and not carried out, or if the agent inside it has noted calls. Its record has the text for the model until
   * then.
   */
  noted?: true
  /** Set if the call was noted after a decision: the call as it was decided, and how often it has waited. */
  after?: Pick<Intent, 'call' | 'waited'>
}

/** A call that was noted in a preview. */
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
  /** The calls that were only noted. */
  intents: Intent[]
  /** Set if a tool's result is the output of the run: the record of its call. */
  final?: ToolCallRecord
  /** The agent that has the conversation from now on. If several calls hand it over, the last one counts. */
  handoff?: Handoff
  /** Set if a guardrail ends the run: the reason. */
  stop?: string
  interrupted?: 'aborted' | 'deadline'
}

/** The messages sent to the run since it last looked. */
export interface Steering extends Beside {
  messages: readonly ChatMessage[]
  stops: boolean
  /** Set if the run reads no more messages: those that it has not read. */
  unread?: readonly ChatMessage[]
  /** Set if a guardrail refused the messages and ends the run: the reason. */
  refused?: string
}

/** How the run ended. */
export interface Ending {
  stopReason: StopReason
  error?: PlainError
  pending?: PendingItem[]
  /** Replaces the model's last text. */
  output?: Content
}
