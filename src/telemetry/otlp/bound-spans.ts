import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'
import type { Attributes } from '../api.ts'

/** Maximum number of characters in all waiting spans together. With `content`, a single span contains a whole conversation. */
const mostCharacters = 16_000_000
/** Maximum number of characters in the spans of one request. */
const mostCharactersOfRequest = 500_000

/** Limits the spans that wait to be exported, by number and size. */
export class SpanRoom {
  readonly #mostSpans: number
  #spans = 0
  #characters = 0
  /** The number of spans that were lost, because there was no room for them or because their export failed. */
  lost = 0

  constructor(mostSpans: number) {
    this.#mostSpans = mostSpans
  }

  /** Makes a processor drop spans for which there is no room. Returns the same processor. */
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

  /** Releases the room of spans that were exported or dropped. */
  free(spans: readonly ReadableSpan[]): void {
    for (const span of spans) {
      this.#spans--
      this.#characters -= sizeOf(span)
    }
  }
}

/** Groups spans into requests of a limited size. */
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

/** Returns the approximate number of characters of a span. */
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
