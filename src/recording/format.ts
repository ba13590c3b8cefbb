import type { ModelErrorFields } from '../core/errors.ts'
import type { StopReason } from '../core/events.ts'
import type { ChatMessage, Content, Json, JsonObject, Usage } from '../core/messages.ts'
import type { ModelCapabilities, ModelRequest, ModelResponse } from '../models/chat-model.ts'
import type { JsonSchema, Question } from '../tools/tool.ts'

export const formatName = 'toolloop run'
export const formatVersion = 1

/**
 * A run that can be replayed, as plain JSON. It contains the input and the steps of the run, with more detail than a journal. It contains
 * no timestamps and as few random ids as possible, so that a replay produces the same recording. Secrets are replaced by `[redacted]`.
 */
export interface RunRecording extends RecordedRun {
  format: typeof formatName
  /** The version of the format, which is 1. */
  version: typeof formatVersion
  /** The version of this package that wrote the recording. */
  toolloop: string
  runId: string
}

/** A recorded run. It is the outermost run, or a run inside a call. */
export interface RecordedRun {
  given: RecordedInput
  /**
   * The steps in order, by their keys in the run's journal. `1.model` is the turn of the first iteration, and `1.tool.0` is its first call.
   * The key of a decision names the call that waited for the decision (`1.tool.0.decision`), or the step that called `approve`
   * (`1.approve.0`). `1.steer` contains the messages that were sent to the run after the first turn.
   */
  steps: { [key: string]: RecordedStep }
  /** The result of the run, which may be paused. Absent if the process died or the run could not start. */
  result?: RecordedResult
}

/** A recorded step: a turn, a call, a decision, or a message to the run. */
export type RecordedStep = RecordedTurn | RecordedCall | RecordedDecision | RecordedSteering

/** A step, the input or the result of a recorded run. */
export type RecordedPart = RecordedStep | RecordedInput | RecordedResult

/** The requests of one turn. There are several if a response was empty and the model was asked again. */
export type RecordedTurn = RecordedRequest[]

/** The input of a recorded run. */
export interface RecordedInput {
  model: RecordedModelInfo
  instructions?: string
  /** The conversation, ending with the run's input. */
  messages: readonly ChatMessage[]
  /** The number of messages at the start of `messages` that are older than the run. */
  earlier: number
  tools: RecordedTool[]
  /** The settings of the run and of the runner. Settings that are not plain data are left out. */
  settings: JsonObject
  /** The JSON Schema of the answer. */
  output?: JsonSchema
  /** Set if the run had an `approve` callback. Its decisions are in `steps`. */
  approve?: true
  /** The options that were not recorded, because they are code or shared with other runs: `hooks`, `guardrails`, `budget`, … */
  code?: string[]
  /** The reason why a guardrail refused the run before it started. */
  refused?: string
  /** The reason why the recording is incomplete. An incomplete recording can be read, but not replayed. */
  partial?: string
}

/** The recorded properties of a model. */
export interface RecordedModelInfo {
  provider: string
  model: string
  capabilities: ModelCapabilities
}

/** A tool without its code. */
export interface RecordedTool {
  name: string
  description: string
  /** The schema of the parameters, as it is sent to the model. */
  parameters: JsonSchema
  strict?: boolean
  effect?: string
  parallel?: false
  final?: true
  /** Whether calls need an approval. `by call` means that a callback decided for each call whether it needed an approval. */
  approval?: true | 'by call'
  secrets?: readonly string[]
  /** Set for a tool without `execute`, which the caller of the run executes. */
  client?: true
  /** Set if this tool hands the conversation to another agent. */
  handoff?: true
  /** Set if this tool is an agent, so that each of its calls is a run. */
  agent?: true
  /** Set if this tool has a `preview`. */
  preview?: true
}

/** A model request with its `response` or `error`. An interrupted request may have neither. */
export interface RecordedRequest {
  request: RecordedModelRequest
  /** The response as it was received. */
  response?: ModelResponse
  /** Set if a hook around the request answered it without calling the model. */
  answeredBy?: 'hook'
  /** The chunks of the response. Absent if the response was not streamed. */
  stream?: RecordedPieces[]
  error?: RecordedError
  /** Set if the run ended during the request. */
  interrupted?: 'aborted' | 'deadline'
}

/**
 * A recorded request. `model` is present only if it is not the model with which the run started. `agent` is present only if the active
 * agent has changed since the previous request.
 */
export type RecordedModelRequest = Omit<ModelRequest, 'signal'> & {
  model?: RecordedModelInfo
  /** The tools of the active agent from this request on. */
  agent?: RecordedTool[]
}

/**
 * Consecutive chunks of a streamed response that have the same kind. `call` is followed by the index, id and name of the call. `arguments`
 * is followed by the index of the call and the chunks.
 */
export type RecordedPieces =
  | ['text' | 'reasoning', ...pieces: string[]]
  | ['call', index: number, id: string, name: string]
  | ['arguments', index: number, ...pieces: string[]]

/** The error of a request that failed even after all retries. `retryable` is absent if the error did not come from the provider. */
export type RecordedError = Partial<Omit<ModelErrorFields, 'cause'>> & { code: string; message: string }

/** A call whose tool was started. */
export interface RecordedCall {
  id: string
  tool: string
  args: JsonObject
  /** The answer to the tool's question. */
  answer?: Json
  /** The outcome of the call. Absent if the run ended while the tool was running. */
  outcome?: 'ok' | 'failed' | 'timeout' | 'cancelled' | 'question' | 'rejected'
  /** The result that was sent to the model. */
  content?: Content
  errorCode?: string
  /** The number of attempts, if there was more than one. */
  attempts?: number
  question?: Question
  /** The return value of a `handoff` tool. */
  handedTo?: Json
  /** The value that the tool returned, as JSON. Present only if a hook wraps calls and the value differs from `content`. */
  value?: Json
  interrupted?: 'aborted' | 'deadline'
  /** The runs inside the call, in the order in which they started. */
  runs?: RecordedRun[]
}

/** A decision that `approve` made or that was passed to `resume`. */
export interface RecordedDecision {
  call: string
  tool: string
  args: JsonObject
  /**
   * An approval has `approved`, and optionally `reason` and changed `args`. The decision on a tool that the caller executes has `result`.
   * The answer to a question has `answer`.
   */
  verdict: JsonObject
}

/** Messages that were sent to the run through its `RunControl`. */
export interface RecordedSteering {
  messages: readonly ChatMessage[]
  stops?: true
}

/** The result of a recorded run. The messages and calls of the run are in its steps. */
export interface RecordedResult {
  stopReason: StopReason
  /** The answer as text. */
  text: string
  usage: Usage
  iterations: number
  /** The pending calls of a paused run. */
  pending?: JsonObject[]
  /** The active agent, if the conversation was handed off. */
  agent?: string
  error?: { code: string; message: string }
}

export function isCall(step: RecordedStep | undefined): step is RecordedCall {
  return step !== undefined && 'id' in step
}

export function isDecision(step: RecordedStep | undefined): step is RecordedDecision {
  return step !== undefined && 'verdict' in step
}

/** Returns all requests of a run, each with its place in the recording. */
export function requestsOf({ steps }: Pick<RecordedRun, 'steps'>): [where: string, request: RecordedRequest][] {
  return Object.entries(steps).flatMap(([key, step]) =>
    Array.isArray(step) ? step.map((request, at): [string, RecordedRequest] => [at === 0 ? key : `${key}[${at}]`, request]) : [],
  )
}

export function callsOf({ steps }: Pick<RecordedRun, 'steps'>): RecordedCall[] {
  return Object.values(steps).filter(isCall)
}

export function decisionsOf({ steps }: Pick<RecordedRun, 'steps'>): RecordedDecision[] {
  return Object.values(steps).filter(isDecision)
}

/** Returns a copy of the run with each step replaced by the result of `change`. */
export function withSteps<Run extends RecordedRun>(run: Run, change: (step: RecordedStep, key: string) => RecordedStep): Run {
  return { ...run, steps: Object.fromEntries(Object.entries(run.steps).map(([key, step]) => [key, change(step, key)])) }
}
