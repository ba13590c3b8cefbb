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

/** What to do with one call. Recorded with the model's reply, so a resumed run does the same without looking anything up. */
export interface PlannedCall {
  id: string
  /** The tool's registered name, or the name the model wrote if there is no such tool. */
  name: string
  rawArguments: string
  args?: JsonObject
  /** `client`: the tool has no `execute`, so the caller runs it. */
  action: 'run' | 'client' | 'reject'
  /** It needs an approval first. `about`: what its tool shows whoever decides. */
  approval?: true | { about: Json }
  decision?: MadeDecision
  /** How often an approval has changed its arguments. */
  edits?: number
  /** Why it does not run, in words for the model. Only with `reject`. */
  refusal?: Refusal
  effect: ToolEffect
  repairs?: string[]
  /** It was written as text: the tool's schema decides how its arguments are read. */
  asText?: true
  /** The text after the call, shown when the call has ended. */
  textAfter?: string
  /** Tells the model something in addition to the result. */
  note?: string
  /** What the plan decided before it ran. */
  plan?: CallChange
  /**
   * The run is a preview: the call is noted, and carried out only if that is approved. `about`: what its tool shows whoever decides.
   */
  intent?: true | { about: Json }
  script?: ScriptLine
}

/** What the entries of the plan changed, and what they used (`nested`). Recorded as a step before the call runs. */
export interface CallChange {
  /** The arguments it runs with, which replace the model's. */
  args?: JsonObject
  repairs?: string[]
  /** Why it does not run, in words for the model. */
  refusal?: Refusal
  /** Why the run ends. */
  stop?: string
  /** The result that replaces running it. */
  result?: { value: Json }
  /** It waits for an approval: what the person who decides is shown, and how many entries were asked. */
  ask?: { about: Json; asked: number }
  nested?: Spent
}

/** What to do with the calls of a response. */
export interface Plan {
  /** The calls as they are added to the history: wrappers opened, ids unique, names legal. */
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

/** One model turn: what the model said and what to do about it. */
export type Turn = TurnEnd & Beside
type TurnEnd =
  | Reply
  /** Without `step`, a hook failed: before the model was asked, unless there is a `usage`. */
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
  /** Part of the response was shown: `revocably` if every watcher can take it back. */
  shown?: 'for good' | 'revocably'
}

/** A turn whose request was not sent, because a budget does not allow it. */
export interface Unpaid {
  kind: 'unpaid'
  text: ''
  /** The usage of its earlier requests, if there were any. */
  usage?: Usage
  /** What is left in the budget, and what was needed. */
  about: JsonObject
  /** The `limits` of a run don't allow it; nobody can raise those. */
  isLimit?: true
  /** The run waits until the budget is raised. */
  pending?: PendingItem[]
}

/** A turn that the run continues with. */
export interface Reply {
  kind: 'reply'
  /** For a turn that continues a text, only the new part. */
  message: AssistantMessage
  /** The answer, if it differs from the message's text: JSON if it has a schema, or the text without the model's commentary. */
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

/** The agent that a call hands the conversation to. */
export interface Handoff {
  tool: string
  agent: string
  instructions?: string
}

/** The result of carrying out a call: it has ended, asks a question, or was only noted. */
export interface FinishedCall {
  record: ToolCallRecord
  /** A guardrail ends the run: its name and why. */
  stop?: string
  /** Its tool hands the conversation to another agent. */
  handoff?: Handoff
  /** Its tool's result is the run's output. */
  final?: boolean
  /** Its tool asks a question, and is called again with the answer. */
  question?: Pick<PendingItem, 'about' | 'schema'>
  interrupted?: 'aborted' | 'deadline'
  /** It was noted and not carried out, or the agent inside it has noted calls. Its record has what the model is told until then. */
  noted?: true
  /** If it was noted after a decision: the call as it was decided, and how often it has waited. */
  after?: Pick<Intent, 'call' | 'waited'>
}

/** A call that was noted in a preview. */
export interface Intent extends Pick<FinishedCall, 'question'> {
  call: PlannedCall
  iteration: number
  /** Its position in the turn. */
  index: number
  waited: number
}

/** The results of the calls of one turn, in order. */
export interface ToolRound {
  records: ToolCallRecord[]
  pending: PendingItem[]
  /** The calls among them that were only noted. */
  intents: Intent[]
  /** The result of a tool whose result is the run's output. */
  final?: ToolCallRecord
  /** The agent that has the conversation from now on. If several calls hand over, the last counts. */
  handoff?: Handoff
  /** Why a guardrail ends the run. */
  stop?: string
  interrupted?: 'aborted' | 'deadline'
}

/** The messages sent to the run since it was last asked. */
export interface Steering extends Beside {
  messages: readonly ChatMessage[]
  stops: boolean
  /** Set if the run takes no more messages: those it has not read. */
  unread?: readonly ChatMessage[]
  /** Why a guardrail ends the run: it refused the messages. */
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
