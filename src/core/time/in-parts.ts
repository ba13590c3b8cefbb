/** Long work in parts: where it yields, whoever does it may let others get their turn (`inTurns`). */
export type InParts<T> = Generator<undefined, T, undefined>

/** Does all of it at once. */
export function atOnce<T>(work: InParts<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
