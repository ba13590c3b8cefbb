import type { StopReason } from '../../core/events.ts'
import type { Usage } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Caller } from '../http/auth.ts'

/** Whose run it is, and of what: all that is kept of its order. */
export interface RunHead {
  id: string
  caller: Caller
  /** The agent's name: what a client asks for as `model`. */
  agent: string
  /** Where it came in. */
  kind: 'run' | 'chat'
  /** The chat or thread that it belongs to, where it came in as a part of one. */
  thread?: string
  /** Those of its metadata, by `tagsOf`. */
  tags?: readonly string[]
  /** Tools the client runs. */
  clientTools: readonly AnyTool[]
  /** Digest of the request that has started it, if that had an `Idempotency-Key`. */
  request?: string
}

/** What a run has come to: for good, or until somebody decides. */
export interface Outcome {
  status: Exclude<RunStatus, 'running'>
  /** ISO 8601. */
  finishedAt: string
  /** Without secrets. */
  summary: OutcomeSummary
  /** The whole result as JSON, without secrets: its size is known, and nothing else is held by it. `''`: nobody will ask for it. */
  result: string
  /** What a paused run goes on from, as JSON. Never given out. */
  state?: string
  /** The calls a paused run waits for. */
  waitsFor: readonly { toolCallId: string; fingerprint: string }[]
}

export interface OutcomeSummary {
  stopReason?: StopReason
  /** The model that was asked last, as `provider/model`. */
  answeredBy?: string | undefined
  output?: string
  usage?: Usage
  iterations?: number
  /** How many calls there were, those of agents inside calls included. */
  toolCalls?: number
  /** The tools of its own calls, each once. */
  tools?: string[]
  error?: { code: string; message: string }
  /** What it waits for; a decision names an item by its `toolCallId` and `fingerprint`. */
  pending: unknown[]
}

/** A run as it is written down: enough to show it, and to go on with it in another process. Holds secrets. */
export interface StoredRun {
  head: RunHead
  createdAt: string
  /** The beginning of what the user said. */
  said: string
  /** Of the oldest that is kept, and of the last there was: those of the next process follow it. */
  firstEventId: number
  lastEventId: number
  /** Values that must not be shown, as far as they are known. */
  secrets: readonly string[]
  /** There were too many of them: no text of it is shown. */
  hidesAll: boolean
  /** Who has decided what, each as JSON, without secrets. */
  decisions?: readonly string[]
  /** The execution that wrote it last. */
  attempt?: string
  /** What it has come to. Undefined: it was going on. */
  outcome?: Outcome
}

/** What becomes of a run without a result of its own: what is known of it stays. */
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

/** Characters of an answer that a run is found by. */
const mostOfAnswer = 2_000

/** What a run is found by besides its title, a line for each, in lower case: `tool:search` finds those that called that tool. */
export function wordsOf(id: string, { caller, agent }: Pick<RunHead, 'caller' | 'agent'>, summary?: OutcomeSummary): string {
  const { tools = [], output = '', error } = summary ?? {}
  const lines = [id, `user:${caller.name}`, `model:${agent}`, ...tools.map((tool) => `tool:${tool}`), output.slice(0, mostOfAnswer)]
  if (error !== undefined) lines.push(error.code, error.message.slice(0, mostOfAnswer))
  return lines.join('\n').toLowerCase()
}
