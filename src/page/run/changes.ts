import { batch, signal } from '@preact/signals'

/** Changes come in bursts: what shows them is drawn once for all of one. */
const burstMs = 60
/** Where drawing takes long, it rests so many times longer, up to a bound: what comes meanwhile is taken in. */
const restPerDrawing = 2
const longestRestMs = 200

const changed = new Set<Changes>()
let telling: number | undefined
let pauseMs = burstMs

/** Tells those who look at something large of its changes. */
export class Changes {
  #count = signal(0)

  /** The component that is being drawn is drawn anew after a change. */
  watch(): void {
    this.#count.value
  }

  /** Something has changed. */
  tell(): void {
    changed.add(this)
    if (telling === undefined) telling = setTimeout(tellAll, pauseMs)
  }

  /** Draws what looks at it. */
  draw(): void {
    this.#count.value++
  }
}

function tellAll(): void {
  telling = undefined
  const began = performance.now()
  batch(() => {
    for (const one of changed) one.draw()
  })
  changed.clear()
  // Behind the frame in which it is drawn.
  requestAnimationFrame(() => {
    setTimeout(() => {
      pauseMs = Math.min(Math.max(burstMs, restPerDrawing * (performance.now() - began)), longestRestMs)
    }, 0)
  })
}
