import { Event, type RunEvent } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import { withShownAbout } from '../nested/shown-question.ts'
import { continues, isDelta, pieceOf, withoutVoid, withPiece } from '../run/deltas.ts'
import type { EndedRun } from './run-ending.ts'

/** Events that are kept, or pieces of one text as one. */
interface Entry {
  event: RunEvent
  /** The numbers of the first and the last event in it. */
  first: number
  last: number
  /** One for each event, where it is a text. */
  pieces?: string[]
  characters: number
}

/** An event as it is read, and the number of the last one in it. */
export interface ReadEvent {
  id: number
  event: RunEvent
}

/** What is kept of a run for those who read slowly, or come again, in characters. */
const maxCharacters = 4_000_000
/** Of one text that is read at once. */
const maxPiece = 65_536
/** What an event costs besides its text, counted as characters. */
const perEvent = 200
const perPiece = 16

/**
 * The events of one run, numbered from 1, for any number of readers. Bounded: the oldest give way. A reader is a place in it and nothing
 * else, so however many there are, and however slow, they hold no memory. Neighbouring pieces of a text are read as one.
 */
export class RunLog {
  readonly #listeners = new Set<() => void>()
  readonly #maxCharacters: number
  #entries: Entry[] = []
  /** Where the oldest entry is in the list; those before it have been given up. */
  #head = 0
  #last = 0
  #characters = 0
  #ended: EndedRun | undefined

  constructor(characters: number = maxCharacters) {
    this.#maxCharacters = characters
  }

  /** Of the newest event; 0 before the first. */
  get lastId(): number {
    return this.#last
  }

  /** Of the oldest event that is kept; one past the newest when none is. */
  get firstId(): number {
    return this.#entries[this.#head]?.first ?? this.#last + 1
  }

  /** How the run ended, once it has. */
  get ended(): EndedRun | undefined {
    return this.#ended
  }

  append(event: RunEvent): void {
    const id = ++this.#last
    if (event.type === Event.MODEL_RETRY && event.discards) this.#discard(event)
    const newest = this.#entries.at(-1)
    if (!isDelta(event)) this.#add(entryOf(id, event))
    else if (newest?.pieces !== undefined && newest.characters < maxPiece && continues(newest.event, event)) {
      newest.pieces.push(pieceOf(event))
      newest.last = id
      this.#count(newest, perPiece + pieceOf(event).length)
    } else this.#add({ event, first: id, last: id, pieces: [pieceOf(event)], characters: perEvent + pieceOf(event).length })
    this.#wake()
  }

  /** Nothing follows. */
  end(ended: EndedRun): void {
    this.#ended = ended
    this.#wake()
  }

  /** What comes after the event of that number; undefined where there is nothing yet. */
  after(id: number): ReadEvent | undefined {
    const entry = this.#entryOf(Math.max(id + 1, this.firstId))
    if (entry === undefined) return undefined
    const { event, first, last, pieces } = entry
    if (pieces === undefined || !isDelta(event)) return { id: last, event }
    return { id: last, event: withPiece(event, pieces.slice(Math.max(0, id + 1 - first)).join('')) }
  }

  /** Called when there is something new to read, or the run has ended; must not throw. Returns the function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Drops the pieces of a response that broke off: who has not read them yet need not. */
  #discard(retry: RunEvent): void {
    const kept = withoutVoid(this.#entries.slice(this.#head), retry)
    this.#entries = kept
    this.#head = 0
    this.#characters = kept.reduce((sum, { characters }) => sum + characters, 0)
  }

  #add(entry: Entry): void {
    this.#entries.push(entry)
    this.#count(entry, 0)
    this.#characters += entry.characters
    this.#giveUpOldest()
  }

  #count(entry: Entry, more: number): void {
    entry.characters += more
    this.#characters += more
    this.#giveUpOldest()
  }

  /** The newest stays whatever its size. */
  #giveUpOldest(): void {
    while (this.#characters > this.#maxCharacters && this.#head < this.#entries.length - 1) {
      this.#characters -= this.#entries[this.#head]?.characters ?? 0
      this.#head++
    }
    // Giving up in batches keeps the cost of one event constant.
    if (this.#head < 1_024 && this.#head * 2 < this.#entries.length) return
    this.#entries = this.#entries.slice(this.#head)
    this.#head = 0
  }

  /** The entry that an event is in. */
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

  #wake(): void {
    for (const listener of this.#listeners) listener()
  }
}

function entryOf(id: number, given: RunEvent): Entry {
  const event = shownEvent(given)
  return { event, first: id, last: id, characters: perEvent + JSON.stringify(event).length }
}

function shownEvent(event: RunEvent): RunEvent {
  if (event.type === Event.DECISION_NEEDED) return withShownAbout(event)
  // What a tool reports may be anything; all else in an event is JSON.
  return event.type === Event.TOOL_PROGRESS ? { ...event, update: toJson(event.update) } : event
}
