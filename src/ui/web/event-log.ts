import { Event, type RunEvent } from '../../core/events.ts'
import { continues, type Delta, isDelta, pieceOf, withoutVoid, withPiece } from './deltas.ts'

/** A stored event: its number, its type, and the event as JSON. */
export interface LoggedEvent {
  id: number
  type: string
  data: string
}

/** An event as it is read. */
export interface ReadEvent {
  /** The number of the event. If several pieces of a text are read as one, the number of the last. */
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

/** The type of a stored event that was taken back. Only its number is kept. */
const voidEvent = 'VOID'

/** Maximum size of one text that is read at once, in characters and in events. */
const maxPiece = 65_536
const maxPieces = 500
/** The memory an event takes besides its text, in characters. */
const perEvent = 200
const perPiece = 16

/**
 * The latest events of a run, or of all runs, numbered from 1, for any number of readers. The size is limited: the oldest events are
 * dropped. The newest event is kept even if it exceeds the limit alone. A reader is only a position in the log, so it takes no memory,
 * however slow it is. Adjacent pieces of a text are read as one.
 */
export class EventLog {
  readonly #bounds: Required<EventLogBounds>
  readonly #listeners = new Set<() => void>()
  #entries: Entry[] = []
  /** The position of the oldest entry in the list; earlier ones have been dropped. */
  #head = 0
  #last = 0
  /** The number of the oldest event that is stored elsewhere. Undefined once an event has been added or the log has been cleared. */
  #first: number | undefined
  #characters = 0

  /** `stored`: the numbers of the oldest and the newest event that are stored elsewhere. */
  constructor({ events = Number.POSITIVE_INFINITY, characters }: EventLogBounds, stored?: { first: number; last: number }) {
    this.#bounds = { events, characters }
    this.#first = stored?.first
    this.#last = stored?.last ?? 0
  }

  /** The number of the newest event; 0 before the first. */
  get lastId(): number {
    return this.#last
  }

  /** The number of the oldest stored event; one more than the newest if there is none. */
  get firstId(): number {
    return this.#entries[this.#head]?.first ?? this.#first ?? this.#last + 1
  }

  get characters(): number {
    return this.#characters
  }

  /** Appends an event. `data`: the event as JSON, stored instead of the object. */
  append(event: RunEvent, data?: string): void {
    const id = ++this.#last
    this.#first = undefined
    if (event.type === Event.MODEL_RETRY && event.discards) this.#discard(event)
    if (isDelta(event)) this.#appendPiece(id, event)
    else this.#add(new WholeEvent(id, event.type, data ?? event))
    this.wake()
  }

  /** Adds an event that was stored elsewhere. If it doesn't follow the newest one, drops all events before it. */
  read({ id, type, data }: LoggedEvent): void {
    if (id !== this.#last + 1) this.clear(id - 1)
    // Only pieces of texts, and events that take them back, have to be parsed.
    if (type.endsWith('_DELTA') || type === Event.MODEL_RETRY) this.append(JSON.parse(data), data)
    else {
      this.#last = id
      this.#first = undefined
      if (type !== voidEvent) this.#add(new WholeEvent(id, type, data))
      this.wake()
    }
  }

  /**
   * Replaces the events by stored events. `last`: the number of the newest event that exists. Readers are notified if events are missing.
   */
  fill(events: readonly LoggedEvent[], last: number): void {
    this.clear(0)
    for (const event of events) this.read(event)
    if (this.#last < last) this.clear(last)
  }

  /** Drops all events. The next one gets the number after `last`. */
  clear(last: number = this.#last): void {
    this.#first = undefined
    this.#entries = []
    this.#head = 0
    this.#characters = 0
    this.#last = last
  }

  /** The next event after a number; undefined if there is none yet. */
  after(id: number): ReadEvent | undefined {
    return this.#entryOf(Math.max(id + 1, this.firstId))?.behind(id)
  }

  /** All events after a number. */
  *allAfter(id: number): Iterable<ReadEvent> {
    for (let next = this.after(id); next !== undefined; next = this.after(next.id)) yield next
  }

  /**
   * All events after a number, in the form in which they are stored: each piece of a text is separate, and each piece that was taken back
   * is a `voidEvent`.
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
   * Adds a listener that is called when there is something new to read, or when nothing more will come. Returns a function that removes it.
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

  /** Drops the pieces of a response that broke off, so that later readers do not get them. */
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
    // Dropping in batches keeps the cost per event constant.
    if (this.#head < 1_024 && this.#head * 2 < this.#entries.length) return
    this.#entries = this.#entries.slice(this.#head)
    this.#head = 0
  }

  /** The entry that contains an event, or the next one if it was taken back. */
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

/** Events stored as one. */
interface Entry {
  /** The numbers of its first and last event. */
  readonly first: number
  readonly last: number
  readonly event: RunEvent
  readonly characters: number
  /** The part of this entry after the event with this number. */
  behind(id: number): ReadEvent
  each(): Iterable<LoggedEvent>
}

/** Any event other than a piece of a text: as an object or as JSON, whichever was given. */
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

/** Adjacent pieces of a text. */
class PiecedText implements Entry {
  readonly first: number
  /** The first of the events, without its piece. */
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
