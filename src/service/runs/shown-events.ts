import type { RunEvent } from '../../core/events.ts'
import type { JsonObject } from '../../core/messages.ts'
import { Backlog, isDelta, pieceOf } from '../../ui/web/deltas.ts'

/** Maximum number of characters up to which a run's events are kept unchanged. */
const mostKept = 262_144
/** Estimated memory of an event without its texts, and of each value in it, in characters. */
const perEvent = 200
const perValue = 8

/**
 * Buffers the events of a run until a client asks for them. Buffered events are neither redacted nor written, which saves this work if no
 * client ever asks.
 */
export class ShownEvents {
  readonly #show: (event: RunEvent) => Promise<void>
  /** The buffered events. Undefined if each event is shown at once. */
  #kept: Backlog | undefined
  #characters = 0
  /** The metadata of the run, which its events share. */
  #metadata: JsonObject | undefined
  /** The events that will be shown next. */
  readonly #waiting: RunEvent[] = []
  #shown = Promise.resolve()

  /** `show` is called for one event at a time. If `isSeen` is true, events are shown from the start instead of being buffered. */
  constructor(show: (event: RunEvent) => Promise<void>, isSeen: boolean) {
    this.#show = show
    this.#kept = isSeen ? undefined : new Backlog()
  }

  /** Whether the events are still buffered: no client has asked for them, and they are small enough. */
  get isUnseen(): boolean {
    return this.#kept !== undefined
  }

  /** The size of the buffered events, in characters. */
  get characters(): number {
    return this.#characters
  }

  /** Buffers an event if earlier events are still buffered. Otherwise, shows it after all earlier events. */
  take(event: RunEvent): void {
    if (this.#kept === undefined) this.#waiting.push(event)
    else {
      this.#kept.add(event)
      this.#characters += isDelta(event) ? perEvent + pieceOf(event).length : sizeOf(event)
      const { metadata } = event.meta
      if (metadata !== undefined && metadata !== this.#metadata) this.#characters += JSON.stringify(metadata).length
      this.#metadata = metadata
      if (this.#characters <= mostKept) return
    }
    // An error is ignored here, because the code that waits for the events gets the same error.
    this.reveal().catch(() => {})
  }

  /** Returns the buffered events, and removes them from the buffer. Adjacent pieces of a text are joined. */
  drain(): RunEvent[] {
    return this.#kept?.drain() ?? []
  }

  /** Shows all buffered events. Events that follow are shown at once. Rejects if an event can't be shown. */
  reveal(): Promise<void> {
    this.#waiting.push(...this.drain())
    this.#kept = undefined
    this.#characters = 0
    this.#shown = this.#shown.then(async () => {
      for (const event of this.#waiting.splice(0)) await this.#show(event)
    })
    return this.#shown
  }
}

/**
 * Returns the approximate size of an event, which includes all texts at any depth. Stops counting at the limit. `value` is not counted,
 * because it is as large as `result` or is dropped.
 */
function sizeOf(event: RunEvent): number {
  let size = perEvent
  const open: unknown[] = [{ ...event, meta: undefined, value: undefined }]
  for (let item = open.pop(); open.length > 0 || item !== undefined; item = open.pop()) {
    if (typeof item === 'string') size += item.length
    else if (typeof item === 'object' && item !== null)
      for (const name in item) {
        size += perValue + name.length
        open.push(Reflect.get(item, name))
      }
    if (size > mostKept) break
  }
  return size
}
