import type { RunProcess } from '../../../agent/journal/journal.ts'
import { tagsOf } from '../../../agent/journal/store.ts'
import { isJsonObject, type JsonObject } from '../../../core/messages.ts'
import type { RunStatus } from '../../../core/runs/run-states.ts'
import type { Caller } from '../../http/auth.ts'
import { HttpProblem } from '../../http/problem.ts'
import { hasTags } from '../../tenants/tenant.ts'
import type { RecordedRuns } from '../recorded/recorded-runs.ts'
import type { ServiceRun } from '../service-run.ts'
import { wordsOf } from '../stored-run.ts'

/** The total size of the runs in one response, in characters. */
const mostListed = 8_000_000

export interface ListQuery {
  status?: RunStatus | undefined
  stopReason?: string | undefined
  ids?: readonly string[] | undefined
  /** The agent's name, or `provider/model` of the model that was called last. */
  model?: string | undefined
  /** The chat or thread of the runs. */
  session?: string | undefined
  /** Only running runs, by whether their process is alive. */
  process?: RunProcess | undefined
  /** The caller who owns the runs, for an admin. */
  owner?: string | undefined
  /** Tags that a run must have, made by `tagsOf`. */
  tags?: readonly string[] | undefined
  /** Words in lower case; a run must match all of them. */
  words?: readonly string[] | undefined
  /** Created at this time or later, and before that one, in milliseconds since 1970. */
  after?: number | undefined
  before?: number | undefined
  minCostUsd?: number | undefined
  /** Whether outputs are shortened. */
  isShort?: boolean
  limit: number
  /** The `next` of the page before. */
  cursor?: string | undefined
}

export interface RunList {
  /** Summaries as JSON. */
  data: string[]
  /** The cursor of the next page; absent on the last. */
  next?: string
}

interface Listed {
  createdAt: number
  json(): string
  /** Where the list continues after it: in the store, and among runs that are not stored yet. */
  inJournal?: string
  inMemory?: number
}

/** Lists the runs a caller may see, newest first, as many as fit in one response. Rejects with an `HttpProblem` 400 for an invalid cursor. */
export async function listRuns(
  { cursor = '.', ...asked }: ListQuery,
  from: { caller: Caller; unstored: readonly ServiceRun[]; stored: RecordedRuns },
): Promise<RunList> {
  if (!/^\d{0,15}\.\d{0,15}$/.test(cursor))
    throw new HttpProblem(400, 'invalid_request', 'Expected the `next` of an earlier page', { param: 'cursor' })
  let [inJournal = '', inMemory = ''] = cursor.split('.')
  const { name, roles, tenant } = from.caller
  const { limit, status, stopReason, words, minCostUsd, owner } = asked
  const tags = [...(asked.tags ?? []), ...tagsOf(tenant)]
  // A caller who sees only their own runs finds none of another owner.
  const caller = roles.includes('admin') ? owner : name
  if (owner !== undefined && owner !== caller) return { data: [] }
  const page = await from.stored.list({
    caller,
    tags,
    status,
    stopReason,
    words,
    minCostUsd,
    limit,
    runIds: asked.ids,
    model: asked.model,
    thread: asked.session,
    process: asked.process,
    createdAfter: asked.after,
    createdBefore: asked.before,
    cursor: inJournal === '' ? undefined : inJournal,
  })
  const kept: ServiceRun[] = []
  const wanted = { ...asked, tags }
  for (const run of from.unstored) {
    // It may have been stored meanwhile.
    if (page.runs.some(({ runId }) => runId === run.id)) continue
    if ((inMemory === '' || run.number < Number(inMemory)) && isAskedFor(run, caller, wanted)) kept.push(run)
  }
  kept.sort((a, b) => b.number - a.number)
  const all = merged(
    page.runs.map(({ createdAt, json, cursor: at }) => ({ createdAt, json: () => json, inJournal: at })),
    kept.slice(0, limit).map((run) => ({ createdAt: Date.parse(run.createdAt), json: () => run.summaryJson, inMemory: run.number })),
  )
  const shown: { createdAt: number; text: string }[] = []
  let characters = 0
  for (const run of all.slice(0, limit)) {
    const text = asked.isShort ? shortened(run.json()) : run.json()
    characters += text.length
    if (characters > mostListed && shown.length > 0) break
    shown.push({ createdAt: run.createdAt, text })
    inJournal = run.inJournal ?? inJournal
    inMemory = run.inMemory === undefined ? inMemory : String(run.inMemory)
  }
  const isLast = shown.length === all.length && kept.length <= limit && !page.hasMore
  const data = shown.sort((a, b) => b.createdAt - a.createdAt).map(({ text }) => text)
  return { data, ...(isLast ? {} : { next: `${inJournal}.${inMemory}` }) }
}

/**
 * Both lists in one. Each keeps its own order, which the cursor relies on: a chat is stored when it has ended, behind runs that began later, and a clock
 * may be set back.
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

/** The length of a shortened output, in characters. */
const mostOfOutput = 500

/** Returns a summary with a shortened output. */
function shortened(json: string): string {
  if (json.length <= mostOfOutput) return json
  const summary: JsonObject = JSON.parse(json)
  if (typeof summary.output === 'string') summary.output = summary.output.slice(0, mostOfOutput)
  return JSON.stringify(summary)
}

function isAskedFor(run: ServiceRun, caller: string | undefined, asked: Omit<ListQuery, 'cursor'>): boolean {
  const { head, status, outcome } = run
  const { summary } = outcome ?? {}
  const isSame = <T>(wanted: T | undefined, is: T) => wanted === undefined || wanted === is
  if (
    !isSame(caller, head.caller.name) ||
    ![undefined, head.agent, summary?.answeredBy].includes(asked.model) ||
    !isSame(asked.session, head.thread) ||
    !isSame(asked.status, status)
  )
    return false
  if (asked.process === 'gone' || (asked.process === 'alive' && status !== 'running')) return false
  if (!hasTags(head, asked.tags ?? [])) return false
  if (!isSame(asked.stopReason, summary?.stopReason) || asked.ids?.includes(run.id) === false) return false
  if ((summary?.usage?.costUsd ?? -1) < (asked.minCostUsd ?? -1)) return false
  const createdAt = Date.parse(run.createdAt)
  if (createdAt < (asked.after ?? createdAt) || createdAt >= (asked.before ?? Number.POSITIVE_INFINITY)) return false
  if (asked.words === undefined || asked.words.length === 0) return true
  const text = `${run.title.toLowerCase()}\n${wordsOf(run.id, head, summary)}`
  return asked.words.every((word) => text.includes(word))
}

/** Returns the pending items of runs, from their summaries. */
export function pendingOf(summaries: readonly string[]): string[] {
  const items: string[] = []
  for (const summary of summaries) {
    const { id, pending }: JsonObject = JSON.parse(summary)
    if (Array.isArray(pending)) items.push(...pending.filter(isJsonObject).map((item) => JSON.stringify({ runId: id, ...item })))
  }
  return items
}
