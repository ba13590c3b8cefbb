import { Event, type EventName, type RunEvent } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import { Backlog } from '../../ui/web/deltas.ts'
import { type ResponseOptions, RunResponses } from '../../ui/web/respond.ts'
import type { EndedRun } from '../../ui/web/run-ending.ts'
import type { RunControl } from '../conversation/run-input.ts'
import { itemOnPage, shownItem } from '../nested/nested-items.ts'
import { isWrapped, type OutputSchema } from '../output/output.ts'
import { answerEvents, PartialAnswer } from '../output/partial-answer.ts'
import { RunError } from '../run/run-error.ts'
import type { EventTap } from '../types/event-tap.ts'
import type { RunResult, ToolCallRecord } from '../types/result.ts'

/** A watcher of a run. */
export interface Watch {
  tap: EventTap
  control: RunControl
  /** The signal that is aborted when the watcher leaves. */
  left: AbortSignal
}

/** Gives `followEvents` access to the private queue of a stream. Set by a static block of `RunStream`. */
let follow: (stream: RunStream, take: (event: RunEvent) => void) => void

/**
 * A run as a stream of events, text and partial output. Iterate the stream itself for events, `.text` for the visible text, or
 * `.partialOutput` for an answer with a schema. `.result` settles like `run()`, whether or not the stream is iterated. Leaving an iteration
 * (`break`, `return`, an exception) aborts the run.
 *
 * A stream can be iterated only once, in one of these three ways, and not if it is sent as a response (`toResponse`). Events that arrive
 * before the iteration are buffered. The buffer joins adjacent pieces of text, and keeps only the latest progress report of each tool.
 *
 * If the run ends with `model_error`, `refused` or `aborted`, the iteration throws a `RunError` after the last event. The iteration does
 * not throw if the caller's own `signal` aborted the run.
 */
export class RunStream<Output = string, Call = ToolCallRecord, Part = never> implements AsyncIterable<RunEvent> {
  readonly result: Promise<RunResult<Output, Call>>
  /** Steers the run: adds messages, changes the model, stops it. */
  readonly control: RunControl
  readonly #consumer = new AbortController()
  #responses: RunResponses | undefined
  readonly #queue = new EventQueue(() => this.#consumer.abort(new DOMException('The consumer left the stream', 'AbortError')))

  readonly #output: OutputSchema | undefined

  /** `start` begins the run. `output`: the schema of the run's answer. `signal`: the caller's signal. @internal */
  constructor(
    start: (watch: Watch) => Promise<RunResult<Output, Call>>,
    control: RunControl,
    { output, signal }: { output?: OutputSchema; signal?: AbortSignal } = {},
  ) {
    this.control = control
    this.#output = output
    this.result = start({ tap: this.#queue, control, left: this.#consumer.signal })
    this.result.then(
      (result) => {
        const failure = failureOf(result, signal)
        if (failure === undefined) this.#queue.end()
        else this.#queue.fail(failure)
      },
      (error: unknown) => this.#queue.fail(error),
    )
  }

  /** The texts that were removed as secrets from events of this stream so far. Other events may still contain them. @internal */
  get hidden(): ReadonlySet<string> {
    return this.#queue.hidden
  }

  static {
    follow = (stream, take) => {
      stream.#queue.follow(take, undefined)
    }
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<RunEvent, undefined> {
    return this.#queue.iterate({ select: (event) => event })
  }

  /** The visible text as it arrives. Pieces that arrive while the consumer is busy are joined. Throws at the end if the run failed. */
  get text(): AsyncIterable<string> {
    // The text of nested runs is left out.
    let runId: string | undefined
    const select = (event: RunEvent) => {
      runId ??= event.meta.runId
      return event.type === Event.TEXT_DELTA && event.meta.runId === runId ? event.text : undefined
    }
    const takesBack = (hasText: boolean) => !hasText
    return { [Symbol.asyncIterator]: () => this.#queue.iterate({ select, join: joinTexts, wanted: textEvents, takesBack }) }
  }

  /**
   * The answer with a schema (`output`) as it arrives. Yields after each piece, and always the same growing object: copy it to keep a
   * snapshot. The object is **not validated**: fields may be missing, have another type, or change when the model answers again. The
   * result's `output` is the value that the schema returns for the whole answer. Throws a `TypeError` for a run without `output`.
   */
  get partialOutput(): AsyncIterable<Part> {
    if (this.#output === undefined) throw new TypeError('`partialOutput` is there for runs with an `output`')
    const answer = new PartialAnswer(isWrapped(this.#output))
    const select = (event: RunEvent) => answer.take(event) as Part | undefined
    return { [Symbol.asyncIterator]: () => this.#queue.iterate({ select, join: (_, later) => later, wanted: answerEvents }) }
  }

  /**
   * Returns a response for `fetch` handlers: server-sent events in this library's format, or in another `format`. Can be called several
   * times, even after the run has ended: for several clients, or for a client that reconnects. A slow client doesn't hold up the run: the
   * latest 4 million characters are buffered. Throws `invalid_option` for invalid options, and a `TypeError` if the stream is iterated.
   */
  toResponse(options?: ResponseOptions): Response {
    this.#responses ??= this.#record()
    return this.#responses.respond(options)
  }

  #record(): RunResponses {
    const responses = new RunResponses(() => leave())
    const leave = this.#queue.follow(
      (event) => responses.append(shownEvent(event)),
      () => responses.takesBack,
    )
    this.result.then(
      (result) => responses.end(endedWith(result)),
      (error: unknown) => responses.end(failedWith(error)),
    )
    return responses
  }
}

/** The error that an iteration throws at the end of a failed run. */
function failureOf(result: RunResult<unknown, unknown>, signal: AbortSignal | undefined): RunError | undefined {
  const { stopReason, error } = result
  if (error === undefined || (stopReason === 'aborted' && signal?.aborted === true)) return undefined
  return new RunError(result as RunResult<unknown>, error)
}

/** Yields the events of a run, without throwing its `RunError` at the end. The caller gets the error from the result. */
export async function* eventsOf(stream: AsyncIterable<RunEvent>): AsyncGenerator<RunEvent, undefined> {
  try {
    yield* stream
  } catch (error) {
    if (!(error instanceof RunError)) throw error
  }
}

/** Passes the earlier events of a run to `take`, and then each event as it arrives. `take` must not throw. */
export function followEvents(stream: RunStream, take: (event: RunEvent) => void): void {
  follow(stream, take)
}

const joinTexts = (text: string, more: string): string => text + more
/** `RUN_START` is included, because it is the first event of a run and has the run's id. */
const textEvents: ReadonlySet<EventName> = new Set<EventName>([Event.RUN_START, Event.TEXT_DELTA])

interface Iteration<T> {
  /** The value for an event. Undefined to skip the event. */
  select(event: RunEvent): T | undefined
  /** Joins two available values into one value. */
  join?(earlier: T, later: T): T
  /** The events that `select` does not skip. Default: all. */
  wanted?: ReadonlySet<EventName>
  takesBack?: EventTap['takesBack']
}

/**
 * Buffers events between a run and its consumer. The run never waits for the consumer. The iterator is not a generator, because a generator
 * can't be closed while it waits for an event.
 */
class EventQueue implements EventTap {
  wanted: ReadonlySet<EventName> | undefined
  takesBack: EventTap['takesBack']
  readonly hidden = new Set<string>()
  readonly #onLeave: () => void
  readonly #backlog = new Backlog()
  #ended = false
  #failure: { error: unknown } | undefined
  /** Undefined until the queue is iterated or followed. */
  #consumer: Consumer | undefined

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  take(event: RunEvent): void {
    if (this.#ended) return
    if (this.#consumer === undefined) this.#backlog.add(event)
    else this.#consumer.take(event)
  }

  hide(texts: readonly string[]): void {
    for (const text of texts) this.hidden.add(text)
  }

  end(): void {
    this.#ended = true
    this.#consumer?.answer()
  }

  fail(error: unknown): void {
    if (!this.#ended) this.#failure = { error }
    this.end()
  }

  /** Passes every event to `take` as it arrives. Returns the function that stops watching the run. */
  follow(take: (event: RunEvent) => void, takesBack: EventTap['takesBack']): () => void {
    this.#checkIsFree()
    this.takesBack = takesBack
    this.#begin({ take, answer() {} })
    return () => this.leave()
  }

  iterate<T>({ select, join, wanted, takesBack }: Iteration<T>): AsyncIterableIterator<T, undefined> {
    this.#checkIsFree()
    this.wanted = wanted
    this.takesBack = takesBack
    const iterator = new QueueIterator(this, select, join)
    this.#begin(iterator)
    return iterator
  }

  /**
   * Returns how the run ended, for a consumer that has taken all values. Undefined while more events may arrive. Returns a failure only
   * once.
   */
  takeEnding(): { error: unknown } | 'done' | undefined {
    if (!this.#ended) return undefined
    const failure = this.#failure
    this.#failure = undefined
    return failure ?? 'done'
  }

  #checkIsFree(): void {
    if (this.#consumer === undefined) return
    throw new TypeError('A RunStream can be iterated only once, as events, text or output, and not beside responses')
  }

  #begin(consumer: Consumer): void {
    this.#consumer = consumer
    for (const event of this.#backlog.drain()) consumer.take(event)
  }

  /** Called when the consumer leaves. Aborts the run if it is still running. */
  leave(): void {
    const wasRunning = !this.#ended
    this.#failure = undefined
    this.end()
    if (wasRunning) this.#onLeave()
  }
}

/** The iterator of a consumer. It converts the events of a queue into values. */
class QueueIterator<T> implements AsyncIterableIterator<T, undefined>, Consumer {
  readonly #queue: EventQueue
  readonly #select: Iteration<T>['select']
  readonly #ready: Ready<T>
  readonly #waiting: PromiseWithResolvers<IteratorResult<T, undefined>>[] = []

  constructor(queue: EventQueue, select: Iteration<T>['select'], join: Iteration<T>['join']) {
    this.#queue = queue
    this.#select = select
    this.#ready = new Ready(join)
  }

  take(event: RunEvent): void {
    const value = this.#select(event)
    if (value === undefined) return
    this.#ready.push(value)
    if (this.#waiting.length > 0) this.answer()
  }

  answer(): void {
    while (this.#waiting.length > 0) {
      const value = this.#ready.shift()
      const ending = value === undefined ? this.#queue.takeEnding() : undefined
      if (value !== undefined) this.#waiting.shift()?.resolve({ value, done: false })
      else if (ending === undefined) return
      else if (ending === 'done') this.#waiting.shift()?.resolve({ value: undefined, done: true })
      else this.#waiting.shift()?.reject(ending.error)
    }
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const step = Promise.withResolvers<IteratorResult<T, undefined>>()
    this.#waiting.push(step)
    this.answer()
    return step.promise
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#ready.clear()
    this.#queue.leave()
    return { value: undefined, done: true }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

interface Consumer {
  take(event: RunEvent): void
  /** Settles waiting calls of `next` as long as there are values. */
  answer(): void
}

/** A queue of the values that the consumer has not taken. With `join`, it holds a single joined value. */
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
    // Removes taken values only once they are half of the list, so that the cost per value stays constant.
    if (this.#next === this.#values.length || (this.#next >= 1024 && this.#next * 2 >= this.#values.length)) {
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

/** The ending of a run, taken from its result. Leaves out data that only the program may see, such as the state. */
export function endedWith({ runId, stopReason, text, output, usage, iterations, pending, error }: RunResult<unknown, unknown>): EndedRun {
  const answer = output === text ? {} : { output }
  const ending = { runId, stopReason, text, ...answer, usage, iterations, pending: pending.map((item) => itemOnPage(shownItem(item))) }
  return error === undefined ? { ending } : { ending, error }
}

/** The ending of a run, taken from the error with which `result` rejected. */
function failedWith(error: unknown): EndedRun {
  return { ...(error instanceof RunError ? endedWith(error.result) : { ending: { text: '', pending: [] } }), error }
}

/** Leaves out the parts of an event that pages must not show. */
function shownEvent(event: RunEvent): RunEvent {
  if (event.type === Event.DECISION_NEEDED) return itemOnPage(event)
  // A tool may report any value. Everything else in an event is JSON.
  return event.type === Event.TOOL_PROGRESS ? { ...event, update: toJson(event.update) } : event
}
