import type { ErrorCode } from './errors.ts'
import type { FinishReason, Json, JsonObject, Usage } from './messages.ts'

export type { FinishReason }

/** Names of all events. The values are the names, so `'TOOL_CALL_START'` works as well. */
export const Event = {
  RUN_START: 'RUN_START',
  RUN_END: 'RUN_END',
  MODEL_START: 'MODEL_START',
  MODEL_QUEUED: 'MODEL_QUEUED',
  MODEL_RETRY: 'MODEL_RETRY',
  MODEL_END: 'MODEL_END',
  TEXT_DELTA: 'TEXT_DELTA',
  REASONING_DELTA: 'REASONING_DELTA',
  TOOL_INPUT_START: 'TOOL_INPUT_START',
  TOOL_INPUT_DELTA: 'TOOL_INPUT_DELTA',
  TOOL_CALL_START: 'TOOL_CALL_START',
  TOOL_CALL_END: 'TOOL_CALL_END',
  TOOL_CALL_REJECTED: 'TOOL_CALL_REJECTED',
  TOOL_PROGRESS: 'TOOL_PROGRESS',
  GUARDRAIL: 'GUARDRAIL',
  HANDOFF: 'HANDOFF',
  DECISION_NEEDED: 'DECISION_NEEDED',
  DECISION_MADE: 'DECISION_MADE',
  LLM_SENTENCE: 'LLM_SENTENCE',
} as const
/** The name of an event. */
export type EventName = keyof typeof Event

/** How a run ended. */
export type StopReason =
  | 'answered'
  | 'truncated'
  | 'max_iterations'
  | 'budget'
  | 'deadline'
  | 'aborted'
  | 'paused'
  | 'stopped'
  | 'repeated_calls'
  | 'refused'
  | 'model_error'

/** How one call ended. `ok` is the only one whose `value` is there. */
export type ToolCallOutcome = 'ok' | 'failed' | 'timeout' | 'rejected' | 'denied' | 'truncated' | 'cancelled' | 'uncertain'

/** An agent that runs inside a call. */
export type PathStep = {
  agent: string
  /** The call, by its id in the run outside. */
  toolCallId: string
}

/** A decision as it is kept with the run. */
export interface MadeDecision {
  kind: 'approval' | 'client_tool' | 'question' | 'budget'
  /** False: the call was refused, its question not answered, its result not given, or the time limit passed. */
  approved: boolean
  /** Why not, as the model is told. */
  reason?: string
  /** Who decided. */
  by?: Json
  /** A remark for the record. The model is not told. */
  note?: string
  /** If it is about a call of an agent inside this call: the agents on the way to it, outermost first. */
  path?: PathStep[]
  /** Earlier decisions on the same call, oldest first: of a call that was approved, and then asked a question, or of an agent with several calls. */
  earlier?: MadeDecision[]
}

/** What each event carries. */
export interface EventPayloads {
  RUN_START: { provider: string; model: string; tools: string[] }
  RUN_END: { stopReason: StopReason; usage: Usage; iterations: number; errorCode?: string }
  /** `continues`: the model is asked to continue the text that it was cut off in; what it says is more of the same text. */
  MODEL_START: { provider: string; model: string; continues?: true }
  /**
   * A request has failed and is made again, or another model is asked in its place: `provider` and `model` are those that are asked next, in
   * `delayMs` milliseconds. `errorCode` and `error` say why. With `discards`, a part of the response was shown before it broke off: its text, its
   * reasoning and the calls it was writing are void, and the response begins again. That is everything since the `MODEL_START`, or an earlier
   * `MODEL_RETRY` with `discards`, of the same run and iteration.
   */
  MODEL_RETRY: { provider: string; model: string; errorCode: ErrorCode; error: string; delayMs: number; discards?: true }
  /** The request waits for the `rateLimits` of its model; `ahead` others wait before it. */
  MODEL_QUEUED: { provider: string; model: string; ahead: number }
  /** The response is whole; or, with an `errorCode`, there is none: `finishReason` is `error` then. */
  MODEL_END: { provider: string; model: string; finishReason: FinishReason; usage?: Usage; errorCode?: ErrorCode }
  /** A piece of visible text, as it arrives. */
  TEXT_DELTA: { text: string }
  /** A piece of the model's reasoning, where the provider shows it. */
  REASONING_DELTA: { text: string }
  /** The model begins to write a call. `index` counts the calls of this response from 0. */
  TOOL_INPUT_START: { index: number; id: string; tool: string }
  /** A piece of a call's JSON arguments. `id` is that of its `TOOL_INPUT_START`. */
  TOOL_INPUT_DELTA: { index: number; id: string; json: string }
  /** Immediately before a tool's function is called. `args` is a copy: changing it changes nothing. */
  TOOL_CALL_START: { tool: string; args: JsonObject }
  /** After a tool's function returned, threw, timed out or was abandoned. */
  TOOL_CALL_END: {
    tool: string
    /** The text that the model gets. */
    result: string
    /** UTF-8 bytes of `result`. */
    bytes: number
    /** `question`: the tool asks something, and is called again with the answer. */
    outcome: Extract<ToolCallOutcome, 'ok' | 'failed' | 'timeout' | 'cancelled'> | 'question'
    errorCode?: ErrorCode
    /** Without secrets: what is under the tool's `secrets`, or looks like one. Absent where it is longer than 65,536 characters. */
    args?: JsonObject
    /** What the function returned, as JSON and without secrets; absent where it is longer, or the model did not get it whole. */
    value?: Json
  }
  /**
   * A call whose function was not run. `args` and `error` are without secrets. `args` is a text where the arguments could not be parsed, or
   * are longer than 65,536 characters.
   */
  TOOL_CALL_REJECTED: {
    tool: string
    args: JsonObject | string
    error: string
    outcome: Extract<ToolCallOutcome, 'rejected' | 'denied' | 'truncated' | 'cancelled' | 'uncertain'>
    errorCode: ErrorCode
  }
  /** What a running tool reported through `ctx.progress`. */
  TOOL_PROGRESS: { tool: string; update: Json }
  /** A guardrail has found something. `reason` is there unless the subject was only replaced. */
  GUARDRAIL: { guardrail: string; place: 'input' | 'output' | 'call' | 'result'; verdict: 'replace' | 'refuse' | 'stop'; reason?: string }
  /** The conversation is handed to another agent: the next turn is its own. */
  HANDOFF: { agent: string; provider: string; model: string }
  /** A call waits for somebody's decision; the item is what a paused result's `pending` holds. */
  DECISION_NEEDED: {
    kind: 'approval' | 'client_tool' | 'question' | 'budget'
    toolCallId: string
    tool: string
    args: JsonObject
    about?: Json
    fingerprint: string
    place: string
    path?: PathStep[]
  }
  /** Somebody has decided on a pending call, before that is carried out. */
  DECISION_MADE: MadeDecision & { toolCallId: string; tool: string; place: string }
  LLM_SENTENCE: { text: string }
}

/** Where an event comes from. */
export interface EventMeta {
  runId: string
  /** Which model request of the run this belongs to, from 1; 0 before the first. */
  iteration: number
  /** When it happened, in milliseconds since 1970. */
  time: number
  /** The run's `metadata`; of a nested run without its own, that of the run outside. Frozen. */
  metadata?: JsonObject
  toolCallId?: string
  /** Of a run made inside a tool call of another: that run, that call, and how many runs it is inside of. */
  parentRunId?: string
  parentToolCallId?: string
  depth?: number
  durationMs?: number
  /** On TOOL_CALL_END: whether the call succeeded. */
  ok?: boolean
  /** On TOOL_CALL_START and TOOL_CALL_REJECTED: what had to be put right in order to understand the call. */
  repairs?: string[]
  /** Under a journal that survives crashes: the step's key and the execution attempt that emitted this. */
  step?: string
  attempt?: string
  /** In `runs.stream` and `resumeStream`: it was recorded before the stream began. `time` is then when the run was started. */
  recorded?: true
}

/** Of an event's meta, what is not the same for all events of its run. */
export type EventPlace = Omit<EventMeta, 'runId' | 'time' | 'metadata' | 'parentRunId' | 'parentToolCallId' | 'depth'>

/** What `runner.stream()` yields: the payload with its `type` and `meta`. */
export type RunEvent = { [K in EventName]: { type: K; meta: EventMeta } & EventPayloads[K] }[EventName]
