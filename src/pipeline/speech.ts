import type { EventBus } from '../core/callbacks/event-bus.ts'
import { Event } from '../core/events.ts'
import type { SentenceSplitter } from './sentence-splitter.ts'

export interface SpeakerParts {
  bus: EventBus
  runId: string
  splitter: SentenceSplitter
  signal?: AbortSignal
}

/** Publishes the text of one run as `LLM_SENTENCE` events until the run is aborted. */
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

  /** Adds the next piece of the text, and publishes the sentences that are now complete. */
  say(text: string, iteration: number): void {
    this.#publish(this.#splitter.push(text), iteration)
  }

  /** Drops the unfinished sentence. Called when a response is discarded and requested again. */
  beginAgain(): void {
    this.#splitter.end()
  }

  /** Publishes the rest of the text. */
  finish(iteration: number): void {
    this.#publish(this.#splitter.end(), iteration)
  }

  #publish(sentences: readonly string[], iteration: number): void {
    for (const text of sentences) {
      // The signal is checked before each sentence, because a listener may abort the run.
      if (this.#signal?.aborted) return
      this.#bus.emit(Event.LLM_SENTENCE, { text }, { runId: this.runId, iteration, time: Date.now() })
    }
  }
}

/**
 * Passes the text of runs to their speakers while it arrives. Listens to the bus only while a run is followed: a response whose text has
 * listeners can't be requested again after it breaks off.
 */
export class LiveSpeech {
  readonly #bus: EventBus
  readonly #speakers = new Map<string, Speaker>()
  #unsubscribe: (() => void)[] = []

  constructor(bus: EventBus) {
    this.#bus = bus
  }

  /** Starts to follow the run of `speaker`. Returns a function that stops following the run. */
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
      // The last sentence of a failed turn is not published. A response that was cut off may be continued, so its last sentence has to
      // wait.
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
