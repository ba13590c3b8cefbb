import type { EventName, RunEvent } from '../../core/events.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'

/** An event that carries a piece of text. */
export type Delta = Extract<RunEvent, { type: 'TEXT_DELTA' | 'REASONING_DELTA' | 'TOOL_INPUT_DELTA' }>

export function isDelta(event: RunEvent): event is Delta {
  return event.type === 'TEXT_DELTA' || event.type === 'REASONING_DELTA' || event.type === 'TOOL_INPUT_DELTA'
}

/** Whether two pieces belong to the same text. Deltas of the same kind in the same turn share one `meta` object. */
export function continues(last: RunEvent, delta: Delta): boolean {
  if (last.type !== delta.type || last.meta.runId !== delta.meta.runId || last.meta.iteration !== delta.meta.iteration) return false
  return last.type !== 'TOOL_INPUT_DELTA' || delta.type !== 'TOOL_INPUT_DELTA' || last.index === delta.index
}

export function pieceOf(delta: Delta): string {
  return delta.type === 'TOOL_INPUT_DELTA' ? delta.json : delta.text
}

/** Returns a copy of the delta with another piece of text. */
export function withPiece(delta: Delta, piece: string): Delta {
  return delta.type === 'TOOL_INPUT_DELTA' ? { ...delta, json: piece } : { ...delta, text: piece }
}

/** Removes the deltas of a response that a `MODEL_RETRY` has discarded. */
export function withoutVoid<Entry extends { event: RunEvent }>(entries: readonly Entry[], { meta: { runId } }: RunEvent): Entry[] {
  const from = entries.findLastIndex(({ event: { type, meta } }) => type === 'MODEL_START' && meta.runId === runId)
  const isVoid = ({ type, meta }: RunEvent) => pieces.has(type) && meta.runId === runId
  return entries.filter(({ event }, at) => at < from || !isVoid(event))
}

const pieces: ReadonlySet<EventName> = new Set(['TEXT_DELTA', 'REASONING_DELTA', 'TOOL_INPUT_START', 'TOOL_INPUT_DELTA'])

/**
 * Stores events that no consumer has read yet, and that may never be read. Joins adjacent pieces of a text, and keeps only the latest
 * progress report of each call, so that the events take little more memory than the run's result.
 */
export class Backlog {
  #events: RunEvent[] = []
  /** If the last event is a delta, the pieces of its text. */
  #pieces = new TextBuffer()
  /** The position of each call's latest progress report. */
  readonly #reports = new Map<string, number>()

  add(event: RunEvent): void {
    const last = this.#events.at(-1)
    if (isDelta(event)) {
      if (last === undefined || !continues(last, event)) this.#begin(event)
      this.#pieces.add(pieceOf(event))
      return
    }
    if (event.type !== 'TOOL_PROGRESS') {
      if (event.type === 'MODEL_RETRY' && event.discards) this.#discard(event)
      this.#begin(event)
      return
    }
    const call = `${event.meta.runId} ${event.meta.toolCallId}`
    const at = this.#reports.get(call)
    if (at !== undefined) this.#events[at] = event
    else {
      this.#begin(event)
      this.#reports.set(call, this.#events.length - 1)
    }
  }

  /** Drops the pieces of a response that was cut off. No consumer has read them yet. */
  #discard(retry: RunEvent): void {
    const entries = this.drain().map((event) => ({ event }))
    for (const { event } of withoutVoid(entries, retry)) this.add(event)
  }

  drain(): RunEvent[] {
    this.#join()
    const events = this.#events
    this.#events = []
    this.#reports.clear()
    return events
  }

  #begin(event: RunEvent): void {
    this.#join()
    this.#events.push(event)
  }

  #join(): void {
    const last = this.#events.at(-1)
    if (last === undefined || !isDelta(last)) return
    const whole = this.#pieces.toString()
    this.#pieces = new TextBuffer()
    this.#events[this.#events.length - 1] = withPiece(last, whole)
  }
}
