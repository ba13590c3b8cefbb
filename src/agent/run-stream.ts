import { Event, type RunEvent } from '../events.ts'
import type { Watch } from './open-run.ts'
import type { RunResult } from './run.ts'
import type { RunControl } from './run-control.ts'

/**
 * A run to be watched. Iterate it for events, or `.text` for the visible text alone; `.result` settles as `run()` does, whether or not
 * anything is iterated. Leaving an iteration (`break`, `return`, an exception) aborts the run. Only one of the two can be iterated, once.
 */
export class RunStream<Output = string> implements AsyncIterable<RunEvent> {
  readonly result: Promise<RunResult<Output>>
  /** Steers the run: adds messages, changes the model, stops it. */
  readonly control: RunControl
  readonly #consumer = new AbortController()
  readonly #queue = new EventQueue(() => this.#consumer.abort(new DOMException('The consumer left the stream', 'AbortError')))

  /** `start` begins the run, which is watched until it is done. */
  constructor(start: (watch: Watch) => Promise<RunResult<Output>>, control: RunControl) {
    this.control = control
    this.result = start({ tap: (event) => this.#queue.push(event), left: this.#consumer.signal })
    this.result.then(
      () => this.#queue.end(),
      (error: unknown) => this.#queue.fail(error),
    )
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<RunEvent, undefined> {
    return this.#queue.iterate((event) => event)
  }

  /** The visible text as it arrives; pieces that came while the consumer was busy come as one. */
  get text(): AsyncIterable<string> {
    // What runs inside this one's calls say is no part of its text.
    let runId: string | undefined
    const select = (event: RunEvent) => {
      runId ??= event.meta.runId
      return event.type === Event.TEXT_DELTA && event.meta.runId === runId ? event.text : undefined
    }
    return { [Symbol.asyncIterator]: () => this.#queue.iterate(select, (text, more) => text + more) }
  }
}

/**
 * Events between a run that never waits and a consumer that may. Holds what the consumer has not taken yet. Its iterator is no generator:
 * one of those can't be left while it waits for an event.
 */
class EventQueue {
  readonly #onLeave: () => void
  #events: RunEvent[] = []
  #ended = false
  #failure: { error: unknown } | undefined
  /** Takes events, once somebody iterates. */
  #consumer: Consumer | undefined

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  push(event: RunEvent): void {
    if (this.#ended) return
    if (this.#consumer === undefined) this.#events.push(event)
    else this.#consumer.take(event)
  }

  end(): void {
    this.#ended = true
    this.#consumer?.answer()
  }

  fail(error: unknown): void {
    if (!this.#ended) this.#failure = { error }
    this.end()
  }

  /** What `select` makes of the events, without those it makes undefined. With `join`, all that is there at once comes as one. */
  iterate<T>(select: (event: RunEvent) => T | undefined, join?: (earlier: T, later: T) => T): AsyncIterableIterator<T, undefined> {
    if (this.#consumer !== undefined) throw new TypeError('A RunStream can be iterated only once, as events or as text')
    const waiting: PromiseWithResolvers<IteratorResult<T, undefined>>[] = []
    const ready = new Ready<T>(join)
    const answer = () => {
      while (waiting.length > 0) {
        const value = ready.shift()
        if (value !== undefined) waiting.shift()?.resolve({ value, done: false })
        else if (!this.#ended) return
        else if (this.#failure === undefined) waiting.shift()?.resolve({ value: undefined, done: true })
        else {
          waiting.shift()?.reject(this.#failure.error)
          this.#failure = undefined
        }
      }
    }
    const take = (event: RunEvent) => {
      const value = select(event)
      if (value === undefined) return
      ready.push(value)
      if (waiting.length > 0) answer()
    }
    this.#consumer = { take, answer }
    this.#events.forEach(take)
    this.#events = []
    return {
      next: () => {
        const step = Promise.withResolvers<IteratorResult<T, undefined>>()
        waiting.push(step)
        answer()
        return step.promise
      },
      return: async () => {
        ready.clear()
        this.#leave()
        return { value: undefined, done: true }
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  #leave(): void {
    const wasRunning = !this.#ended
    this.#failure = undefined
    this.end()
    if (wasRunning) this.#onLeave()
  }
}

interface Consumer {
  take(event: RunEvent): void
  /** Answers those who wait, as far as there is something to answer. */
  answer(): void
}

/** Values not taken yet, in order; with `join`, as one. */
class Ready<T> {
  readonly #join: ((earlier: T, later: T) => T) | undefined
  #values: T[] = []
  #next = 0

  constructor(join: ((earlier: T, later: T) => T) | undefined) {
    this.#join = join
  }

  push(value: T): void {
    const [first] = this.#values
    if (this.#join === undefined || first === undefined) this.#values.push(value)
    else this.#values[0] = this.#join(first, value)
  }

  shift(): T | undefined {
    const value = this.#values[this.#next]
    if (value === undefined) return undefined
    this.#next++
    // Dropping what was taken in batches keeps the list small at a constant cost a value.
    if (this.#next === this.#values.length || this.#next === 1024) {
      this.#values = this.#values.slice(this.#next)
      this.#next = 0
    }
    return value
  }

  clear(): void {
    this.#values = []
    this.#next = 0
  }
}
