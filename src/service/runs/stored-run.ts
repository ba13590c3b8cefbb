import type { StopReason } from '../../core/events.ts'
import type { Usage } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Caller } from '../http/auth.ts'

/** The stored part of a run's order: its owner, agent and origin. */
export interface RunHead {
  id: string
  caller: Caller
  /** The agent's name, which clients send as `model`. */
  agent: string
  /** The API through which it was started. */
  kind: 'run' | 'chat'
  /** The chat or thread of the run, if it has one. */
  thread?: string
  /** Tags of its metadata, made by `tagsOf`. */
  tags?: readonly string[]
  /** Tools that the client runs. */
  clientTools: readonly AnyTool[]
  /** The digest of the request that started the run, if the request had an `Idempotency-Key`. */
  request?: string
}

/** The outcome of a run that has ended, or that waits for a decision. */
export interface Outcome {
  status: Exclude<RunStatus, 'running'>
  /** ISO 8601. */
  finishedAt: string
  /** How long the run has waited, according to the store. */
  waitedMs?: number
  /** The summary, without secrets. */
  summary: OutcomeSummary
  /**
   * The complete result as redacted JSON. Stored as text because the size of a text is known and a text keeps no other objects in memory.
   * `''` if nobody will request the result.
   */
  result: string
  /** The state from which a paused run resumes, as JSON. Never sent to clients. */
  state?: string
  /** The calls that a paused run waits for. */
  waitsFor: readonly { toolCallId: string; fingerprint: string }[]
}

export interface OutcomeSummary {
  stopReason?: StopReason
  /** The model that was called last, as `provider/model`. */
  answeredBy?: string | undefined
  output?: string
  usage?: Usage
  iterations?: number
  /** The number of calls, including those of sub-agents. */
  toolCalls?: number
  /** The names of the tools that the run itself called, without duplicates. */
  tools?: string[]
  error?: { code: string; message: string }
  /** Its pending items. A decision refers to an item by its `toolCallId` and `fingerprint`. */
  pending: unknown[]
}

/** A stored run: enough to show it, and to resume it in another process. Contains secrets. */
export interface RunSnapshot {
  head: RunHead
  createdAt: string
  /** The beginning of the user's message. */
  said: string
  /** The ids of the oldest and of the latest stored event. The next process continues from there. */
  firstEventId: number
  lastEventId: number
  /** The known values to redact. */
  secrets: readonly string[]
  /** Whether there were too many secrets, so that none of the run's text is shown. */
  hidesAll: boolean
  /** Who decided what, each as redacted JSON. */
  decisions?: readonly string[]
  /** Total time that the run has waited for decisions, in milliseconds. A wait in progress is not included. Default 0. */
  waitedMs?: number
  /** The execution that stored it last. */
  attempt?: string
  /** The outcome. Undefined: it was running. */
  outcome?: Outcome
}

/** Returns the outcome of an aborted run. `known`: the summary and result so far, if any. */
export function abortedWith(message: string, known: { summary?: OutcomeSummary; result?: string } = {}): Outcome {
  const { summary, result = '' } = known
  return {
    status: 'ended',
    finishedAt: new Date().toISOString(),
    summary: { ...summary, stopReason: 'aborted', pending: [], error: { code: 'aborted', message } },
    result,
    waitsFor: [],
  }
}

/** Returns how long a run has worked until it ended or began to wait, in milliseconds. Earlier waits for decisions are not included. */
export function workedFor({ createdAt, finishedAt, waitedMs }: { createdAt: number; finishedAt: number; waitedMs: number }): number {
  return Math.max(0, finishedAt - createdAt - waitedMs)
}

/** The searchable part of an answer, in characters. */
const mostOfAnswer = 2_000

/** Returns the searchable words of a run besides its title, one a line, in lower case: `tool:search` finds runs that called that tool. */
export function wordsOf(id: string, { caller, agent }: Pick<RunHead, 'caller' | 'agent'>, summary?: OutcomeSummary): string {
  const { tools = [], output = '', error, answeredBy } = summary ?? {}
  const models = answeredBy === undefined ? [agent] : [agent, answeredBy]
  const lines = [
    id,
    `user:${caller.name}`,
    ...models.map((model) => `model:${model}`),
    ...tools.map((tool) => `tool:${tool}`),
    output.slice(0, mostOfAnswer),
  ]
  if (error !== undefined) lines.push(error.code, error.message.slice(0, mostOfAnswer))
  return lines.join('\n').toLowerCase()
}
