import { syncAnswer } from '../core/callbacks/callbacks.ts'
import type { Attributes, AttributeValue, Counter, Histogram, Span, SpanStatus } from './api.ts'

/** What spans are told. A method that returns a promise fails: an async function fits where the types say otherwise. */
export class ToldSpan {
  readonly #span: Span

  constructor(span: Span) {
    this.#span = span
  }

  get isRecording(): boolean {
    return syncAnswer('isRecording', this.#span.isRecording()) === true
  }

  setAttribute(name: string, value: AttributeValue): void {
    syncAnswer('setAttribute', this.#span.setAttribute(name, value))
  }

  setAttributes(attributes: Attributes): void {
    syncAnswer('setAttributes', this.#span.setAttributes(attributes))
  }

  addEvent(name: string, attributes: Attributes): void {
    syncAnswer('addEvent', this.#span.addEvent(name, attributes))
  }

  setStatus(status: SpanStatus): void {
    syncAnswer('setStatus', this.#span.setStatus(status))
  }

  end(): void {
    syncAnswer('end', this.#span.end())
  }
}

/** The same for instruments. */
export function recordIn(histogram: Histogram | undefined, value: number, attributes: Attributes): void {
  syncAnswer('record', histogram?.record(value, attributes))
}

export function addTo(counter: Counter | undefined, value: number, attributes: Attributes): void {
  syncAnswer('add', counter?.add(value, attributes))
}
