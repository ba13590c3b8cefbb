import { tagsOf } from '../../agent/journal/tags.ts'
import type { RunInput, RunOptions } from '../../agent/types/options.ts'
import type { StopReason } from '../../core/events.ts'
import { isJsonObject, type Usage } from '../../core/messages.ts'
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

/** What a run is started with. */
export interface RunOrder extends RunHead {
  input: RunInput
  options: RunOptions
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

export function storedOrder({ id, caller, agent, kind, thread, clientTools, request, input, options }: RunOrder): StoredRun {
  return {
    head: {
      id,
      caller,
      agent,
      kind,
      thread,
      tags: tagsOf(options.metadata),
      clientTools,
      request,
    },
    createdAt: new Date().toISOString(),
    said: beginningOf(input),
    firstEventId: 1,
    lastEventId: 0,
    secrets: [],
    hidesAll: false,
  }
}

/**
 * The first characters of the last thing the user says: more than are shown, so that no secret is cut before it is known for one. The input
 * has not been checked yet.
 */
function beginningOf(input: RunInput): string {
  const messages: unknown[] = [typeof input === 'string' ? { role: 'user', content: input } : input].flat()
  const last = messages.findLast((message) => isJsonObject(message) && message.role === 'user')
  const content: unknown = isJsonObject(last) ? last.content : ''
  const parts: unknown[] = Array.isArray(content) ? content : [{ text: content }]
  const texts = parts.map((part) => (isJsonObject(part) && typeof part.text === 'string' ? part.text : ''))
  // A piece of a text keeps the whole of it in memory; a copy of the piece does not.
  return Buffer.from(texts.join('').slice(0, 600), 'utf16le').toString('utf16le')
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
