import { Event, type RunEvent } from '../../core/events.ts'
import { continues, type Delta, isDelta, pieceOf, withoutVoid, withPiece } from './deltas.ts'

/** A stored event: its number, its type, and the event as JSON. */
export interface LoggedEvent {
  id: number
  type: string
  data: string
}

/** An event as a reader gets it. */
export interface ReadEvent {
  /** The number of the event. If several pieces of a text are read as one event, it is the number of the last piece. */
  readonly id: number
  readonly type: string
  readonly event: RunEvent
  /** The event as JSON. */
  readonly data: string
}

export interface EventLogBounds {
  /** Maximum number of events. Default: limited by `characters` only. */
  events?: number
  /** Maximum number of characters. */
  characters: number
}

/** The type of a stored event that was discarded by a `MODEL_RETRY`. The log keeps only the number of such an event. */
const voidEvent = 'VOID'

/** Limits on adjacent pieces of a text that are read as one event: their total length in characters, and their number. */
const maxPiece = 65_536
const maxPieces = 500
/** The memory that an event takes in addition to its text, in characters. */
const perEvent = 200
const perPiece = 16

/**
 * Stores the latest events of a run, or of all runs, numbered from 1, for any number of readers. The size is limited: the oldest events are
 * dropped. The newest event is kept even if it alone exceeds the limit. A reader is only a position in the log, so it takes no memory,
 * however slow it is. A reader gets adjacent pieces of a text as one event.
 */
export class EventLog {
  readonly #bounds: Required<EventLogBounds>
  readonly #listeners = new Set<() => void>()
  #entries: Entry[] = []
  /** The index of the oldest entry in `#entries`. The entries before it have been dropped. */
  #head = 0
  #last = 0
  /** The number of the oldest event that is stored outside this log. Undefined once an event has been added or the log has been cleared. */
  #first: number | undefined
  #characters = 0

  /** `stored` has the numbers of the oldest and the newest event that are stored outside this log. */
  constructor({ events = Number.POSITIVE_INFINITY, characters }: EventLogBounds, stored?: { first: number; last: number }) {
    this.#bounds = { events, characters }
    this.#first = stored?.first
    this.#last = stored?.last ?? 0
  }

  /** The number of the newest event. It is 0 before the first event. */
  get lastId(): number {
    return this.#last
  }

  /** The number of the oldest stored event. If no event is stored, it is the number after the newest. */
  get firstId(): number {
    return this.#entries[this.#head]?.first ?? this.#first ?? this.#last + 1
  }

  get characters(): number {
    return this.#characters
  }

  /** Appends an event. If `data`, the event as JSON, is given, the log stores it instead of the object. */
  append(event: RunEvent, data?: string): void {
    const id = ++this.#last
    this.#first = undefined
    if (event.type === Event.MODEL_RETRY && event.discards) this.#discard(event)
    if (isDelta(event)) this.#appendPiece(id, event)
    else this.#add(new WholeEvent(id, event.type, data ?? event))
    this.wake()
  }

  /** Adds an event that was stored outside this log. If the numbers have a gap, drops all earlier events. */
  read({ id, type, data }: LoggedEvent): void {
    if (id !== this.#last + 1) this.clear(id - 1)
    // Parses only deltas and retries, because only they change stored entries.
    if (type.endsWith('_DELTA') || type === Event.MODEL_RETRY) this.append(JSON.parse(data), data)
    else {
      this.#last = id
      this.#first = undefined
      if (type !== voidEvent) this.#add(new WholeEvent(id, type, data))
      this.wake()
    }
  }

  /**
   * Replaces the events by stored events. `last` is the number of the newest event that exists. Readers are notified if events are missing.
   */
  fill(events: readonly LoggedEvent[], last: number): void {
    this.clear(0)
    for (const event of events) this.read(event)
    if (this.#last < last) this.clear(last)
  }

  /** Drops all events. The next event gets the number after `last`. */
  clear(last: number = this.#last): void {
    this.#first = undefined
    this.#entries = []
    this.#head = 0
    this.#characters = 0
    this.#last = last
  }

  /** Returns the first event after the number `id`, or undefined if there is none yet. */
  after(id: number): ReadEvent | undefined {
    return this.#entryOf(Math.max(id + 1, this.firstId))?.behind(id)
  }

  *allAfter(id: number): Iterable<ReadEvent> {
    for (let next = this.after(id); next !== undefined; next = this.after(next.id)) yield next
  }

  /**
   * Returns all events after the number `id`, without joining adjacent pieces of a text. Discarded events are included, with the type
   * `voidEvent`.
   */
  *eachAfter(id: number): Iterable<LoggedEvent> {
    let next = Math.max(id + 1, this.firstId)
    for (const entry of this.#entries.slice(this.#head)) {
      for (; next < entry.first; next++) yield { id: next, type: voidEvent, data: '' }
      for (const event of entry.each()) if (event.id >= next) yield event
      next = Math.max(next, entry.last + 1)
    }
  }

  /**
   * Adds a listener that is called when there is a new event, or when no further events will follow. Returns a function that removes it.
   *
   * Contract: the listener must not throw.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Whether the log has a listener for new events. */
  get isRead(): boolean {
    return this.#listeners.size > 0
  }

  wake(): void {
    for (const listener of this.#listeners) listener()
  }

  #appendPiece(id: number, delta: Delta): void {
    const newest = this.#entries.at(-1)
    if (newest instanceof PiecedText && newest.continuesWith(id, delta)) {
      this.#characters += newest.push(delta)
      this.#dropOldest()
    } else this.#add(new PiecedText(id, delta))
  }

  /** Drops the pieces of a response that was cut off, so that later readers don't get them. */
  #discard(retry: RunEvent): void {
    this.#entries = withoutVoid(this.#entries.slice(this.#head), retry)
    this.#head = 0
    this.#characters = this.#entries.reduce((sum, { characters }) => sum + characters, 0)
  }

  #add(entry: Entry): void {
    this.#entries.push(entry)
    this.#characters += entry.characters
    this.#dropOldest()
  }

  #dropOldest(): void {
    const { events, characters } = this.#bounds
    while ((this.#characters > characters || this.#last - this.firstId >= events) && this.#head < this.#entries.length - 1) {
      this.#characters -= this.#entries[this.#head]?.characters ?? 0
      this.#head++
    }
    // Entries are removed in batches, which keeps the cost per event constant.
    if (this.#head < 1_024 && this.#head * 2 < this.#entries.length) return
    this.#entries = this.#entries.slice(this.#head)
    this.#head = 0
  }

  /** Returns the entry that contains an event. If the event was discarded, returns the next entry. */
  #entryOf(id: number): Entry | undefined {
    let [low, high] = [this.#head, this.#entries.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#entries[middle]?.last ?? 0) < id) low = middle + 1
      else high = middle
    }
    const found = this.#entries[low]
    return found !== undefined && found.last >= id ? found : undefined
  }
}

/** One or more events that are stored as one entry. */
interface Entry {
  /** The numbers of the first and last event of the entry. */
  readonly first: number
  readonly last: number
  readonly event: RunEvent
  readonly characters: number
  /** Returns the part of this entry after the event with the number `id`. */
  behind(id: number): ReadEvent
  each(): Iterable<LoggedEvent>
}

/** An event that is not a piece of a text, stored as an object or as JSON. */
class WholeEvent implements Entry, ReadEvent {
  readonly id: number
  readonly type: string
  readonly characters: number
  readonly #given: RunEvent | string

  constructor(id: number, type: string, given: RunEvent | string) {
    this.id = id
    this.type = type
    this.#given = given
    this.characters = perEvent + this.data.length
  }

  get first(): number {
    return this.id
  }

  get last(): number {
    return this.id
  }

  get event(): RunEvent {
    return typeof this.#given === 'string' ? JSON.parse(this.#given) : this.#given
  }

  get data(): string {
    return typeof this.#given === 'string' ? this.#given : JSON.stringify(this.#given)
  }

  behind(): ReadEvent {
    return this
  }

  each(): LoggedEvent[] {
    return [{ id: this.id, type: this.type, data: this.data }]
  }
}

/** Adjacent pieces of a text, stored as one entry. */
class PiecedText implements Entry {
  readonly first: number
  /** The event of the first piece, without the piece itself. */
  readonly event: Delta
  readonly #pieces: string[] = []
  characters: number = perEvent

  constructor(first: number, event: Delta) {
    this.first = first
    this.event = withPiece(event, '')
    this.push(event)
  }

  get last(): number {
    return this.first + this.#pieces.length - 1
  }

  continuesWith(id: number, delta: Delta): boolean {
    return id === this.last + 1 && this.characters < maxPiece && this.#pieces.length < maxPieces && continues(this.event, delta)
  }

  /** Adds a piece. Returns the increase in characters. */
  push(delta: Delta): number {
    const piece = pieceOf(delta)
    this.#pieces.push(piece)
    const more = perPiece + piece.length
    this.characters += more
    return more
  }

  each(): LoggedEvent[] {
    const { first, event } = this
    return this.#pieces.map((piece, at) => ({ id: first + at, type: event.type, data: JSON.stringify(withPiece(event, piece)) }))
  }

  behind(id: number): ReadEvent {
    const event = withPiece(this.event, this.#pieces.slice(Math.max(0, id + 1 - this.first)).join(''))
    return {
      id: this.last,
      type: event.type,
      event,
      get data() {
        return JSON.stringify(event)
      },
    }
  }
}
