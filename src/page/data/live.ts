import { signal } from '@preact/signals'
import type { RunEvent } from '../../core/runs/index.ts'
import type { Run, ServiceState, Totals } from '../types.ts'
import { ask, askIfChanged, type RequestOptions } from './api.ts'
import { LatestCalls } from './calls.ts'
import type { Item } from './pending-items.ts'
import { itemsOf } from './pending-items.ts'
import type { StreamEvent } from './sse.ts'
import { readEvents } from './sse.ts'

const mostCalls = 100
/** Maximum number of known runs. If there are more, the oldest are dropped, except for waiting runs. */
const mostRuns = 20_000
/** Maximum number of characters of a run's output to keep. */
const mostOfOutput = 500
/** Maximum number of runs on a page of a list, and of ids in one request (the service accepts at most 100 ids). */
export const pageOfRuns = 50
const pageOfWaiting = 100
/** Maximum number of waiting runs to show. Further runs are only counted. */
const mostWaiting = 1_000
/** How long changes are collected before listeners are called, in milliseconds. Changes often come in groups. */
const burstMs = 60
/** To keep the load low, the time between the starts of two requests is at least this many times the duration of the first. */
const shareOfAsking = 10
const shortestPauseMs = 50
/** Polling interval, in milliseconds. Polling finds changes by other processes, which send no events to this page. */
const lookMs = 10_000

export interface RunPage {
  data: Run[]
  next?: string
  /** The totals of all runs that the query selects. Present only if requested. */
  totals?: Totals
}

/** The state of the service, which its event stream keeps up to date. A component that reads from it re-renders after any change. */
export class Live {
  /** A counter that increases after any change. */
  #changes = signal(0)
  #connection: 'connecting' | 'open' | 'lost' | 'refused' = 'connecting'
  #state: ServiceState | undefined
  #calls = new LatestCalls(mostCalls)
  #newest: RunPage | undefined
  #isNewestCurrent = false
  /** The number of waiting runs that this object doesn't know, because there are too many. */
  #unseen = 0
  #epoch = 0
  #runs: Map<string, Run> = new Map()
  /** The pending decisions of the known runs. Undefined if the list must be computed again. */
  #pending: Item[] | undefined
  /** The runs whose end is known from an event. The list of runs may still show them as running. */
  #ended: Set<string> = new Set()
  /** The ids of runs whose state must be requested. */
  #changed: Set<string> = new Set()
  #wantsAll = false
  #listeners: Set<() => void> = new Set()
  #eventListeners: Set<(event: RunEvent) => void> = new Set()
  #runListeners: Set<(ids: string[]) => void> = new Set()
  #telling: number | undefined
  #refreshing: number | undefined
  #looking: number | undefined
  /** When the last request was sent, and how long its response took. */
  #askedAt = 0
  #answerMs = 0
  /** The last request. Requests are sent one after another, so that a response is never older than the known state. */
  #asking: Promise<void> = Promise.resolve()
  #stop: (() => void) | undefined
  #isOver = false

  /** Whether the user has signed out. */
  get isStopped(): boolean {
    return this.#isOver
  }

  /** Starts to follow the service. Resolves when the first state and the newest runs have arrived. Rejects with an `ApiError`. */
  async start() {
    await this.#load(true)
    if (this.#isOver) return
    this.#openFeed()
    this.#looking = setInterval(() => {
      if (!document.hidden && this.#connection === 'open') this.refresh()
    }, lookMs)
  }

  #openFeed() {
    this.#stop?.()
    this.#stop = readEvents('admin/api/feed', {
      onEvent: (event) => this.#take(event),
      onState: (state) => {
        const cameBack = state === 'open' && this.#connection === 'lost'
        if (state !== 'connecting' || this.#connection !== 'lost') this.#connection = state
        if (state === 'lost') this.#isNewestCurrent = false
        if (cameBack) this.refresh()
        this.#tell()
      },
    })
  }

  stop() {
    this.#isOver = true
    this.#stop?.()
    clearInterval(this.#looking)
    clearTimeout(this.#telling)
    clearTimeout(this.#refreshing)
    this.#listeners.clear()
    this.#eventListeners.clear()
    this.#runListeners.clear()
  }

  get connection() {
    this.#changes.value
    return this.#connection
  }

  get state() {
    this.#changes.value
    return this.#state
  }

  get calls() {
    this.#changes.value
    return this.#calls
  }

  /** The newest runs, from the latest response that listed them. */
  get newest() {
    this.#changes.value
    return this.#newest
  }

  /** Whether nothing has changed since `newest` was requested. */
  get isNewestCurrent() {
    this.#changes.value
    return this.#isNewestCurrent
  }

  /** A counter that increases when the service now runs in another process. */
  get epoch() {
    this.#changes.value
    return this.#epoch
  }

  run(id: string) {
    this.#changes.value
    return this.#runs.get(id)
  }

  /** Adds a run that was requested elsewhere. Keeps only the beginning of its output, because lists need no more. */
  learn({ output, ...run }: Run) {
    this.#keep([output === undefined ? run : { ...run, output: output.slice(0, mostOfOutput) }])
  }

  /** Requests a page of the stored runs that match a query. If a run changes during the request, its newer data is kept. */
  async askRuns(query: Record<string, string>, options?: RequestOptions): Promise<RunPage> {
    const newer = new Set<string>()
    const unsubscribe = this.onRuns((ids) => {
      for (const id of ids) newer.add(id)
    })
    try {
      const page: RunPage = await ask(`v1/runs?${new URLSearchParams({ output: 'short', ...query })}`, options)
      this.#keep(page.data.filter(({ id }) => !newer.has(id)))
      return page
    } finally {
      unsubscribe()
    }
  }

  /** The number of pending decisions. Each waiting run beyond the limit counts as one. */
  get waiting() {
    this.#changes.value
    return this.pending.length + this.#unseen
  }

  /** The pending decisions. The one that has waited longest comes first. */
  get pending() {
    this.#changes.value
    if (this.#pending === undefined) {
      const paused = [...this.#runs.values()].filter((run) => run.status === 'waiting')
      this.#pending = paused.sort((a, b) => ((a.finishedAt ?? '') < (b.finishedAt ?? '') ? -1 : 1)).flatMap(itemsOf)
    }
    return this.#pending
  }

  /** Adds a listener that is called after any change, and once immediately. Returns a function that removes it. */
  onChange(listener: () => void) {
    this.#listeners.add(listener)
    listener()
    return () => this.#listeners.delete(listener)
  }

  onEvent(listener: (event: RunEvent) => void) {
    this.#eventListeners.add(listener)
    return () => this.#eventListeners.delete(listener)
  }

  /** Adds a listener that is called with the ids of runs that are new, changed, or removed. */
  onRuns(listener: (ids: string[]) => void) {
    this.#runListeners.add(listener)
    return () => this.#runListeners.delete(listener)
  }

  /** Requests the complete state, and resolves when it has arrived. Rejects with an `ApiError`. */
  async update() {
    clearTimeout(this.#refreshing)
    this.#refreshing = undefined
    await this.#load(true)
    this.#tell()
  }

  /** Requests the state of a run, or of everything if `id` is missing. If the last request was recent, waits before requesting. */
  refresh(id?: string) {
    if (this.#isOver) return
    if (id === undefined) this.#wantsAll = true
    else this.#changed.add(id)
    this.#isNewestCurrent = false
    const pause = Math.max(shortestPauseMs, this.#answerMs * shareOfAsking)
    const wait = Math.max(20, this.#askedAt + pause - performance.now())
    this.#refreshing ??= setTimeout(async () => {
      this.#refreshing = undefined
      // If the request fails, the page shows the known state until the event stream reconnects, which happens automatically.
      await this.#load(this.#wantsAll).catch(() => {})
      this.#tell()
      if (this.#changed.size > 0) this.refresh([...this.#changed][0])
    }, wait)
  }

  #load(all: boolean) {
    const loaded = this.#asking.then(() => this.#ask(all))
    this.#asking = loaded.catch(() => {})
    return loaded
  }

  async #ask(all: boolean) {
    if (this.#isOver) return
    const started = performance.now()
    this.#askedAt = started
    if (all) {
      this.#wantsAll = false
      for (const { id, status } of this.#runs.values()) if (status === 'running') this.#changed.add(id)
    }
    const ids = [...this.#changed].slice(0, pageOfRuns)
    for (const id of ids) this.#changed.delete(id)
    const [state, latest, waiting, changed] = await Promise.all([
      all ? askIfChanged('admin/api/state?runs=none') : undefined,
      all ? askIfChanged(`v1/runs?output=short&limit=${pageOfRuns}&totals=true`) : undefined,
      all ? this.#askWaiting() : undefined,
      ids.length === 0 ? undefined : ask(`v1/runs?output=short&limit=${pageOfRuns}&id=${ids.map(encodeURIComponent).join()}`),
    ])
    this.#answerMs = performance.now() - started
    if (this.#isOver) return
    if (state !== undefined) this.#takeState(state)
    if (latest !== undefined) {
      this.#newest = latest
      this.#isNewestCurrent = this.#changed.size === 0 && !this.#wantsAll
    }
    const found = [...(latest?.data ?? []), ...(waiting ?? []), ...(changed?.data ?? [])]
    const names = new Set(found.map(({ id }) => id))
    const gone = ids.filter((id) => !names.has(id))
    for (const id of gone) this.#runs.delete(id)
    // The state of runs that are no longer waiting must be requested.
    if (waiting !== undefined && waiting.length < mostWaiting)
      for (const { id, status } of this.#runs.values()) if (status === 'waiting' && !names.has(id)) this.#changed.add(id)
    this.#pending = undefined
    this.#keep(found)
    if (state !== undefined && waiting !== undefined) this.#unseen = waiting.length < mostWaiting ? 0 : state.waiting - waiting.length
    for (const listener of this.#runListeners) listener([...names, ...gone])
  }

  /** Requests all waiting runs, up to the number that can be shown. */
  async #askWaiting(): Promise<Run[]> {
    const path = `v1/runs?output=short&status=waiting&limit=${pageOfWaiting}`
    let page: RunPage = await askIfChanged(path)
    const runs = [...page.data]
    while (page.next !== undefined && runs.length < mostWaiting) {
      page = await ask(`${path}&cursor=${encodeURIComponent(page.next)}`)
      runs.push(...page.data)
    }
    return runs
  }

  #takeState(state: ServiceState) {
    // Another process has replaced the service. That process numbers its events from the start, and does not know earlier events.
    const isAnother = this.#state !== undefined && this.#state.startedAt !== state.startedAt
    this.#state = state
    if (!isAnother) return
    this.#epoch++
    this.#runs = new Map()
    this.#ended = new Set()
    this.#calls = new LatestCalls(mostCalls)
    this.#openFeed()
  }

  #keep(runs: Run[]) {
    this.#pending = undefined
    for (const run of runs) {
      const before = this.#runs.get(run.id)
      if (run.status === 'running' && this.#ended.has(run.id)) {
        this.refresh(run.id)
        this.#runs.set(run.id, before === undefined ? run : { ...run, status: before.status, stopReason: before.stopReason })
      } else {
        this.#ended.delete(run.id)
        // If the run has not changed, its object is kept, so that lists don't re-render its row.
        if (before === undefined || JSON.stringify(before) !== JSON.stringify(run)) this.#runs.set(run.id, run)
      }
    }
    if (this.#runs.size <= mostRuns) return
    for (const { id, status } of [...this.#runs.values()].slice(0, mostRuns / 2)) if (status !== 'waiting') this.#runs.delete(id)
  }

  #take({ type, data }: StreamEvent) {
    if (type === 'CLOSE' || type === 'DROPPED') return
    if (type === 'GAP') return this.refresh()
    for (const listener of this.#eventListeners) listener(data)
    this.#calls.take(data)
    if (type === 'TEXT_DELTA' || type === 'REASONING_DELTA' || type === 'TOOL_INPUT_DELTA') return
    const { runId, parentRunId, time } = data.meta
    const run = this.#runs.get(runId)
    // The event stream starts with past events. They don't change the state of a run that has ended or paused since.
    const isOld = run?.finishedAt !== undefined && run.status !== 'running' && time <= Date.parse(run.finishedAt)
    if (parentRunId === undefined && !isOld) {
      if (type === 'RUN_END') {
        this.#ended.add(runId)
        this.refresh(runId)
        if (run?.status === 'running') {
          const status = data.stopReason === 'paused' && run.kind === 'run' ? 'waiting' : 'ended'
          this.#runs.set(runId, { ...run, status, stopReason: data.stopReason })
          this.#pending = undefined
        }
      } else {
        this.#ended.delete(runId)
        if (run?.status !== 'running') this.refresh(runId)
      }
    }
    this.#tell()
  }

  #tell() {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined
      this.#changes.value++
      for (const listener of this.#listeners) listener()
    }, burstMs)
  }
}
