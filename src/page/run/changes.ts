import { batch, signal } from '@preact/signals'

/** How long changes are collected before the page is updated, in milliseconds. Changes often come in groups. */
const burstMs = 60
/** The pause between updates is this many times the duration of the last one, up to `longestRestMs`. */
const restPerDrawing = 2
const longestRestMs = 200

const changed = new Set<Changes>()
let telling: number | undefined
let pauseMs = burstMs

/** Tells components that show large data when the data has changed. */
export class Changes {
  #count = signal(0)

  /** Makes the current component re-render after each change. */
  watch(): void {
    this.#count.value
  }

  tell(): void {
    changed.add(this)
    if (telling === undefined) telling = setTimeout(tellAll, pauseMs)
  }

  /** Re-renders the components that have called `watch`. */
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
  // The timer starts after the frame in which the change is drawn.
  requestAnimationFrame(() => {
    setTimeout(() => {
      pauseMs = Math.min(Math.max(burstMs, restPerDrawing * (performance.now() - began)), longestRestMs)
    }, 0)
  })
}
