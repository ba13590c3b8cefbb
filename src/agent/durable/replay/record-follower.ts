import type { RunEvent } from '../../../core/events.ts'
import type { Engine } from '../../journal/journal.ts'
import type { EventTap } from '../../types/event-tap.ts'
import type { RecordEvents } from './record-events.ts'
import { turnsOfSteps } from './recorded-turns.ts'

/** The time between two reads of the steps that other processes record, in milliseconds. */
const lookEveryMs = 250

/**
 * Follows a run from its beginning. Emits recorded steps first, then live events of this process and steps that other processes record. A
 * turn or call whose beginning was missed is emitted as a whole, once it is recorded.
 */
export class RecordFollower {
  readonly #runId: string
  readonly #engine: Engine
  readonly #events: RecordEvents
  readonly #tap: EventTap
  readonly #known = new Set<string>()
  /** Running steps whose beginning was missed. */
  readonly #missed = new Set<string>()
  readonly #queue: RunEvent[] = []
  #wake = Promise.withResolvers<void>()
  #isStale = false
  #isWaiting = false

  constructor(runId: string, engine: Engine, events: RecordEvents, tap: EventTap) {
    this.#runId = runId
    this.#engine = engine
    this.#events = events
    this.#tap = tap
  }

  /** Emits the steps that are recorded so far. */
  async begin(): Promise<void> {
    this.#events.start()
    await this.#look()
    this.#events.hasCaughtUp = true
  }

  /** Receives the events of the run in this process. */
  get source(): EventTap {
    return {
      wanted: undefined,
      take: (event) => {
        this.#queue.push(event)
        this.#wake.resolve()
      },
      takesBack: (hasText) => this.#tap.takesBack?.(hasText) !== false,
      hide: (texts) => this.#tap.hide?.(texts),
    }
  }

  /** Emits events until `over` settles. Without `over`, stops when the run waits or has ended. */
  async follow(over: Promise<unknown> | undefined, left: AbortSignal): Promise<void> {
    let isOver = false
    const end = (): void => {
      isOver = true
      this.#wake.resolve()
    }
    over?.then(end, end)
    left.addEventListener('abort', end, { once: true })
    while (!left.aborted) {
      const event = this.#queue.shift()
      if (event !== undefined) await this.#pass(event)
      else if (isOver || (over === undefined && this.#isWaiting)) break
      else if (!(await this.#woken())) await this.#look()
    }
    left.removeEventListener('abort', end)
  }

  async #pass(event: RunEvent): Promise<void> {
    const { type, meta } = event
    // Before the events of this execution, emits the steps that other executions have recorded.
    if (type === 'RUN_START' && meta.runId === this.#runId) this.#isStale = true
    if ((this.#isStale || this.#missed.size > 0) && this.#events.begins(event)) {
      await this.#look()
      this.#isStale = false
    }
    if (this.#events.claim(event)) this.#tap.take(event)
    else if (meta.runId === this.#runId && meta.step !== undefined && !this.#known.has(meta.step)) this.#missed.add(meta.step)
  }

  async #look(): Promise<void> {
    const news = await this.#engine.news?.(this.#runId, [...this.#known])
    // If `news` is undefined, the run was deleted, and no more events follow.
    this.#isWaiting = news?.status !== 'running'
    if (news === undefined) return
    for (const [key] of news.steps) {
      this.#known.add(key)
      this.#missed.delete(key)
    }
    await this.#events.add(turnsOfSteps(news.steps))
  }

  /** Resolves with true if the run has emitted an event in this process, and with false when it is time to read the record. */
  async #woken(): Promise<boolean> {
    const timer = Promise.withResolvers<false>()
    const timeout = setTimeout(() => timer.resolve(false), lookEveryMs)
    const woken = await Promise.race([this.#wake.promise.then(() => true), timer.promise])
    clearTimeout(timeout)
    // The old promise must not be reused, because every `Promise.race` adds a reaction to it, which would never be freed.
    this.#wake = Promise.withResolvers()
    return woken
  }
}
