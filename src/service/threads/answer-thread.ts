import { randomUUID } from 'node:crypto'
import type { Decision } from '../../agent/decisions/decisions.ts'
import type { PendingItem } from '../../agent/run/result.ts'
import type { ResponseFormat } from '../../agent/web/response-format.ts'
import type { ChatMessage } from '../../core/messages.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { checkDecisions, type GivenDecision } from '../hidden-arguments.ts'
import { problemOfRequest } from '../http/problem.ts'
import type { Call } from '../routes/route.ts'
import type { ServiceRun } from '../runs/service-run.ts'
import type { ServiceParts } from '../service-parts.ts'
import { formattedLog, lastBeginning } from './formatted-log.ts'

/** What a page asks for, in whichever protocol. */
export interface ThreadRequest {
  /** Its chat or thread. */
  thread: string
  messages: readonly ChatMessage[]
  clientTools: readonly AnyTool[]
  /** What it decides on the calls that wait, as they were shown to it. */
  decide(pending: readonly PendingItem[]): Decision[]
  /** Approves what was not shown, too. */
  acknowledgeHidden: boolean
  /** Of the response, by the run's id. Throws an `HttpProblem` 400. */
  format(run: string): ResponseFormat
}

/**
 * Goes on with the run of the thread that waits, where the page decides on it, or starts another. One that goes on still is ended: the page has
 * something else to say. So is one that waits for what the page does not decide. Rejects with an `HttpProblem`.
 */
export async function answerThread(request: ThreadRequest, call: Call, parts: ServiceParts): Promise<Response> {
  const { runs, limiter } = parts
  const { caller } = call
  const release = limiter.admitStream(caller.name)
  try {
    const before = await runs.latestOf(request.thread, caller)
    const decisions = before === undefined ? [] : decisionsOf(request, before)
    if (before !== undefined && decisions.length > 0) {
      const after = before.log.lastId
      const format = request.format(before.id)
      await runs.resume(before, decisions, await parts.contextOf(call.request, before.head.caller))
      return respond(before, format, { after, release }, parts)
    }
    const id = `run_${randomUUID()}`
    const format = request.format(id)
    const run = await start(id, request, call, parts)
    // A request that is refused has ended nothing.
    if (before !== undefined) await giveUp(before, parts)
    return respond(run, format, { after: 0, release }, parts)
  } catch (error) {
    release()
    throw problemOfRequest(error) ?? error
  }
}

/** The run of the thread that goes on, from where it went on last; 204 where there is none. Rejects with an `HttpProblem`. */
export async function rejoinThread(
  thread: string,
  format: ThreadRequest['format'],
  { caller }: Call,
  parts: ServiceParts,
): Promise<Response> {
  const run = await parts.runs.latestOf(thread, caller)
  if (run === undefined || run.status !== 'running') return new Response(null, { status: 204 })
  const release = parts.limiter.admitStream(caller.name)
  try {
    return respond(run, format(run.id), { after: lastBeginning(run), release }, parts)
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
  if (run.status === 'done') return
  await runs.cancel(run, 'the page has gone on').catch((error: unknown) => {
    logger.error({ runId: run.id, error }, 'a run that a page has left could not be ended')
  })
}

function decisionsOf({ decide, acknowledgeHidden }: ThreadRequest, { outcome }: ServiceRun): Decision[] {
  if (outcome?.status !== 'paused') return []
  const pending = outcome.summary.pending as PendingItem[]
  const given = decide(pending).map((decision): GivenDecision => ({ ...decision, ...(acknowledgeHidden ? { acknowledgeHidden } : {}) }))
  return checkDecisions(given, pending)
}

async function start(
  id: string,
  { thread, messages, clientTools }: ThreadRequest,
  { caller, url, request }: Call,
  parts: ServiceParts,
): Promise<ServiceRun> {
  const agent = url.searchParams.get('model') ?? 'toolloop'
  const context = await parts.contextOf(request, caller)
  return parts.runs.start({ id, caller, kind: 'run', agent, thread, input: messages, options: { context }, clientTools })
}

function respond(
  run: ServiceRun,
  format: ResponseFormat,
  { after, release }: { after: number; release: () => void },
  { streams }: ServiceParts,
): Response {
  return streams.respond(formattedLog(run, format, after), { headers: { ...format.headers, 'x-run-id': run.id }, onClose: release })
}
