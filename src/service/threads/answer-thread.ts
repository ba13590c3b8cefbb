import { randomUUID } from 'node:crypto'
import type { Decision } from '../../agent/decisions/decisions.ts'
import { itemOnPage } from '../../agent/nested/nested-items.ts'
import type { PendingItem } from '../../agent/types/result.ts'
import { Event } from '../../core/events.ts'
import type { ChatMessage } from '../../core/messages.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { LogReader } from '../../ui/web/log-reader.ts'
import { inFormat, type ResponseFormat } from '../../ui/web/response-format.ts'
import type { RunEnding } from '../../ui/web/run-ending.ts'
import { HttpProblem, problemOfRequest } from '../http/problem.ts'
import type { Answer } from '../http/reply.ts'
import type { Call } from '../http/route.ts'
import { checkDecisions, type GivenDecision } from '../redaction/hidden-arguments.ts'
import type { StartOnce } from '../run-requests/start-once.ts'
import { streamRun } from '../run-requests/stream-run.ts'
import type { ServiceRun } from '../runs/service-run.ts'
import type { Outcome } from '../runs/stored-run.ts'
import type { ServiceParts } from '../service-parts.ts'

/** Decisions on the calls that wait in `outcome`. */
interface Decided {
  outcome: Outcome
  decisions: Decision[]
}

/** The request of a page in either of the two protocols. */
export interface ThreadRequest {
  /** The id of the page's chat or thread. */
  thread: string
  messages: readonly ChatMessage[]
  clientTools: readonly AnyTool[]
  /** Returns the decisions that the page made on pending calls. `pending` contains the redacted calls that the page saw. */
  decide(pending: readonly PendingItem[]): Decision[]
  /** Whether the request answers pending calls instead of sending a new message. */
  answers: boolean
  /** Whether the decisions also approve hidden parts. */
  acknowledgeHidden: boolean
  /** Returns the format of the response. `run` is the id of the run. Throws an `HttpProblem` 400. */
  format(run: string): ResponseFormat
}

interface Rejoining {
  format: ThreadRequest['format']
  /**
   * Where the response starts. `'beginning'` is for clients that discard the part of the response that they already have, such as the AI
   * SDK's client. `'last pause'` is for clients that keep this part.
   */
  from: 'beginning' | 'last pause'
}

/**
 * Resumes the waiting run of the thread if the request decides on it. Otherwise starts a new run, and ends an earlier run of the thread
 * that is still running or waiting. Rejects with an `HttpProblem` 409 if the request contains only answers to calls, but the run is already
 * running.
 */
export async function answerThread(request: ThreadRequest, call: Call, parts: ServiceParts, once: StartOnce): Promise<Answer> {
  const { runs, limiter } = parts
  const { caller } = call
  const release = limiter.admitStream(caller.name)
  try {
    const started = await once.startedBy(call)
    if (started !== undefined) return await respond(started, request.format(started.id), { from: 'beginning', release }, parts)
    const before = await runs.latestOf(request.thread, caller)
    const decided = before === undefined ? undefined : decidedBy(request, before)
    if (before !== undefined && decided !== undefined) {
      const after = before.log.lastId
      const format = request.format(before.id)
      const context = await parts.contextOf(call.request, before.head.caller)
      await runs.resume(before, decided.outcome, { decisions: decided.decisions, by: caller, context })
      return await respond(before, format, { from: after, release }, parts)
    }
    if (request.answers && before?.status === 'running')
      throw new HttpProblem(409, 'not_pending', 'No call waits for these answers: the run continues', { param: 'messages' })
    const run = await once.start(call, `run_${randomUUID()}`, (id, digest) => {
      // Checks the format before the run starts, because `format` may throw.
      request.format(id)
      return start(id, request, call, parts, digest)
    })
    // A refused request must not end the earlier run, so it is ended only now.
    if (before !== undefined && before.id !== run.id) void giveUp(before, parts)
    return await respond(run, request.format(run.id), { from: 'beginning', release }, parts)
  } catch (error) {
    release()
    throw problemOfRequest(error) ?? error
  }
}

/**
 * Streams the newest run of the thread, from its start or from its last resumption. Responds with 204 if the run is not running and was
 * never resumed. Rejects with an `HttpProblem` 429 if the caller has too many open streams.
 */
export async function rejoinThread(thread: string, { format, from }: Rejoining, { caller }: Call, parts: ServiceParts): Promise<Answer> {
  const run = await parts.runs.latestOf(thread, caller)
  if (run === undefined || (run.status !== 'running' && run.decisions.length === 0)) return new Response(null, { status: 204 })
  const release = parts.limiter.admitStream(caller.name)
  try {
    return await respond(run, format(run.id), { from, release }, parts)
  } catch (error) {
    release()
    throw error
  }
}

/** Ends the running run of the thread, if there is one. */
export async function stopThread(thread: string, { caller }: Call, { runs }: ServiceParts): Promise<Response> {
  const run = await runs.latestOf(thread, caller)
  if (run?.status === 'running') await runs.cancel(run, 'stopped')
  return new Response(null, { status: 204 })
}

async function giveUp(run: ServiceRun, { runs, logger }: ServiceParts): Promise<void> {
  if (run.status === 'ended') return
  await runs.cancel(run, 'the page has moved on').catch((error: unknown) => {
    logger.error({ runId: run.id, error }, 'a run that a page has left could not be ended')
  })
}

/** Returns the decisions in the request. Returns undefined if the request decides nothing. */
function decidedBy({ decide, acknowledgeHidden }: ThreadRequest, { outcome }: ServiceRun): Decided | undefined {
  if (outcome?.status !== 'waiting') return undefined
  const pending = outcome.summary.pending as PendingItem[]
  const given = decide(pending).map((decision): GivenDecision => ({ ...decision, ...(acknowledgeHidden ? { acknowledgeHidden } : {}) }))
  const decisions = checkDecisions(given, pending)
  return decisions.length === 0 ? undefined : { outcome, decisions }
}

async function start(
  id: string,
  { thread, messages, clientTools }: ThreadRequest,
  { caller, url, request }: Call,
  parts: ServiceParts,
  digest: string | undefined,
): Promise<ServiceRun> {
  const agent = url.searchParams.get('model') ?? 'toolloop'
  const context = await parts.contextOf(request, caller)
  const once = digest === undefined ? {} : { request: digest }
  return parts.runs.start({ id, caller, kind: 'run', agent, thread, input: messages, options: { context }, clientTools, ...once })
}

/** Streams a run. `from` is the number of the event after which the stream starts. */
function respond(
  run: ServiceRun,
  format: ResponseFormat,
  { from, release }: { from: Rejoining['from'] | number; release: () => void },
  parts: ServiceParts,
): Promise<Answer> {
  const open = () => {
    const after = from === 'beginning' ? 0 : from === 'last pause' ? lastBeginning(run) : from
    return new LogReader(run.log, { ...inFormat(format.open(), endingOf(run)), after })
  }
  return streamRun(run, open, { ...(format.headers === undefined ? {} : { headers: format.headers }), release }, parts)
}

/** The returned function gives the ending of the run, or undefined while the run continues. */
function endingOf(run: ServiceRun): () => RunEnding | undefined {
  // A slow page gets this ending even if the run has resumed meanwhile.
  let ended: RunEnding | undefined
  void run.ended.then(() => {
    ended = shownEnding(run) ?? leftEnding(run)
  })
  return () => ended ?? shownEnding(run)
}

function shownEnding({ id: runId, outcome }: ServiceRun): RunEnding | undefined {
  if (outcome === undefined) return undefined
  const { output = '', pending, stopReason, usage, iterations, error } = outcome.summary
  return { runId, stopReason, usage, iterations, error, text: output, pending: (pending as PendingItem[]).map(itemOnPage) }
}

/** Returns the ending of a run that this process no longer follows. */
function leftEnding({ id: runId }: ServiceRun): RunEnding {
  const error = { code: 'aborted', message: 'The outcome of the run is not known here' }
  return { runId, stopReason: 'aborted', text: '', pending: [], error }
}

/** Returns the number of the last event before the run was started or last resumed. */
function lastBeginning({ id, log }: ServiceRun): number {
  let beginning = 0
  for (const { id: place, type, event } of log.allAfter(0)) {
    if (type === Event.RUN_START && event.meta.runId === id) beginning = place - 1
  }
  return beginning
}
