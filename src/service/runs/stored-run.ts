import type { ShownRun } from '../../agent/journal/shown-runs.ts'
import type { StopReason } from '../../core/events.ts'
import type { Usage } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Caller } from '../http/auth.ts'

/** The part of a run's order that is stored: the owner, the agent and the origin of the run. With it, any process can resume the run. */
export interface RunHead {
  id: string
  caller: Caller
  /** The name of the agent, which clients send as `model`. */
  agent: string
  /** The API through which the run was started. */
  kind: 'run' | 'chat'
  /** The chat or thread of the run, if it has one. */
  thread?: string
  /** The tags of the run's metadata, as `tagsOf` returns them. */
  tags?: readonly string[]
  /** The tools that the client runs. */
  clientTools: readonly AnyTool[]
  /** The digest of the request that started the run, if the request had an `Idempotency-Key`. */
  request?: string
  /** The time at which the run was created, in ISO 8601. */
  createdAt: string
  /** The beginning of the user's message. */
  said: string
}

/** The outcome of a run that has ended, or that waits for a decision. */
export interface Outcome {
  status: Exclude<RunStatus, 'running'>
  /** The time at which the run ended or paused, in ISO 8601. */
  finishedAt: string
  /** How long the run has waited, by the store's clock, in milliseconds. */
  waitedMs?: number
  /** The summary, without secrets. */
  summary: OutcomeSummary
  /** The complete result, as redacted JSON. `''` for an aborted run without a result, and for a chat, whose result only its client gets. */
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
  /** The number of calls. Calls of sub-agents are included. */
  toolCalls?: number
  /** The names of the tools that the run itself called. Each name is listed once. */
  tools?: string[]
  error?: { code: string; message: string }
  /** The pending items of the run. A decision refers to an item by its `toolCallId` and `fingerprint`. */
  pending: unknown[]
}

/**
 * A stored run. It contains everything that is needed to show the run, or to resume it in another process. It contains secrets. For a new
 * run, only `head` is set.
 */
export interface RunSnapshot
  extends Partial<Pick<ShownRun, 'firstEventId' | 'lastEventId' | 'secrets' | 'hidesAll' | 'decisions' | 'waitedMs' | 'attempt'>> {
  head: RunHead
  /** The outcome. Undefined if the run was still running. */
  outcome?: Outcome
}

/** Returns the outcome of an aborted run. */
export function abortedWith(message: string): Outcome {
  return {
    status: 'ended',
    finishedAt: new Date().toISOString(),
    summary: { stopReason: 'aborted', pending: [], error: { code: 'aborted', message } },
    result: '',
    waitsFor: [],
  }
}

/** Returns how long a run has worked until it ended or began to wait, in milliseconds. Earlier waits for decisions are not included. */
export function workedFor({ createdAt, finishedAt, waitedMs }: { createdAt: number; finishedAt: number; waitedMs: number }): number {
  return Math.max(0, finishedAt - createdAt - waitedMs)
}

/** Maximum length of the part of an answer that can be searched, in characters. */
const mostOfAnswer = 2_000

/**
 * Returns the searchable words of a run without its title. Each word is in lower case and on its own line. For example, `tool:search` finds
 * runs that called this tool.
 */
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
