import type { RunProcess } from '../../../agent/journal/journal.ts'
import type { ShownQuery, ShownSession, ShownSums } from '../../../agent/journal/shown-runs.ts'
import { tagsOf } from '../../../agent/journal/store.ts'
import { isJsonObject, type JsonObject } from '../../../core/messages.ts'
import type { Caller } from '../../http/auth.ts'
import { HttpProblem } from '../../http/problem.ts'
import { hasTags } from '../../tenants/tenant.ts'
import type { ListedPage, ListedQuery, RecordedRuns } from '../recorded/recorded-runs.ts'
import type { ServiceRun } from '../service-run.ts'
import { wordsOf } from '../stored-run.ts'

/** Maximum total size of the runs in one response, in characters. */
const mostListed = 8_000_000

export interface ListQuery
  extends Pick<ShownQuery, 'status' | 'stopReasons' | 'errorCode' | 'tool' | 'tags' | 'words'>,
    Pick<ShownQuery, 'endedAfter' | 'endedBefore' | 'minCostUsd' | 'minWorkedMs' | 'order' | 'limit' | 'offset'> {
  ids?: readonly string[] | undefined
  /** The name of the agent, or the model that was called last, as `provider/model` or `model`. */
  model?: string | undefined
  /** The chat or thread of the runs. */
  session?: string | undefined
  /** Selects only running runs: those whose process is alive (`'alive'`), or those whose process is gone (`'gone'`). */
  process?: RunProcess | undefined
  /** Selects only runs of this owner. Only an admin can select the runs of another caller. */
  owner?: string | undefined
  /** Selects runs created at or after `after` and before `before`, both in milliseconds since 1970. */
  after?: number | undefined
  before?: number | undefined
  /** Whether to shorten the outputs. */
  isShort?: boolean
  /** Whether to return totals over all matching runs. */
  hasTotals?: boolean
  /** The value of `next` from the previous page. */
  cursor?: string | undefined
}

export interface RunList {
  /** The summary of each run, as JSON. */
  data: string[]
  /** The cursor of the next page. Absent on the last page. */
  next?: string
  /** The totals of all matching runs. Present only if requested. */
  totals?: ShownSums
}

interface ListSources {
  caller: Caller
  /** The runs of this process that are not stored yet. */
  unstored: readonly ServiceRun[]
  stored: RecordedRuns
  /** Returns the name of a configured model as `provider/model`. */
  modelNamed(name: string): string | undefined
}

interface Listed {
  createdAt: number
  json(): string
  /** The cursor of a page that starts after this run. A run is either stored (`inJournal`) or not stored yet (`inMemory`). */
  inJournal?: string
  inMemory?: number
}

const nothing: ShownSums = { runs: 0, running: 0, waiting: 0, tokens: 0, costUsd: 0, workedMs: 0, waitedMs: 0 }

/**
 * Lists the runs that a caller may see, in the order of the query. Default order: newest first. A page contains as many runs as fit in one
 * response. Rejects with an `HttpProblem` 400 for an invalid cursor.
 */
export async function listRuns(asked: ListQuery, from: ListSources): Promise<RunList> {
  const wanted = storedQuery(asked, from)
  if (wanted === undefined) return { data: [], ...(asked.hasTotals ? { totals: nothing } : {}) }
  const kept = from.unstored.filter((run) => isAskedFor(run, wanted, asked)).sort((a, b) => b.number - a.number)
  const skipped = /^~(\d{1,7})$/.exec(asked.cursor ?? '')?.[1]
  const isByPlace = asked.order !== undefined || asked.offset !== undefined || skipped !== undefined
  if (isByPlace && asked.cursor !== undefined && skipped === undefined) throw invalidCursor()
  const page = isByPlace
    ? await listByPlace({ ...wanted, offset: Number(skipped ?? asked.offset ?? 0) }, kept, asked, from)
    : await listNewest(wanted, kept, asked, from)
  if (asked.hasTotals !== true) return page
  const totals = await from.stored.sum(wanted)
  return { ...page, totals: { ...totals, runs: totals.runs + kept.length, running: totals.running + kept.length } }
}

/** Lists the sessions to which the selected runs belong. */
export async function listSessions(asked: ListQuery, from: ListSources): Promise<ShownSession[]> {
  const wanted = storedQuery(asked, from)
  return wanted === undefined ? [] : from.stored.sessions({ ...wanted, offset: asked.offset })
}

/**
 * Returns the query for the store. Returns undefined if the caller can't see any of the requested runs, because they belong to another
 * owner.
 */
function storedQuery(asked: ListQuery, { caller: { name, roles, tenant }, modelNamed }: ListSources): ListedQuery | undefined {
  const { limit, order, status, stopReasons, errorCode, tool, words, minCostUsd, minWorkedMs, endedAfter, endedBefore, process } = asked
  const { owner, model } = asked
  const caller = roles.includes('admin') ? owner : name
  if (owner !== undefined && owner !== caller) return undefined
  const configured = model && modelNamed(model)
  return {
    ...{ limit, order, status, stopReasons, errorCode, tool, words, minCostUsd, minWorkedMs, endedAfter, endedBefore, process, caller },
    tags: [...(asked.tags ?? []), ...tagsOf(tenant)],
    runIds: asked.ids,
    models: model === undefined ? undefined : [model, ...(configured === undefined || configured === model ? [] : [configured])],
    thread: asked.session,
    createdAfter: asked.after,
    createdBefore: asked.before,
  }
}

/** Lists runs newest first. The cursor stays correct while runs are added. */
async function listNewest(
  wanted: ListedQuery,
  unstored: readonly ServiceRun[],
  asked: ListQuery,
  { stored }: ListSources,
): Promise<RunList> {
  const { cursor = '.', limit } = asked
  if (!/^\d{0,15}\.\d{0,15}$/.test(cursor)) throw invalidCursor()
  let [inJournal = '', inMemory = ''] = cursor.split('.')
  const page = await stored.list({ ...wanted, cursor: inJournal === '' ? undefined : inJournal })
  const kept = unstored.filter(({ number, id }) => (inMemory === '' || number < Number(inMemory)) && !isIn(page, id))
  const all = merged(
    page.runs.map(({ createdAt, json, cursor: at }) => ({ createdAt, json: () => json, inJournal: at })),
    kept.slice(0, limit).map((run) => ({ createdAt: Date.parse(run.head.createdAt), json: () => run.summaryJson, inMemory: run.number })),
  )
  const shown = fitting(all.slice(0, limit), asked)
  for (const { run } of shown) {
    inJournal = run.inJournal ?? inJournal
    inMemory = run.inMemory === undefined ? inMemory : String(run.inMemory)
  }
  const isLast = shown.length === all.length && kept.length <= limit && !page.hasMore
  const data = shown.sort((a, b) => b.run.createdAt - a.run.createdAt).map(({ text }) => text)
  return { data, ...(isLast ? {} : { next: `${inJournal}.${inMemory}` }) }
}

/**
 * Lists runs starting at an offset. If the order is newest first, runs that are not stored yet come first. In every other order, they come
 * last, because their final duration and cost are not known yet.
 */
async function listByPlace(
  { offset = 0, ...wanted }: ListedQuery,
  kept: readonly ServiceRun[],
  asked: ListQuery,
  { stored }: ListSources,
): Promise<RunList> {
  const { limit, order } = asked
  const isNewestFirst = order === undefined || (order.by === 'started' && order.isDescending)
  const first = isNewestFirst ? kept.slice(offset, offset + limit) : []
  const begin = isNewestFirst ? Math.max(0, offset - kept.length) : offset
  const page = await stored.list({ ...wanted, offset: begin, limit: Math.max(1, limit - first.length) })
  const runs = page.runs.slice(0, limit - first.length)
  const before = runs.length > 0 || begin === 0 ? begin : (await stored.sum(wanted)).runs
  const last = isNewestFirst || page.hasMore ? [] : kept.slice(Math.max(0, offset - before - runs.length))
  const listed = (run: ServiceRun) => ({ createdAt: Date.parse(run.head.createdAt), json: () => run.summaryJson })
  const all = [
    ...first.filter(({ id }) => !isIn(page, id)).map(listed),
    ...runs.map(({ createdAt, json }) => ({ createdAt, json: () => json })),
    ...last.filter(({ id }) => !isIn(page, id)).map(listed),
  ]
  const shown = fitting(all.slice(0, limit), asked)
  const hasMore = shown.length < all.length || page.hasMore || runs.length < page.runs.length
  return { data: shown.map(({ text }) => text), ...(hasMore ? { next: `~${offset + shown.length}` } : {}) }
}

function invalidCursor(): HttpProblem {
  return new HttpProblem(400, 'invalid_request', 'Expected the `next` of an earlier page', { param: 'cursor' })
}

/** Whether a run has meanwhile been stored. */
function isIn({ runs }: ListedPage, id: string): boolean {
  return runs.some(({ runId }) => runId === id)
}

/** Returns the runs that fit in one response, with their texts. Returns at least one run. */
function fitting(runs: readonly Listed[], { isShort }: ListQuery): { run: Listed; text: string }[] {
  const shown: { run: Listed; text: string }[] = []
  let characters = 0
  for (const run of runs) {
    const text = isShort ? shortened(run.json()) : run.json()
    characters += text.length
    if (characters > mostListed && shown.length > 0) break
    shown.push({ run, text })
  }
  return shown
}

/**
 * Merges two lists. The order within each list is kept, because the cursor relies on it. Sorting by time could change it, because chats are
 * stored when they end, and clocks may be set back.
 */
function merged(stored: readonly Listed[], unstored: readonly Listed[]): Listed[] {
  const all: Listed[] = []
  const left = [...unstored]
  for (const one of stored) {
    const newer = left.findIndex(({ createdAt }) => createdAt <= one.createdAt)
    all.push(...left.splice(0, newer < 0 ? left.length : newer), one)
  }
  return [...all, ...left]
}

/** Maximum length of a shortened output, in characters. */
const mostOfOutput = 500

/** Returns a summary in which the output is shortened. */
function shortened(json: string): string {
  if (json.length <= mostOfOutput) return json
  const summary: JsonObject = JSON.parse(json)
  if (typeof summary.output === 'string') summary.output = summary.output.slice(0, mostOfOutput)
  return JSON.stringify(summary)
}

/** Whether a run that is not stored yet matches the query. It must give the same answer as the store's SQL query. */
function isAskedFor(run: ServiceRun, wanted: ListedQuery, asked: ListQuery): boolean {
  const { head, status, outcome } = run
  const { summary } = outcome ?? {}
  const isSame = <T>(value: T | undefined, is: T) => value === undefined || value === is
  const isOne = <T>(values: readonly T[] | undefined, is: T) => values === undefined || values.includes(is)
  if (
    !isSame(wanted.caller, head.caller.name) ||
    !isSame(wanted.thread, head.thread) ||
    !isSame(wanted.status, status) ||
    !isSame(wanted.errorCode, summary?.error?.code) ||
    !isOne(wanted.runIds, run.id)
  )
    return false
  const names = [head.agent, summary?.answeredBy, summary?.answeredBy?.replace(/^[^/]*\//, '')]
  if (wanted.models?.some((name) => names.includes(name)) === false) return false
  if (wanted.stopReasons?.includes(summary?.stopReason ?? '') === false) return false
  if (wanted.tool !== undefined && summary?.tools?.includes(wanted.tool) !== true) return false
  if (asked.process === 'gone' || (asked.process === 'alive' && status !== 'running')) return false
  if (!hasTags(head, wanted.tags ?? [])) return false
  if ((summary?.usage?.costUsd ?? -1) < (wanted.minCostUsd ?? -1)) return false
  // An unstored run counts as running, so it has no end.
  if (wanted.minWorkedMs !== undefined || wanted.endedAfter !== undefined || wanted.endedBefore !== undefined) return false
  const createdAt = Date.parse(run.head.createdAt)
  if (createdAt < (wanted.createdAfter ?? createdAt) || createdAt >= (wanted.createdBefore ?? Number.POSITIVE_INFINITY)) return false
  if (asked.words === undefined || asked.words.length === 0) return true
  const text = `${run.title.toLowerCase()}\n${wordsOf(run.id, head, summary)}`
  return asked.words.every((word) => text.includes(word))
}

export function pendingOf(summaries: readonly string[]): string[] {
  const items: string[] = []
  for (const summary of summaries) {
    const { id, pending }: JsonObject = JSON.parse(summary)
    if (Array.isArray(pending)) items.push(...pending.filter(isJsonObject).map((item) => JSON.stringify({ runId: id, ...item })))
  }
  return items
}
