import type { ErrorCode } from './errors.ts'
import type { FinishReason, Json, JsonObject, Usage } from './messages.ts'

export type { FinishReason }

/** The names of all events. Each value is its own name, so the string `'TOOL_CALL_START'` works as well. See `EventPayloads`. */
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

/** How a call ended. Only `ok` has a `value`. */
export type ToolCallOutcome = 'ok' | 'failed' | 'timeout' | 'rejected' | 'denied' | 'truncated' | 'cancelled' | 'uncertain'

/** An agent that runs inside a call. */
export type PathStep = {
  agent: string
  /** The id of the call in the outer run. */
  toolCallId: string
}

/** A decision on a pending call. */
export interface MadeDecision {
  kind: 'approval' | 'client_tool' | 'question' | 'budget'
  /** Whether the call was approved, its question was answered, or its result was given. False if nobody decided in time. */
  approved: boolean
  /** Why the call was not approved. The model gets this text. */
  reason?: string
  /** The person or system that decided. */
  by?: Json
  /** A remark, which is recorded but not shown to the model. */
  note?: string
  /** Set if the decision is about a call of a nested agent: the agents that lead to that call, outermost first. */
  path?: PathStep[]
  /**
   * Earlier decisions on the same call, oldest first. For example, a call is first approved, and then its tool asks a question. If the
   * call runs an agent, the decisions on that agent's calls are also in this list.
   */
  earlier?: MadeDecision[]
}

/** The payload of each event. */
export interface EventPayloads {
  RUN_START: { provider: string; model: string; tools: string[] }
  RUN_END: { stopReason: StopReason; usage: Usage; iterations: number; errorCode?: string }
  /** `continues`: the model was cut off and is asked to continue. The new text continues the previous text. */
  MODEL_START: { provider: string; model: string; continues?: true }
  /**
   * A request failed. The request is retried, or another model is asked instead. `provider` and `model` are those of the next request,
   * which is sent in `delayMs` milliseconds. `errorCode` and `error` describe the failure.
   *
   * `discards` is set if part of the failed response was already streamed. The text, reasoning and unfinished calls of the failed response
   * are invalid, and the response starts again. Discard the events of the same run and iteration since the last `MODEL_START`, or since the
   * last `MODEL_RETRY` with `discards`.
   */
  MODEL_RETRY: { provider: string; model: string; errorCode: ErrorCode; error: string; delayMs: number; discards?: true }
  /** The request waits because of the `rateLimits` of its model. `ahead`: the number of earlier requests in the queue. */
  MODEL_QUEUED: { provider: string; model: string; ahead: number }
  /** The response is complete. With an `errorCode`, the request failed: `finishReason` is then `error`. */
  MODEL_END: { provider: string; model: string; finishReason: FinishReason; usage?: Usage; errorCode?: ErrorCode }
  /** A piece of visible text, as it arrives. */
  TEXT_DELTA: { text: string }
  /** A piece of the model's reasoning, if the provider reveals it. */
  REASONING_DELTA: { text: string }
  /** The model starts to write a call. `index` counts the calls of this response from 0. */
  TOOL_INPUT_START: { index: number; id: string; tool: string }
  /** A piece of a call's JSON arguments. `id` is the id of its `TOOL_INPUT_START`. */
  TOOL_INPUT_DELTA: { index: number; id: string; json: string }
  /** Emitted just before a tool's function is called. `args` is a copy: changing it has no effect. */
  TOOL_CALL_START: { tool: string; args: JsonObject }
  /** Emitted after a tool's function returned, threw, timed out or was abandoned. */
  TOOL_CALL_END: {
    tool: string
    /** The result, as the model gets it. */
    result: string
    /** The size of `result` in UTF-8 bytes. */
    bytes: number
    /** `question`: the tool asked a question, and will be called again with the answer. */
    outcome: Extract<ToolCallOutcome, 'ok' | 'failed' | 'timeout' | 'cancelled'> | 'question'
    errorCode?: ErrorCode
    /**
     * The redacted arguments. Secrets are hidden: the values under the keys in the tool's `secrets`, and everything that looks like a
     * secret. Absent if the arguments are longer than 65,536 characters.
     */
    args?: JsonObject
    /**
     * The return value of the function, as JSON without secrets. Absent if the value is longer than 65,536 characters, or if the model got
     * only part of the value.
     */
    value?: Json
  }
  /**
   * A call whose function did not run. `args` and `error` contain no secrets. `args` is a text if the arguments could not be parsed or are
   * longer than 65,536 characters.
   */
  TOOL_CALL_REJECTED: {
    tool: string
    args: JsonObject | string
    error: string
    outcome: Extract<ToolCallOutcome, 'rejected' | 'denied' | 'truncated' | 'cancelled' | 'uncertain'>
    errorCode: ErrorCode
  }
  /** A progress report of a running tool, from `ctx.progress`. */
  TOOL_PROGRESS: { tool: string; update: Json }
  /** A guardrail intervened. `reason` is absent if the verdict is `replace`. */
  GUARDRAIL: { guardrail: string; place: 'input' | 'output' | 'call' | 'result'; verdict: 'replace' | 'refuse' | 'stop'; reason?: string }
  /** The conversation was handed to another agent, which takes the next turn. */
  HANDOFF: { agent: string; provider: string; model: string }
  /** A call waits for a decision. The payload equals the item in `pending` of the paused run's result. */
  DECISION_NEEDED: {
    kind: 'approval' | 'client_tool' | 'question' | 'budget'
    toolCallId: string
    tool: string
    args: JsonObject
    effect?: 'read' | 'idempotent' | 'unsafe'
    said?: string
    about?: Json
    fingerprint: string
    place: string
    path?: PathStep[]
    script?: ScriptLine
    plan?: PlanPlace
  }
  /** Somebody has decided on a pending call. Emitted before the decision takes effect. */
  DECISION_MADE: MadeDecision & { toolCallId: string; tool: string; place: string }
  /** A sentence of the answer, emitted by an `LLMPipeline` when the sentence is complete. */
  LLM_SENTENCE: { text: string }
}

/** The line of a script that makes a call. Lines are numbered from 1. */
export type ScriptLine = {
  line: number
  /** The text of the line. */
  code: string
}

/** The position of a call in the plan of a preview. `at`: the number of the call, counted from 1. `of`: the number of calls in the plan. */
export type PlanPlace = { at: number; of: number }

/** The origin of an event. */
export interface EventMeta {
  runId: string
  /** Number of the model request that this event belongs to, counted from 1 in each run. 0 before the first request. */
  iteration: number
  /** When it happened, in milliseconds since 1970. */
  time: number
  /** The run's `metadata`. A nested run without its own `metadata` has the `metadata` of the outer run. Frozen. */
  metadata?: JsonObject
  toolCallId?: string
  /** Set if the run is inside a tool call: the id of the outer run. `parentToolCallId` is the call, and `depth` the nesting depth. */
  parentRunId?: string
  parentToolCallId?: string
  depth?: number
  durationMs?: number
  /** On TOOL_CALL_END: whether the call succeeded. */
  ok?: boolean
  /** On TOOL_CALL_START and TOOL_CALL_REJECTED: what had to be corrected in the model's text to parse the call. */
  repairs?: string[]
  /** Set if the run has a durable journal: the key of the step that emitted the event. `attempt` is the id of the execution attempt. */
  step?: string
  attempt?: string
  /** Set in `runs.stream` and `resumeStream` if the event was recorded before the stream began. `time` is then the start of the run. */
  recorded?: true
}

/** The fields of `EventMeta` that differ between the events of one run. */
export type EventPlace = Omit<EventMeta, 'runId' | 'time' | 'metadata' | 'parentRunId' | 'parentToolCallId' | 'depth'>

/** An event as `runner.stream()` yields it: the payload with `type` and `meta`. */
export type RunEvent = { [K in EventName]: { type: K; meta: EventMeta } & EventPayloads[K] }[EventName]
