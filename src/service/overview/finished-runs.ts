import type { RunResult } from '../../agent/types/options.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import type { ListQuery, RunList } from '../runs/listed/list-runs.ts'
import type { ServiceRun } from '../runs/service-run.ts'
import { workedFor } from '../runs/stored-run.ts'

/** The properties of an ended run from which the overview is calculated. */
export interface FinishedRun {
  /** The time at which the run ended, in milliseconds since 1970. */
  finishedAt: number
  /** The time from the start of the run to its end, without waits for decisions, in milliseconds. */
  workedMs: number
  /** The model that answered, as `provider/model`. If no model answered, the requested model. */
  model: string
  owner: string
  stopReason: string
  errorCode: string | undefined
  inputTokens: number
  outputTokens: number
  costUsd: number
  tools: readonly string[]
}

const dayMs = 86_400_000
/** Maximum number of runs. If there are more, the oldest are dropped. */
const mostRuns = 20_000
const forgottenAtOnce = 1_000
const pageOfRuns = 200
/** Maximum number of unfinished runs that are checked again at each read. */
const mostOpen = 1_000
const pageOfOpen = 100
/** Minimum time between two reads of the store, in milliseconds. */
const restMs = 2_000
const mostTools = 50

/**
 * The runs that ended within the last 24 hours, including deleted runs. Runs of this process are added when they end. Runs of earlier
 * processes and of other processes are read from the store, once for each run.
 */
export class FinishedRuns {
  readonly #list: (query: ListQuery) => Promise<RunList>
  readonly #runs = new Map<string, FinishedRun>()
  #open = new Set<string>()
  #known = false
  /** The time since which no run was dropped, in milliseconds since 1970. */
  #wholeSince = 0
  #reading: Promise<void> | undefined
  #readAt = Number.NEGATIVE_INFINITY

  /** `list` returns runs, newest first. */
  constructor(list: (query: ListQuery) => Promise<RunList>) {
    this.#list = list
  }

  /** Adds an ended run of this process. Ignores a run that waits for a decision. */
  ended(run: ServiceRun, { stopReason, error, usage, toolCalls, steps }: RunResult): void {
    const { id, kind, agent, caller, createdAt } = run.head
    if (stopReason === 'paused' && kind === 'run') return
    const finishedAt = Date.now()
    const last = steps.at(-1)
    this.#add(id, {
      finishedAt,
      workedMs: workedFor({ createdAt: Date.parse(createdAt), finishedAt, waitedMs: run.waitedMs }),
      model: last === undefined ? agent : `${last.provider}/${last.model}`,
      owner: caller.name,
      stopReason,
      errorCode: error?.code,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      costUsd: usage.costUsd ?? 0,
      tools: [...new Set(toolCalls.map(({ tool }) => tool))].slice(0, mostTools).map((tool) => run.redactor.redactText(tool)),
    })
  }

  /**
   * Returns the runs that ended after the time `after`. If older runs were dropped, `since` in the result is later than `after`. Rejects
   * with an `HttpProblem` if the store can't be read.
   */
  async since(after: number): Promise<{ runs: FinishedRun[]; since: number }> {
    if (performance.now() - this.#readAt >= restMs) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined
        this.#readAt = performance.now()
      })
    }
    await this.#reading
    return { runs: [...this.#runs.values()].filter(({ finishedAt }) => finishedAt >= after), since: Math.max(after, this.#wholeSince) }
  }

  async #read(): Promise<void> {
    const after = Date.now() - dayMs
    await this.#readOpen()
    let cursor: string | undefined
    for (let read = 0; ; read += pageOfRuns) {
      const page = await this.#list({ limit: pageOfRuns, after, cursor, isShort: true })
      const { news, oldest } = await this.#take(page.data)
      cursor = page.next
      // If a page has no new runs, the older pages have none either.
      if (cursor === undefined || (this.#known && news === 0)) break
      if (read < mostRuns) continue
      this.#wholeSince = Math.max(this.#wholeSince, oldest)
      break
    }
    this.#known = true
    for (const [id, { finishedAt }] of this.#runs) if (finishedAt < after) this.#runs.delete(id)
  }

  async #readOpen(): Promise<void> {
    const ids = [...this.#open]
    this.#open = new Set()
    for (let at = 0; at < ids.length; at += pageOfOpen) {
      const { data } = await this.#list({ limit: pageOfOpen, ids: ids.slice(at, at + pageOfOpen), isShort: true })
      await this.#take(data)
    }
  }

  /** Adds runs. Returns the number of runs that were unknown, and the start time of the oldest run. */
  async #take(summaries: readonly string[]): Promise<{ news: number; oldest: number }> {
    let [news, oldest] = [0, Date.now()]
    for (const json of summaries) {
      const summary: JsonObject = JSON.parse(json)
      const id = String(summary.id)
      oldest = Math.min(oldest, Date.parse(String(summary.createdAt)))
      if (this.#runs.has(id)) continue
      if (!this.#open.has(id)) news++
      if (summary.status === 'ended') this.#add(id, readSummary(summary))
      else if (this.#open.size < mostOpen) this.#open.add(id)
    }
    return { news, oldest }
  }

  #add(id: string, run: FinishedRun): void {
    this.#open.delete(id)
    this.#runs.set(id, run)
    if (this.#runs.size <= mostRuns) return
    const oldest = [...this.#runs].sort(([, a], [, b]) => a.finishedAt - b.finishedAt).slice(0, forgottenAtOnce)
    for (const [other, { finishedAt }] of oldest) {
      this.#runs.delete(other)
      this.#wholeSince = Math.max(this.#wholeSince, finishedAt)
    }
  }
}

function readSummary(summary: JsonObject): FinishedRun {
  const { createdAt, finishedAt, workedMs, model, answeredBy, owner, stopReason, error, usage, tools } = summary
  const { inputTokens, outputTokens, costUsd } = isJsonObject(usage) ? usage : {}
  return {
    finishedAt: Date.parse(String(finishedAt ?? createdAt)),
    workedMs: Number(workedMs ?? 0),
    model: String(answeredBy ?? model),
    owner: String(owner),
    stopReason: String(stopReason ?? 'aborted'),
    errorCode: isJsonObject(error) ? String(error.code) : undefined,
    inputTokens: Number(inputTokens ?? 0),
    outputTokens: Number(outputTokens ?? 0),
    costUsd: Number(costUsd ?? 0),
    tools: Array.isArray(tools) ? tools.map(String) : [],
  }
}
