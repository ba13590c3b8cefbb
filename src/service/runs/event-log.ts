import { ByTenant } from '../tenants/by-tenant.ts'

/** One event as it is sent: its number in the log, its type, and its JSON. */
export interface LoggedEvent {
  id: number
  type: string
  data: string
}

export interface EventLogBounds {
  /** Most events that are kept. */
  events: number
  /** Most characters of JSON that are kept. */
  characters: number
}

/**
 * The latest events of a run, or of all runs, numbered. Bounded: the oldest give way. Readers have a place in it and nothing else, so
 * however many there are and however slow, they cost no memory.
 */
export class EventLog {
  readonly #bounds: EventLogBounds
  readonly #listeners = new Set<() => void>()
  #events: LoggedEvent[] = []
  /** Where the oldest kept event is in the array; what is before it has been given up. */
  #head = 0
  #last = 0
  /** Of the oldest that is kept, where none has been read. */
  #first: number | undefined
  #characters = 0

  /** `earlier`: events that are in it already; `last`: of the newest there was, kept or not; `first`: of the oldest there is elsewhere. */
  constructor(bounds: EventLogBounds, earlier: readonly LoggedEvent[] = [], last = 0, first?: number) {
    this.#bounds = bounds
    this.fill(earlier, last)
    this.#first = first
  }

  /** Of the newest event; 0 before the first. */
  get lastId(): number {
    return this.#last
  }

  /** Of the oldest event that is kept; one past the newest when none is. */
  get firstId(): number {
    return this.#events[this.#head]?.id ?? this.#first ?? this.#last + 1
  }

  get characters(): number {
    return this.#characters
  }

  append(type: string, data: string): void {
    this.add({ id: this.#last + 1, type, data })
  }

  /** Adds an event that has a number. Those before one that doesn't follow the last are given up. */
  add(event: LoggedEvent): void {
    if (event.id !== this.#last + 1) this.clear()
    this.#last = event.id
    this.#first = undefined
    this.#events.push(event)
    this.#characters += event.data.length
    while (this.#events.length - this.#head > this.#bounds.events || this.#characters > this.#bounds.characters) this.#dropOldest()
    this.wake()
  }

  /**
   * Has these events from now on: those of elsewhere, as they have been read. Where they don't reach to the last, or don't follow each other, those
   * before the gap are given up: a reader is told of it.
   */
  fill(events: readonly LoggedEvent[], last: number): void {
    this.clear()
    const newest = events.at(-1)?.id ?? 0
    const gap = events.findLastIndex(({ id }, at) => at > 0 && id !== (events[at - 1]?.id ?? 0) + 1)
    this.#events = newest < last ? [] : events.slice(Math.max(gap, 0))
    for (const { data } of this.#events) this.#characters += data.length
    this.#last = Math.max(newest, last)
    this.wake()
  }

  /** Gives up all events that are kept; their numbers stay used. */
  clear(): void {
    this.#first = undefined
    this.#events = []
    this.#head = 0
    this.#characters = 0
  }

  /** Kept events after the one of that number, in order. */
  *after(id: number): Iterable<LoggedEvent> {
    const from = this.#head + Math.max(0, id + 1 - this.firstId)
    for (let at = from; at < this.#events.length; at++) {
      const event = this.#events[at]
      if (event !== undefined) yield event
    }
  }

  /** Called when there is something new to read, or nothing more will come; must not throw. Returns the function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Whether somebody waits for what comes. */
  get isRead(): boolean {
    return this.#listeners.size > 0
  }

  wake(): void {
    for (const listener of this.#listeners) listener()
  }

  #dropOldest(): void {
    this.#characters -= this.#events[this.#head]?.data.length ?? 0
    this.#head++
    // Giving up in batches keeps the cost of one event constant.
    if (this.#head < 1024 && this.#head < this.#events.length) return
    this.#events = this.#events.slice(this.#head)
    this.#head = 0
  }
}

/** The events of all runs, and those of each tenant. */
export function newFeed({
  eventsOfRun: events,
  charactersOfRun: characters,
}: Record<'eventsOfRun' | 'charactersOfRun', number>): ByTenant<EventLog> {
  return new ByTenant(
    () => new EventLog({ events, characters }),
    ({ isRead }) => isRead,
  )
}
