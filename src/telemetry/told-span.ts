import { syncAnswer } from '../core/callbacks/callbacks.ts'
import { redactText } from '../core/redaction/redact.ts'
import { SecretTexts } from '../core/redaction/secret-texts.ts'
import type { Attributes, AttributeValue, Counter, Histogram, Span, SpanStatus } from './api.ts'

/**
 * What spans are told. Events and errors are told without `secrets`. A method that returns a promise fails: an async function fits where the types
 * say otherwise.
 */
export class ToldSpan {
  readonly #span: Span
  readonly #secrets: SecretTexts

  constructor(span: Span, secrets: SecretTexts = new SecretTexts()) {
    this.#span = span
    this.#secrets = secrets
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
    const shown = Object.entries(attributes).map(([key, value]) => [key, typeof value === 'string' ? this.#clean(value) : value] as const)
    syncAnswer('addEvent', this.#span.addEvent(name, Object.fromEntries(shown)))
  }

  setStatus({ message, ...status }: SpanStatus): void {
    syncAnswer('setStatus', this.#span.setStatus(message === undefined ? status : { ...status, message: this.#clean(message) }))
  }

  end(): void {
    syncAnswer('end', this.#span.end())
  }

  #clean(text: string): string {
    return redactText(text, this.#secrets)
  }
}

/** The same for instruments. */
export function recordIn(histogram: Histogram | undefined, value: number, attributes: Attributes): void {
  syncAnswer('record', histogram?.record(value, attributes))
}

export function addTo(counter: Counter | undefined, value: number, attributes: Attributes): void {
  syncAnswer('add', counter?.add(value, attributes))
}
