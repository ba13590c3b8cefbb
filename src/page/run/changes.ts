import { signal } from '@preact/signals'

/** Changes come in bursts: what shows them is drawn once for all of one, some milliseconds after the first. */
const burstMs = 60

/** Tells those who look at something large of its changes. */
export class Changes {
  #count = signal(0)
  #telling: number | undefined

  /** The component that is being drawn is drawn anew after a change. */
  watch(): void {
    this.#count.value
  }

  /** Something has changed. */
  tell(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined
      this.#count.value++
    }, burstMs)
  }
}
