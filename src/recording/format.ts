import type { ModelErrorFields } from '../core/errors.ts'
import type { StopReason } from '../core/events.ts'
import type { ChatMessage, Content, Json, JsonObject, Usage } from '../core/messages.ts'
import type { ModelCapabilities, ModelRequest, ModelResponse } from '../models/chat-model.ts'
import type { JsonSchema, Question } from '../tools/tool.ts'

export const formatName = 'toolloop run'
export const formatVersion = 1

/**
 * A run that can be replayed, as plain JSON: its input and its steps, with more detail than in a journal. It has no times, and no
 * random ids where they don't matter, so that the same run played again gives the same recording. Secrets are replaced by `[redacted]`.
 */
export interface RunRecording extends RecordedRun {
  format: typeof formatName
  /** Of the format: 1. */
  version: typeof formatVersion
  /** The version of this package that wrote it. */
  toolloop: string
  runId: string
}

/** A recorded run, or a run inside a call of another. */
export interface RecordedRun {
  given: RecordedInput
  /**
   * In their order, by the keys that they have in the run's journal: `1.model` is the turn of the first iteration, `1.tool.0` its first call. Of a
   * decision, the place where it was waited for (`1.tool.0.decision`), or the step that asked `approve` (`1.approve.0`). `1.steer` is what was said to
   * the run behind that.
   */
  steps: { [key: string]: RecordedStep }
  /** How it ended, or that it is paused. Absent where it came to nothing: the process died, or the run could not begin. */
  result?: RecordedResult
}

/** A recorded step: a turn, a call, a decision, or a message to the run. */
export type RecordedStep = RecordedTurn | RecordedCall | RecordedDecision | RecordedSteering

/** What a recording is kept in: each step by its key, `given` and `result` by their names. */
export type RecordedPart = RecordedStep | RecordedInput | RecordedResult

/** The requests of one turn. More than one if a response was empty. */
export type RecordedTurn = RecordedRequest[]

/** The input of a recorded run. */
export interface RecordedInput {
  model: RecordedModelInfo
  instructions?: string
  /** The conversation with the run's input at its end. */
  messages: readonly ChatMessage[]
  /** How many of the messages are from before the run. */
  earlier: number
  tools: RecordedTool[]
  /** The settings of run and runner that are data. */
  settings: JsonObject
  /** The schema of its answer. */
  output?: JsonSchema
  /** It had an `approve`, whose decisions are in its steps. */
  approve?: true
  /** What it had that is code, or shared with other runs, and therefore not here: `hooks`, `guardrails`, `budget`, … */
  code?: string[]
  /** A guardrail stopped it before it began: why. */
  refused?: string
  /** Why the recording is not of the whole run: then it can be read, but not played. */
  partial?: string
}

/** What the recording knows of a model. */
export interface RecordedModelInfo {
  provider: string
  model: string
  capabilities: ModelCapabilities
}

/** A tool without its code. */
export interface RecordedTool {
  name: string
  description: string
  /** As the model was told. */
  parameters: JsonSchema
  strict?: boolean
  effect?: string
  parallel?: false
  final?: true
  /** `by call`: it was decided by code which calls need one. */
  approval?: true | 'by call'
  secrets?: readonly string[]
  /** Its caller runs it. */
  client?: true
  /** It hands the conversation to another agent. */
  handoff?: true
}

/** A model request with its `response` or `error`; with neither if the run was interrupted. */
export interface RecordedRequest {
  request: RecordedModelRequest
  /** The response as it was received. */
  response?: ModelResponse
  /** A hook around the request has answered it: the model was not asked. */
  answeredBy?: 'hook'
  /** The pieces it came in. Absent where it came whole. */
  stream?: RecordedPieces[]
  error?: RecordedError
  /** The run ended while the model was asked. */
  interrupted?: 'aborted' | 'deadline'
}

/** A recorded request. It names the model or agent only if it is another than before. */
export type RecordedModelRequest = Omit<ModelRequest, 'signal'> & {
  model?: RecordedModelInfo
  /** The tools of the agent that has the conversation from here on. */
  agent?: RecordedTool[]
}

/** Consecutive pieces of one kind. `call`: index, id and name. `arguments`: the call's index, then the pieces. */
export type RecordedPieces =
  | ['text' | 'reasoning', ...pieces: string[]]
  | ['call', index: number, id: string, name: string]
  | ['arguments', index: number, ...pieces: string[]]

/** A request that failed, after all retries. `retryable` is absent for what is no provider's fault. */
export type RecordedError = Partial<Omit<ModelErrorFields, 'cause'>> & { code: string; message: string }

/** A call whose tool was started. */
export interface RecordedCall {
  id: string
  tool: string
  args: JsonObject
  /** The answer to what the tool had asked. */
  answer?: Json
  /** Absent where the run ended while the tool ran. */
  outcome?: 'ok' | 'failed' | 'timeout' | 'cancelled' | 'question' | 'rejected'
  /** What the model was given. */
  content?: Content
  errorCode?: string
  /** How often the tool was tried, where more than once. */
  attempts?: number
  question?: Question
  /** To whom a `handoff` tool handed the conversation. */
  handedTo?: Json
  /** What the tool returned, as JSON: only where a hook stands around calls, and where it is not `content`. */
  value?: Json
  interrupted?: 'aborted' | 'deadline'
  /** Runs made inside the call, in the order they began. */
  runs?: RecordedRun[]
}

/** A decision, made by `approve` or given to `resume`. */
export interface RecordedDecision {
  call: string
  tool: string
  args: JsonObject
  /** `approved`, with a `reason` or, if they are others, `args`; the `result` of a client's tool; the `answer` to a question. */
  verdict: JsonObject
}

/** What was sent to the run through its control. */
export interface RecordedSteering {
  messages: readonly ChatMessage[]
  stops?: true
}

/** The result of a recorded run. Its messages and calls are in the steps. */
export interface RecordedResult {
  stopReason: StopReason
  /** The answer as text. */
  text: string
  usage: Usage
  iterations: number
  /** Of one that is paused: calls that wait for the caller. */
  pending?: JsonObject[]
  /** The agent that has the conversation, where it was handed off. */
  agent?: string
  error?: { code: string; message: string }
}

export function isCall(step: RecordedStep | undefined): step is RecordedCall {
  return step !== undefined && 'id' in step
}

export function isDecision(step: RecordedStep | undefined): step is RecordedDecision {
  return step !== undefined && 'verdict' in step
}

/** All requests of a run, with where they are. */
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

/** The run with each step changed. */
export function withSteps<Run extends RecordedRun>(run: Run, change: (step: RecordedStep, key: string) => RecordedStep): Run {
  return { ...run, steps: Object.fromEntries(Object.entries(run.steps).map(([key, step]) => [key, change(step, key)])) }
}
