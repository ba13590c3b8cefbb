import { Event, type RunEvent } from '../events.ts'
import type { EventTap } from './live-run.ts'
import type { RunResult } from './run.ts'

/**
 * A run to be watched. Iterate it for events, or `.text` for the visible text alone; `.result` settles as `run()` does, whether or not
 * anything is iterated. Leaving an iteration (`break`, `return`, an exception) aborts the run. Only one of the two can be iterated, once.
 */
export class RunStream implements AsyncIterable<RunEvent> {
  readonly result: Promise<RunResult>
  readonly #consumer = new AbortController()
  readonly #queue = new EventQueue(() => this.#consumer.abort(new DOMException('The consumer left the stream', 'AbortError')))

  /** `start` begins the run and reports its events to `tap` until it is done. */
  constructor(start: (tap: EventTap, signal: AbortSignal) => Promise<RunResult>) {
    this.result = start((event) => this.#queue.push(event), this.#consumer.signal)
    this.result.then(
      () => this.#queue.end(),
      (error: unknown) => this.#queue.fail(error),
    )
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<RunEvent, undefined> {
    return this.#queue.iterate((event) => event)
  }

  /** The visible text, in pieces as they arrive. */
  get text(): AsyncIterable<string> {
    return {
      [Symbol.asyncIterator]: () => this.#queue.iterate((event) => (event.type === Event.TEXT_DELTA ? event.text : undefined)),
    }
  }
}

/**
 * Events between a run that never waits and a consumer that may. Holds what the consumer has not taken yet. Its iterator is no generator:
 * one of those can't be left while it waits for an event.
 */
class EventQueue {
  readonly #onLeave: () => void
  #events: RunEvent[] = []
  #next = 0
  #ended = false
  #failure: { error: unknown } | undefined
  /** Answers those who wait, as far as there is something to answer; there once somebody iterates. */
  #answer: (() => void) | undefined

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  push(event: RunEvent): void {
    if (this.#ended) return
    this.#events.push(event)
    this.#answer?.()
  }

  end(): void {
    this.#ended = true
    this.#answer?.()
  }

  fail(error: unknown): void {
    if (!this.#ended) this.#failure = { error }
    this.end()
  }

  /** What `select` makes of the events, without those it makes undefined. */
  iterate<T>(select: (event: RunEvent) => T | undefined): AsyncIterableIterator<T, undefined> {
    if (this.#answer !== undefined) throw new TypeError('A RunStream can be iterated only once, as events or as text')
    const waiting: PromiseWithResolvers<IteratorResult<T, undefined>>[] = []
    const answer = () => {
      while (waiting.length > 0) {
        const value = this.#find(select)
        if (value !== undefined) waiting.shift()?.resolve({ value, done: false })
        else if (!this.#ended) return
        else if (this.#failure === undefined) waiting.shift()?.resolve({ value: undefined, done: true })
        else {
          waiting.shift()?.reject(this.#failure.error)
          this.#failure = undefined
        }
      }
    }
    this.#answer = answer
    return {
      next: () => {
        const step = Promise.withResolvers<IteratorResult<T, undefined>>()
        waiting.push(step)
        answer()
        return step.promise
      },
      return: async () => {
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
    this.#events = []
    this.#next = 0
    this.#failure = undefined
    this.end()
    if (wasRunning) this.#onLeave()
  }

  #find<T>(select: (event: RunEvent) => T | undefined): T | undefined {
    for (let event = this.#take(); event !== undefined; event = this.#take()) {
      const found = select(event)
      if (found !== undefined) return found
    }
    return undefined
  }

  #take(): RunEvent | undefined {
    const event = this.#events[this.#next]
    if (event === undefined) return undefined
    this.#next++
    // Dropping what was taken in batches keeps the queue small at a constant cost an event.
    if (this.#next === 1024) {
      this.#events = this.#events.slice(this.#next)
      this.#next = 0
    }
    return event
  }
}
