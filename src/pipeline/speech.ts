import type { EventBus } from '../core/callbacks/event-bus.ts'
import { Event } from '../core/events.ts'
import type { SentenceSplitter } from './sentence-splitter.ts'

export interface SpeakerParts {
  bus: EventBus
  runId: string
  splitter: SentenceSplitter
  signal?: AbortSignal
}

/** Publishes what one run says as `LLM_SENTENCE`; nothing once its signal is aborted. */
export class Speaker {
  readonly runId: string
  readonly #bus: EventBus
  readonly #splitter: SentenceSplitter
  readonly #signal: AbortSignal | undefined

  constructor({ bus, runId, splitter, signal }: SpeakerParts) {
    this.runId = runId
    this.#bus = bus
    this.#splitter = splitter
    this.#signal = signal
  }

  /** The next piece of a text. */
  say(text: string, iteration: number): void {
    this.#publish(this.#splitter.push(text), iteration)
  }

  /** The text broke off, and begins again: the sentence it was in is not spoken. */
  beginAgain(): void {
    this.#splitter.end()
  }

  /** The text is whole: what is left of it is a sentence too. */
  finish(iteration: number): void {
    this.#publish(this.#splitter.end(), iteration)
  }

  #publish(sentences: readonly string[], iteration: number): void {
    for (const text of sentences) {
      // Looked at before each: a listener may abort while it hears one.
      if (this.#signal?.aborted) return
      this.#bus.emit(Event.LLM_SENTENCE, { text }, { runId: this.runId, iteration, time: Date.now() })
    }
  }
}

/**
 * Lets speakers speak while their runs' text arrives. It listens to the bus only while there is a run to follow: whether anybody hears a
 * text as it comes decides whether a response that breaks off can be asked for again.
 */
export class LiveSpeech {
  readonly #bus: EventBus
  readonly #speakers = new Map<string, Speaker>()
  #unsubscribe: (() => void)[] = []

  constructor(bus: EventBus) {
    this.#bus = bus
  }

  /** Returns the function that ends it. */
  follow(speaker: Speaker): () => void {
    if (this.#speakers.size === 0) this.#subscribe()
    this.#speakers.set(speaker.runId, speaker)
    return () => {
      this.#speakers.delete(speaker.runId)
      if (this.#speakers.size > 0) return
      for (const unsubscribe of this.#unsubscribe) unsubscribe()
      this.#unsubscribe = []
    }
  }

  #subscribe(): void {
    this.#unsubscribe = [
      this.#bus.on(Event.TEXT_DELTA, ({ text }, { runId, iteration }) => this.#speakers.get(runId)?.say(text, iteration)),
      // Of a turn that failed or was aborted, the last half sentence is not spoken. One that was cut may be continued.
      this.#bus.on(Event.MODEL_END, ({ finishReason, errorCode }, { runId, iteration }) => {
        const isWhole = finishReason !== 'content_filter' && finishReason !== 'length' && errorCode === undefined
        if (isWhole) this.#speakers.get(runId)?.finish(iteration)
      }),
      this.#bus.on(Event.MODEL_START, ({ continues }, { runId, iteration }) => {
        if (!continues) this.#speakers.get(runId)?.finish(iteration - 1)
      }),
      this.#bus.on(Event.MODEL_RETRY, ({ discards }, { runId }) => {
        if (discards) this.#speakers.get(runId)?.beginAgain()
      }),
      this.#bus.on(Event.RUN_END, ({ stopReason }, { runId, iteration }) => {
        if (stopReason === 'truncated') this.#speakers.get(runId)?.finish(iteration)
      }),
    ]
  }
}
