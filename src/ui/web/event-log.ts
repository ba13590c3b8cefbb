import { Event, type RunEvent } from '../../core/events.ts'
import { continues, type Delta, isDelta, pieceOf, withoutVoid, withPiece } from './deltas.ts'

/** An event as it is stored: its number, its type, and the whole of it as JSON. */
export interface LoggedEvent {
  id: number
  type: string
  data: string
}

/** An event as it is read. */
export interface ReadEvent {
  /** Its number; that of the last one if several pieces of a text are read as one. */
  readonly id: number
  readonly type: string
  readonly event: RunEvent
  /** As JSON. */
  readonly data: string
}

export interface EventLogBounds {
  /** Most events that are kept. Default: as many as the characters allow. */
  events?: number
  /** Most characters that are kept. */
  characters: number
}

/** The type of a stored event that was taken back: only its number is left. */
const voidEvent = 'VOID'

/** The most of one text that is read at once: in characters and in events. */
const maxPiece = 65_536
const maxPieces = 500
/** What an event costs besides its text, counted as characters. */
const perEvent = 200
const perPiece = 16

/**
 * The latest events of a run, or of all runs, numbered from 1, for any number of readers. Bounded: the oldest are dropped, the newest stays
 * whatever its size. A reader is a place in the log and nothing else, so it costs no memory, however slow it is. Neighbouring pieces of a text
 * are read as one.
 */
export class EventLog {
  readonly #bounds: Required<EventLogBounds>
  readonly #listeners = new Set<() => void>()
  #entries: Entry[] = []
  /** Where the oldest entry is in the list; those before it have been dropped. */
  #head = 0
  #last = 0
  /** The oldest event that is stored elsewhere, if none has been read. */
  #first: number | undefined
  #characters = 0

  /** `stored`: the numbers of the oldest and the newest event that are stored elsewhere. */
  constructor({ events = Number.POSITIVE_INFINITY, characters }: EventLogBounds, stored?: { first: number; last: number }) {
    this.#bounds = { events, characters }
    this.#first = stored?.first
    this.#last = stored?.last ?? 0
  }

  /** Of the newest event; 0 before the first. */
  get lastId(): number {
    return this.#last
  }

  /** Of the oldest event that is kept; one past the newest when none is. */
  get firstId(): number {
    return this.#entries[this.#head]?.first ?? this.#first ?? this.#last + 1
  }

  get characters(): number {
    return this.#characters
  }

  /** `data`: the event as JSON, which is kept in its place. */
  append(event: RunEvent, data?: string): void {
    const id = ++this.#last
    this.#first = undefined
    if (event.type === Event.MODEL_RETRY && event.discards) this.#discard(event)
    if (isDelta(event)) this.#appendPiece(id, event)
    else this.#add(new WholeEvent(id, event.type, data ?? event))
    this.wake()
  }

  /** Adds an event that was stored elsewhere. If it doesn't follow the newest, those before it are dropped. */
  read({ id, type, data }: LoggedEvent): void {
    if (id !== this.#last + 1) this.clear(id - 1)
    // Only pieces of texts and what takes them back have to be looked into.
    if (type.endsWith('_DELTA') || type === Event.MODEL_RETRY) this.append(JSON.parse(data), data)
    else {
      this.#last = id
      this.#first = undefined
      if (type !== voidEvent) this.#add(new WholeEvent(id, type, data))
      this.wake()
    }
  }

  /** Has these stored events from now on; `last` is the number of the newest that there is. A reader is told of those that are missing. */
  fill(events: readonly LoggedEvent[], last: number): void {
    this.clear(0)
    for (const event of events) this.read(event)
    if (this.#last < last) this.clear(last)
  }

  /** Drops all events; the next one has the number behind `last`. */
  clear(last: number = this.#last): void {
    this.#first = undefined
    this.#entries = []
    this.#head = 0
    this.#characters = 0
    this.#last = last
  }

  /** What comes after the event of that number; undefined if there is nothing yet. */
  after(id: number): ReadEvent | undefined {
    return this.#entryOf(Math.max(id + 1, this.firstId))?.behind(id)
  }

  /** All that comes after the event of that number. */
  *allAfter(id: number): Iterable<ReadEvent> {
    for (let next = this.after(id); next !== undefined; next = this.after(next.id)) yield next
  }

  /** The same, each piece of a text by itself, and a `voidEvent` for each that was taken back: as events are stored. */
  *eachAfter(id: number): Iterable<LoggedEvent> {
    let next = Math.max(id + 1, this.firstId)
    for (const entry of this.#entries.slice(this.#head)) {
      for (; next < entry.first; next++) yield { id: next, type: voidEvent, data: '' }
      for (const event of entry.each()) if (event.id >= next) yield event
      next = Math.max(next, entry.last + 1)
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

  #appendPiece(id: number, delta: Delta): void {
    const newest = this.#entries.at(-1)
    if (newest instanceof PiecedText && newest.continuesWith(id, delta)) {
      this.#characters += newest.push(delta)
      this.#dropOldest()
    } else this.#add(new PiecedText(id, delta))
  }

  /** Drops the pieces of a response that broke off: who has not read them yet need not. */
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
    // Dropping in batches keeps the cost of one event constant.
    if (this.#head < 1_024 && this.#head * 2 < this.#entries.length) return
    this.#entries = this.#entries.slice(this.#head)
    this.#head = 0
  }

  /** The entry that an event is in, or the one behind it if it was taken back. */
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

/** Events that are kept as one. */
interface Entry {
  /** The numbers of the first and the last event in it. */
  readonly first: number
  readonly last: number
  readonly event: RunEvent
  readonly characters: number
  /** What of it comes after the event of that number. */
  behind(id: number): ReadEvent
  each(): Iterable<LoggedEvent>
}

/** Any event but a piece of a text: as an object or as JSON, whichever it was given as. */
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

/** Neighbouring pieces of one text. */
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

  /** Returns by how many characters it has grown. */
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
