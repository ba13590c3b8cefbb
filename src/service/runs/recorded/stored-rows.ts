import type { ListedRun, NewShownRun, ShownEvent, ShownOutcome, ShownRun, ShownRuns } from '../../../agent/journal/shown-runs.ts'
import { writeJson } from '../../../core/json/json-pieces.ts'
import type { ServiceRun } from '../service-run.ts'
import { type Outcome, type RunHead, wordsOf, workedFor } from '../stored-run.ts'

/** Converts a new run to a stored row. */
export function rowOf(head: RunHead, title: string): NewShownRun {
  const { id: runId, caller, agent, kind, thread, request, tags } = head
  const createdAt = Date.parse(head.createdAt)
  const words = wordsOf(runId, head)
  return { runId, caller: caller.name, agent, kind, thread, request, tags, title, words, createdAt, head: JSON.stringify(head) }
}

/** Converts the outcome of a run to a stored row. */
export async function outcomeRow(
  run: ServiceRun,
  { status, finishedAt, summary, result, state }: Outcome,
  title: string = run.title,
): Promise<ShownOutcome> {
  const { stopReason = '', answeredBy: model, usage, iterations: turns, toolCalls: calls, tools, error } = summary
  const did = { turns, calls, tools, tokens: usage?.totalTokens, costUsd: usage?.costUsd, errorCode: error?.code, model }
  const told = { status, stopReason, finishedAt: Date.parse(finishedAt), waitedMs: run.waitedMs, result, state }
  return { ...told, ...did, title, words: run.wordsOf(summary), summary: await writeJson(summary) }
}

/** Reads the head of a run from a row. An ended run has no stored head, so it lacks the client's tools. */
export function headOfRow({ runId: id, head, caller, agent, kind, thread, request, tags, title, createdAt }: ShownRun): RunHead {
  if (head !== '') return JSON.parse(head)
  return {
    id,
    caller: { name: caller, roles: [] },
    agent,
    thread,
    request,
    tags,
    kind: kind as RunHead['kind'],
    clientTools: [],
    said: title,
    createdAt: new Date(createdAt).toISOString(),
  }
}

/** Returns a summary as JSON. The stored summary is inserted without parsing it. */
export function summaryJsonOf({
  runId,
  status,
  kind,
  agent,
  caller,
  thread,
  title,
  createdAt,
  finishedAt = 0,
  waitedMs,
  summary,
  firstEventId,
  lastEventId,
}: ListedRun): string {
  const time = (milliseconds: number) => new Date(milliseconds).toISOString()
  const beginning = {
    id: runId,
    object: 'run',
    status,
    kind,
    model: agent,
    owner: caller,
    session: thread,
    input: title,
    createdAt: time(createdAt),
    waitedMs,
  }
  const events = `"events":${JSON.stringify({ first: firstEventId, last: lastEventId })}}`
  if (status === 'running' || summary === undefined) return `${JSON.stringify({ ...beginning, pending: [] }).slice(0, -1)},${events}`
  const times = { finishedAt: time(finishedAt), workedMs: workedFor({ createdAt, finishedAt, waitedMs }) }
  return `${JSON.stringify({ ...beginning, ...times }).slice(0, -1)},${summary.slice(1, -1)},${events}`
}

/** Reads all stored events of a run, in as many queries as necessary. */
export async function allEvents(shown: Pick<ShownRuns, 'events'>, runId: string): Promise<ShownEvent[]> {
  const all: ShownEvent[] = []
  for (;;) {
    const more = await shown.events(runId, all.at(-1)?.id ?? 0)
    if (more.length === 0) return all
    for (const event of more) all.push(event)
  }
}
