import { randomUUID } from 'node:crypto'
import type { Decision } from '../../agent/decisions/decisions.ts'
import { withShownAbout } from '../../agent/nested/shown-question.ts'
import type { PendingItem } from '../../agent/types/result.ts'
import { Event } from '../../core/events.ts'
import type { ChatMessage } from '../../core/messages.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { LogReader } from '../../ui/web/log-reader.ts'
import { inFormat, type ResponseFormat } from '../../ui/web/response-format.ts'
import type { RunEnding } from '../../ui/web/run-ending.ts'
import { HttpProblem, problemOfRequest } from '../http/problem.ts'
import type { Call } from '../http/route.ts'
import { checkDecisions, type GivenDecision } from '../redaction/hidden-arguments.ts'
import type { StartOnce } from '../run-requests/start-once.ts'
import { streamRun } from '../run-requests/stream-run.ts'
import type { ServiceRun } from '../runs/service-run.ts'
import type { Outcome } from '../runs/stored-run.ts'
import type { ServiceParts } from '../service-parts.ts'

/** Decisions, and what they were checked against. */
interface Decided {
  outcome: Outcome
  decisions: Decision[]
}

/** What a page asks for, in whichever protocol. */
export interface ThreadRequest {
  /** Its chat or thread. */
  thread: string
  messages: readonly ChatMessage[]
  clientTools: readonly AnyTool[]
  /** What it decides on the calls that wait, as they were shown to it. */
  decide(pending: readonly PendingItem[]): Decision[]
  /** It ends with answers to calls: there is nothing else that the page says. */
  answers: boolean
  /** Approves what was not shown, too. */
  acknowledgeHidden: boolean
  /** Of the response, by the run's id. Throws an `HttpProblem` 400. */
  format(run: string): ResponseFormat
}

/** How a client that comes again is answered. */
interface Rejoining {
  format: ThreadRequest['format']
  /** What the client does with what it has of the response: forget it, as the AI SDK's does, or keep it. */
  from: 'beginning' | 'last pause'
}

/**
 * Goes on with the run of the thread that waits, where the page decides on it, or starts another. One that goes on still is ended: the page has
 * something else to say. So is one that waits for what the page does not decide. Rejects with an `HttpProblem`: 409 for answers that come while
 * the run goes on, as those do that are sent twice.
 */
export async function answerThread(request: ThreadRequest, call: Call, parts: ServiceParts, once: StartOnce): Promise<Response> {
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
      throw new HttpProblem(409, 'not_pending', 'No call waits for these answers: the run goes on', { param: 'messages' })
    const run = await once.start(call, `run_${randomUUID()}`, (id, digest) => {
      // Before anything has begun: it may be refused.
      request.format(id)
      return start(id, request, call, parts, digest)
    })
    // A request that is refused has ended nothing. The page need not wait for the end of what it has left.
    if (before !== undefined && before.id !== run.id) void giveUp(before, parts)
    return await respond(run, request.format(run.id), { from: 'beginning', release }, parts)
  } catch (error) {
    release()
    throw problemOfRequest(error) ?? error
  }
}

/**
 * The run of the thread, from its beginning or from where it went on last: one that goes on, or that somebody has decided on, perhaps on another page. 204 if there
 * is none. Rejects with an `HttpProblem`.
 */
export async function rejoinThread(thread: string, { format, from }: Rejoining, { caller }: Call, parts: ServiceParts): Promise<Response> {
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

/** Ends the run of the thread that goes on, if there is one. */
export async function stopThread(thread: string, { caller }: Call, { runs }: ServiceParts): Promise<Response> {
  const run = await runs.latestOf(thread, caller)
  if (run?.status === 'running') await runs.cancel(run, 'stopped')
  return new Response(null, { status: 204 })
}

async function giveUp(run: ServiceRun, { runs, logger }: ServiceParts): Promise<void> {
  if (run.status === 'ended') return
  await runs.cancel(run, 'the page has gone on').catch((error: unknown) => {
    logger.error({ runId: run.id, error }, 'a run that a page has left could not be ended')
  })
}

/** Undefined: it decides nothing. */
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

/** `from`: a number is that of the event it begins behind. */
function respond(
  run: ServiceRun,
  format: ResponseFormat,
  { from, release }: { from: Rejoining['from'] | number; release: () => void },
  parts: ServiceParts,
): Promise<Response> {
  const open = () => {
    const after = from === 'beginning' ? 0 : from === 'last pause' ? lastBeginning(run) : from
    return new LogReader(run.log, { ...inFormat(format.open(), endingOf(run)), after })
  }
  return streamRun(run, open, { ...(format.headers === undefined ? {} : { headers: format.headers }), release }, parts)
}

/** How the run ended, for its page; undefined while it continues. */
function endingOf(run: ServiceRun): () => RunEnding | undefined {
  // A page that reads slowly is told what the run had come to, though it may have continued by then.
  let ended: RunEnding | undefined
  void run.ended.then(() => {
    ended = shownEnding(run) ?? leftEnding(run)
  })
  return () => ended ?? shownEnding(run)
}

function shownEnding({ id: runId, outcome }: ServiceRun): RunEnding | undefined {
  if (outcome === undefined) return undefined
  const { output = '', pending, stopReason, usage, iterations, error } = outcome.summary
  return { runId, stopReason, usage, iterations, error, text: output, pending: (pending as PendingItem[]).map(withShownAbout) }
}

/** Of a run that nobody here is told of any more. */
function leftEnding({ id: runId }: ServiceRun): RunEnding {
  const error = { code: 'aborted', message: 'What becomes of the run is not known here' }
  return { runId, stopReason: 'aborted', text: '', pending: [], error }
}

/** The event behind which the run continued last: after the last pause. */
function lastBeginning({ id, log }: ServiceRun): number {
  let beginning = 0
  for (const { id: place, type, event } of log.allAfter(0)) {
    if (type === Event.RUN_START && event.meta.runId === id) beginning = place - 1
  }
  return beginning
}
