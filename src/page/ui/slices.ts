/** How long is worked without a break: in between, the page answers. */
const sliceMs = 12

/** Does much work a step at a time. Resolves with whether all of it was done: not where `isOver`, because nobody wants it any more. */
export async function inSlices(steps: Iterable<unknown>, isOver = () => false): Promise<boolean> {
  let end = performance.now() + sliceMs
  for (const _ of steps) {
    if (performance.now() < end) continue
    await nextTask()
    if (isOver()) return false
    end = performance.now() + sliceMs
  }
  return true
}

/** When the page has had its turn. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}
