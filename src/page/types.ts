// The types of the service's responses, as far as the page uses them. /openapi.json describes the responses completely.

import type { CallView, FinishReason, RunStatus, ToolCallOutcome } from '../core/runs/index.ts'
import type { Problem } from './data/api.ts'

export interface Usage {
  inputTokens: number
  outputTokens: number
  totalTokens: number
  costUsd?: number
}

/** The parts of a schema that forms and descriptions use. */
export interface JsonSchema {
  type?: string | string[]
  title?: string
  description?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  format?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
}

/** A message of a conversation, as the service sends it. */
export interface Message {
  role: string
  content?: unknown
  reasoning?: unknown
  /** Tool calls in the form of the runtime or of the OpenAI API. */
  toolCalls?: { name?: string; arguments?: unknown; rawArguments?: string; function?: { name: string; arguments: string } }[]
}

/** The result of a run: how it ended, and what it did. */
export interface RunResult {
  text: string
  messages?: Message[]
  newMessages?: Message[]
  steps?: {
    iteration: number
    provider: string
    model: string
    durationMs: number
    timeToFirstTokenMs?: number
    usage?: Usage
    finishReason: FinishReason
  }[]
  toolCalls?: {
    iteration: number
    id: string
    tool: string
    durationMs: number
    args?: Exclude<CallView['args'], string>
    rawArguments?: string
    content?: unknown
    outcome: ToolCallOutcome
    nested?: { usage?: Usage }
  }[]
}

export interface Pending {
  kind: 'approval' | 'client_tool' | 'question' | 'budget'
  toolCallId: string
  tool: string
  args: Record<string, unknown>
  effect?: Tool['effect']
  /** What the model said before the call. */
  said?: string
  about?: unknown
  /** The schema of the answer to a question. */
  schema?: JsonSchema
  fingerprint: string
  /** The nested agents that contain the call, outermost first. */
  path?: { agent: string; toolCallId: string }[]
  /** The line of the script that makes the call. */
  script?: { line: number; code: string }
  /** The position of the call in the plan of a preview, and the number of calls in the plan. */
  plan?: { at: number; of: number }
}

export interface Run {
  id: string
  status: RunStatus
  kind: 'run' | 'chat'
  model: string
  owner: string
  input: string
  createdAt: string
  finishedAt?: string
  /** The time from the start of the run to its end or pause, without waits, in milliseconds. */
  workedMs?: number
  /** The time that the run has waited, in milliseconds. The current wait is not included. */
  waitedMs?: number
  session?: string
  /** The model that was asked last, as `provider/model`. */
  answeredBy?: string
  stopReason?: string
  output?: string
  usage?: Usage
  iterations?: number
  toolCalls?: number
  tools?: string[]
  error?: { code: string; message: string }
  pending: Pending[]
  /** Absent if the run is part of a list. */
  decisions?: Decision[]
}

/** The sums of several runs. */
export interface Totals {
  runs: number
  running: number
  waiting: number
  tokens: number
  costUsd: number
  workedMs: number
  waitedMs: number
}

/** The sums of the runs of a session. */
export interface SessionSums extends Totals {
  session: string
  owner: string
  /** The input of the session's first run. */
  input: string
  createdAt: string
  latestAt: string
  latestRunId: string
}

export interface Decision {
  at: string
  by: string
  kind: string
  tool: string
  toolCallId: string
  agents?: string[]
  verdict: 'approved' | 'edited' | 'rejected' | 'answered' | 'result'
  args?: unknown
  edited?: unknown
  about?: unknown
  reason?: string
  note?: string
  answer?: unknown
  result?: unknown
}

interface Tool {
  function: { name: string; description: string; parameters: JsonSchema }
  effect: 'read' | 'idempotent' | 'unsafe'
  approval: 'never' | 'always' | 'depends'
}

export interface PastCall {
  at: string
  outcome: string
  durationMs: number
  errorCode?: string
  /** The run that made the call. Absent if a user made the call in a form. */
  runId?: string
}

export interface ToolWithCalls extends Tool {
  source: { kind: 'registered' | 'builtin' | 'skill' | 'mcp' | 'openapi'; name?: string }
  runsHere: boolean
  calls: { total: number; failed: number; recent: PastCall[] }
}

export type McpServer = { name: string; state: string; problem?: string }

export interface Sums {
  runs: number
  failed: number
  inputTokens: number
  outputTokens: number
  costUsd: number
  p50Ms: number | null
  p95Ms: number | null
}

export interface Share {
  runs: number
  failed: number
  tokens: number
  costUsd: number
}

export interface Overview extends Sums {
  from: string
  /** The start of the period that the figures cover. Later than `from` if there were too many runs to count. */
  since: string
  stepMs: number
  series: Sums[]
  reasons: { stopReason: string; errorCode?: string; runs: number }[]
  models: ({ model: string } & Share)[]
  users: ({ owner: string } & Share)[]
  tools: ({ tool: string } & Share)[]
  running: number
  waiting: number
}

export interface ConfigState {
  file: string | null
  loadedAt: string
  reloads: number
  lastError: { at: string; problems: Problem[] } | null
  /** The fields whose changes require a restart, as JSON Pointers. */
  needsRestart: string[]
}

export interface Provider {
  name: string
  /** The environment variable that contains the provider's key. */
  keyEnv: string | null
  /** Whether the provider has a key. Null if the provider needs no key. */
  hasKey: boolean | null
}

export interface Skill {
  name: string
  description: string
  source: 'configured' | 'project' | 'user'
  folder: string
  allowedTools: string[]
  tools: string[]
  scripts: string[]
  instructions: string
}

export interface ServiceState {
  version: string
  startedAt: string
  draining: boolean
  config: ConfigState
  models: { name: string; provider: string; model: string }[]
  providers: Provider[]
  tools: Tool[]
  /** The number of runs that wait for a decision. */
  waiting: number
}
