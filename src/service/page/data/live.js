import { ask } from './api.js'
import { Calls } from './calls.js'
import { itemsOf } from './pending-items.js'
import { readEvents } from './sse.js'

/** @typedef {import('../types.js').Run} Run */
/** @typedef {import('../types.js').ServiceState} ServiceState */

const mostCalls = 100
const mostRuns = 200
/** Changes come in bursts: whoever listens is told once for all of one. */
const burstMs = 60
/** What events don't tell (a run's input, its owner) is asked for, but asking takes no more than a tenth of the time. */
const shareOfAsking = 10
const shortestPauseMs = 50

/** What goes on in the service, kept up to date by its feed. */
export class Live {
  /** @type {'connecting' | 'open' | 'lost' | 'refused'} */
  connection = 'connecting'
  /** @type {ServiceState | undefined} */
  state
  calls = new Calls(mostCalls)
  /** @type {Map<string, Run>} */
  #runs = new Map()
  /** Runs whose end the feed has told, before the list of runs knew. @type {Set<string>} */
  #ended = new Set()
  /** @type {Set<() => void>} */
  #listeners = new Set()
  /** @type {Set<(event: any) => void>} */
  #eventListeners = new Set()
  /** @type {number | undefined} */
  #telling
  /** @type {number | undefined} */
  #refreshing
  /** When it was asked last, and how long the answer took. */
  #askedAt = 0
  #answerMs = 0
  /** States come in the order they are answered in, which may be another than that they were asked for in. */
  #asked = 0
  #known = 0
  /** @type {(() => void) | undefined} */
  #stop
  #isOver = false

  /** Resolves with the first state. Throws an `ApiError`. */
  async start() {
    await this.#load()
    this.#openFeed()
  }

  #openFeed() {
    this.#stop?.()
    this.#stop = readEvents('admin/api/feed', {
      onEvent: (event) => this.#take(event),
      onState: (state) => {
        const cameBack = state === 'open' && this.connection === 'lost'
        if (state !== 'connecting' || this.connection !== 'lost') this.connection = state
        if (cameBack) this.refresh()
        this.#tell()
      },
    })
  }

  stop() {
    this.#isOver = true
    this.#stop?.()
    clearTimeout(this.#telling)
    clearTimeout(this.#refreshing)
    this.#listeners.clear()
    this.#eventListeners.clear()
  }

  /** The newest first. */
  get runs() {
    return [...this.#runs.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, mostRuns)
  }

  /** @param {string} id */
  run(id) {
    return this.#runs.get(id)
  }

  get pending() {
    return this.runs.flatMap(itemsOf)
  }

  /**
   * Called when anything has changed, and once at the beginning. Returns the function that unsubscribes.
   * @param {() => void} listener
   */
  onChange(listener) {
    this.#listeners.add(listener)
    listener()
    return () => this.#listeners.delete(listener)
  }

  /**
   * Called with every event as it comes.
   * @param {(event: any) => void} listener
   */
  onEvent(listener) {
    this.#eventListeners.add(listener)
    return () => this.#eventListeners.delete(listener)
  }

  /** Asks how everything stands; resolves when that is known. Throws an `ApiError`. */
  async update() {
    clearTimeout(this.#refreshing)
    await this.#load()
    this.#tell()
  }

  /** Asks how everything stands: at once, or soon where that was only just asked. */
  refresh() {
    if (this.#isOver) return
    const pause = Math.max(shortestPauseMs, this.#answerMs * shareOfAsking)
    const wait = Math.max(20, this.#askedAt + pause - performance.now())
    this.#refreshing ??= setTimeout(async () => {
      // The feed comes back by itself; until then what is known is shown.
      await this.update().catch(() => {})
    }, wait)
  }

  async #load() {
    this.#refreshing = undefined
    const started = performance.now()
    this.#askedAt = started
    const asked = ++this.#asked
    /** @type {ServiceState} */
    const state = await ask('admin/api/state')
    this.#answerMs = performance.now() - started
    if (this.#isOver || asked < this.#known) return
    this.#known = asked
    // Another process has taken the place: it numbers its events anew, and knows nothing of what was.
    const isAnother = this.state !== undefined && this.state.startedAt !== state.startedAt
    this.state = state
    if (isAnother) {
      this.calls = new Calls(mostCalls)
      this.#openFeed()
    }
    const known = this.#runs
    const ended = this.#ended
    this.#runs = new Map()
    this.#ended = new Set()
    for (const run of state.runs) {
      const before = known.get(run.id)
      const isBehind = run.status === 'running' && ended.has(run.id)
      if (isBehind) {
        this.#ended.add(run.id)
        this.refresh()
      }
      this.#runs.set(run.id, isBehind && before !== undefined ? { ...run, status: before.status, stopReason: before.stopReason } : run)
    }
  }

  /** @param {import('./sse.js').StreamEvent} event */
  #take({ type, data }) {
    if (type === 'GAP' || type === 'CLOSE' || type === 'DROPPED') return
    for (const listener of this.#eventListeners) listener(data)
    this.calls.take(data)
    if (type === 'TEXT_DELTA' || type === 'REASONING_DELTA' || type === 'TOOL_INPUT_DELTA') return
    const { runId, parentRunId } = data.meta
    if (type === 'RUN_END') this.calls.settle(runId)
    const run = this.#runs.get(runId)
    if (parentRunId === undefined) {
      if (type === 'RUN_END') {
        this.#ended.add(runId)
        this.refresh()
        if (run?.status === 'running') {
          run.status = data.stopReason === 'paused' && run.kind === 'run' ? 'paused' : 'done'
          run.stopReason = data.stopReason
        }
      } else {
        // Perhaps one of long ago: the feed begins with what has been. How the run stands now is not for it to say.
        this.#ended.delete(runId)
        if (run?.status !== 'running') this.refresh()
      }
    }
    this.#tell()
  }

  #tell() {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined
      for (const listener of this.#listeners) listener()
    }, burstMs)
  }
}
