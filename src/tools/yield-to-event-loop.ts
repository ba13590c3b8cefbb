import type { InParts } from '../core/time/in-parts.ts'

/** In one turn of the event loop, for those who have waited and for those who have just come. */
const longestWorkMs = 8

/** When the work that is being done now began; undefined: none is. */
let busySince: number | undefined
/** Those who wait for their turn, in order. */
const waiting: (() => void)[] = []
let isScheduled = false
/** The one there is before a test puts a clock of its own in its place: whoever waits for that one waits for ever. */
const { setImmediate } = globalThis

/**
 * For work in many parts, such as compiling very many schemas: between two of them, everything else gets its turn when it has waited for some
 * time. In each turn of the event loop one of those who wait goes on, so that many at once hold it up no longer than one.
 */
export class Pauses {
  /** Waits where the work of this turn has taken long. Rejects with the signal's reason. */
  async take(signal?: AbortSignal): Promise<void> {
    if (this.areDue()) await this.turn(signal)
  }

  /** Does work in parts, and waits between two of them as `take` does. Rejects with what the work throws. */
  async during<T>(work: InParts<T>): Promise<T> {
    for (;;) {
      const step = work.next()
      if (step.done === true) return step.value
      if (this.areDue()) await this.turn()
    }
  }

  /** Whether the work of this turn has taken long: for those who are not to wait otherwise, not even for a promise. */
  areDue(): boolean {
    const now = performance.now()
    busySince ??= now
    schedule()
    return now - busySince >= longestWorkMs
  }

  /** Waits in any case: before work that takes long and can't be done in parts. Rejects with the signal's reason. */
  async turn(signal?: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      schedule()
    })
    signal?.throwIfAborted()
  }
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(() => {
    const next = waiting.shift()
    if (next === undefined) return
    busySince = performance.now()
    next()
  })
  // Behind whatever the one above has done.
  setImmediate(() => {
    busySince = undefined
    isScheduled = false
    if (waiting.length > 0) schedule()
  })
}
