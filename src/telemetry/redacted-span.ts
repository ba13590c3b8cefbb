import { syncAnswer } from '../core/callbacks/callbacks.ts'
import { withoutUndefined } from '../core/messages.ts'
import { redactText } from '../core/redaction/redact.ts'
import { SecretTexts } from '../core/redaction/secret-texts.ts'
import type { Attributes, AttributeValue, Counter, Histogram, Span, SpanStatus } from './api.ts'

/**
 * Wraps a span. Removes `secrets` from events and errors. Throws if a method of the span returns a promise: TypeScript's types don't
 * prevent this.
 */
export class RedactedSpan {
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
    syncAnswer('setAttributes', this.#span.setAttributes(withoutUndefined(attributes)))
  }

  addEvent(name: string, attributes: Attributes): void {
    const shown = withoutUndefined(attributes)
    for (const [key, value] of Object.entries(shown)) if (typeof value === 'string') shown[key] = this.#clean(value)
    syncAnswer('addEvent', this.#span.addEvent(name, shown))
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

/** Records a value. Attributes that are undefined are left out. */
export function recordIn(histogram: Histogram | undefined, value: number, attributes: Attributes): void {
  syncAnswer('record', histogram?.record(value, attributes))
}

export function addTo(counter: Counter | undefined, value: number, attributes: Attributes): void {
  syncAnswer('add', counter?.add(value, attributes))
}
