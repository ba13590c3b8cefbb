import type { OtlpMessage } from './encode.ts'
import type { OtlpSender } from './sender.ts'
import type { OtlpSettings } from './settings.ts'
import type { OtlpSpan } from './span.ts'

/** Spans may have all that was said: so many characters wait at most, and so many are put into one request, which is written in one go. */
const charactersInQueue = 16_000_000
const charactersInBatch = 500_000

interface SpanQueueParts {
  sender: OtlpSender
  settings: OtlpSettings['spans']
  /** The spans of one request as a message. */
  messageOf(spans: readonly OtlpSpan[]): OtlpMessage
  /** One for which there is no room is not kept. */
  dropped(): void
}

/** Spans that have ended, until they are sent: a batch after the other, one at a time. */
export class SpanQueue {
  readonly #parts: SpanQueueParts
  readonly #stop = new AbortController()
  #waiting: { span: OtlpSpan; size: number }[] = []
  #characters = 0
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined

  constructor(parts: SpanQueueParts) {
    this.#parts = parts
  }

  add(span: OtlpSpan): void {
    const { inQueue, inBatch, delayMs } = this.#parts.settings
    const { size } = span
    if (this.#stop.signal.aborted || this.#waiting.length >= inQueue || this.#characters + size > charactersInQueue) {
      this.#parts.dropped()
      return
    }
    this.#waiting.push({ span, size })
    this.#characters += size
    if (this.#waiting.length >= inBatch || this.#characters >= charactersInBatch) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), delayMs).unref()
  }

  /** Sends what waits, for at most so long. */
  async close(deadline: AbortSignal): Promise<void> {
    deadline.addEventListener('abort', () => this.#stop.abort(), { once: true })
    if (deadline.aborted) this.#stop.abort()
    this.#send()
    await this.#sending
    for (const _ of this.#waiting) this.#parts.dropped()
    this.#stop.abort()
  }

  #send(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  async #sendAll(): Promise<void> {
    const { sender, messageOf, dropped } = this.#parts
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      const batch = this.#take()
      const isThere = await sender.send(messageOf(batch), this.#stop.signal)
      if (!isThere) for (const _ of batch) dropped()
    }
  }

  #take(): OtlpSpan[] {
    let characters = 0
    let count = 0
    for (const { size } of this.#waiting.slice(0, this.#parts.settings.inBatch)) {
      if (count > 0 && characters + size > charactersInBatch) break
      characters += size
      count++
    }
    this.#characters -= characters
    return this.#waiting.splice(0, count).map(({ span }) => span)
  }
}
