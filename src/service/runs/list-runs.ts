import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { Pauses } from '../../tools/yield-to-event-loop.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RecordedRuns } from './recorded/recorded-runs.ts'
import type { RunStatus, ServiceRun } from './service-run.ts'

/** Characters of all runs in one answer. */
const mostListed = 8_000_000

export interface ListQuery {
  status?: RunStatus | undefined
  /** The agent's name. */
  model?: string | undefined
  limit: number
  /** The `next` of the page before. */
  cursor?: string | undefined
}

export interface RunList {
  /** Summaries as JSON. */
  data: string[]
  /** Where the next page begins; absent on the last. */
  next?: string
}

interface Listed {
  createdAt: number
  json(): string
  /** Where the list goes on behind it: in the journal, and in memory. */
  inJournal?: string
  inMemory?: number
}

/** Runs, the newest first, with as many as there is room for in one answer. Rejects with an `HttpProblem` 400 for a cursor that is none. */
export async function listRuns(
  { status, model, limit, cursor = '.' }: ListQuery,
  from: { caller: string | undefined; inMemory: readonly ServiceRun[]; recorded: RecordedRuns | undefined },
): Promise<RunList> {
  if (!/^\d*\.\d*$/.test(cursor))
    throw new HttpProblem(400, 'invalid_request', 'Expected the `next` of an earlier page', { param: 'cursor' })
  let [inJournal = '', inMemory = ''] = cursor.split('.')
  const { caller, recorded } = from
  const query = { caller, status, agent: model, limit, cursor: inJournal === '' ? undefined : inJournal }
  const page = await recorded?.list(query)
  const kept = from.inMemory
    .filter(({ head, number }) => (caller ?? head.caller.name) === head.caller.name && (inMemory === '' || number < Number(inMemory)))
    .filter((run) => (status ?? run.status) === run.status && (model ?? run.head.agent) === run.head.agent)
    .sort((a, b) => b.number - a.number)
  const all: Listed[] = [
    ...(page?.runs ?? []).map(({ createdAt, json, cursor: at }) => ({ createdAt, json: () => json, inJournal: at })),
    ...kept.slice(0, limit).map((run) => ({ createdAt: Date.parse(run.createdAt), json: () => run.summaryJson, inMemory: run.number })),
  ].sort((a, b) => b.createdAt - a.createdAt)
  const pauses = new Pauses()
  const data: string[] = []
  let characters = 0
  for (const run of all.slice(0, limit)) {
    await pauses.take()
    const json = run.json()
    characters += json.length
    if (characters > mostListed && data.length > 0) break
    data.push(json)
    inJournal = run.inJournal ?? inJournal
    inMemory = run.inMemory === undefined ? inMemory : String(run.inMemory)
  }
  const isLast = data.length === all.length && kept.length <= limit && page?.hasMore !== true
  return { data, ...(isLast ? {} : { next: `${inJournal}.${inMemory}` }) }
}

/** What runs wait for, by their summaries. */
export async function pendingOf(summaries: readonly string[]): Promise<string[]> {
  const pauses = new Pauses()
  const items: string[] = []
  for (const summary of summaries) {
    await pauses.take()
    const { id, pending }: JsonObject = JSON.parse(summary)
    await pauses.take()
    if (Array.isArray(pending)) items.push(...pending.filter(isJsonObject).map((item) => JSON.stringify({ runId: id, ...item })))
  }
  return items
}
