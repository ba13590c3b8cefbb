import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'
import type { Attributes } from '../api.ts'

/** With `content`, a span has a whole conversation. */
const mostCharacters = 16_000_000
const mostCharactersOfRequest = 500_000

/** Limits how many spans wait to be exported, by their number and their size. */
export class SpanRoom {
  readonly #mostSpans: number
  #spans = 0
  #characters = 0
  /** The number of spans that there was no room for, or that did not arrive. */
  lost = 0

  constructor(mostSpans: number) {
    this.#mostSpans = mostSpans
  }

  /** Gives `processor` the spans that there is room for. */
  limit<Own extends SpanProcessor>(processor: Own): Own {
    const end = processor.onEnd.bind(processor)
    processor.onEnd = (span) => {
      const size = sizeOf(span)
      if (this.#spans >= this.#mostSpans || this.#characters + size > mostCharacters) {
        this.lost++
        return
      }
      this.#spans++
      this.#characters += size
      end(span)
    }
    return processor
  }

  /** Of spans that are exported, or are not going to be. */
  free(spans: readonly ReadableSpan[]): void {
    for (const span of spans) {
      this.#spans--
      this.#characters -= sizeOf(span)
    }
  }
}

/** Spans in requests of a limited size. */
export function splitBySize(spans: readonly ReadableSpan[]): ReadableSpan[][] {
  const parts: ReadableSpan[][] = []
  let characters = Number.POSITIVE_INFINITY
  for (const span of spans) {
    characters += sizeOf(span)
    if (characters > mostCharactersOfRequest) {
      parts.push([])
      characters = sizeOf(span)
    }
    parts.at(-1)?.push(span)
  }
  return parts
}

/** The approximate number of characters. */
function sizeOf({ attributes, events }: ReadableSpan): number {
  return events.reduce(
    (sum, event) => sum + event.name.length + sizeOfAttributes(event.attributes ?? {}),
    200 + sizeOfAttributes(attributes),
  )
}

function sizeOfAttributes(attributes: Attributes): number {
  let size = 0
  for (const [key, value] of Object.entries(attributes)) {
    size += key.length + 16
    if (typeof value === 'string') size += value.length
    else if (Array.isArray(value)) for (const item of value) size += typeof item === 'string' ? item.length : 8
  }
  return size
}
