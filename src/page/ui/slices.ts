import { useEffect, useState } from 'preact/hooks'

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

/** How many more of a list are drawn in one task. */
const sliceSize = 50

/** The first of many items, soon followed by the others a slice at a time: in between, the page answers. */
export function useInSlices<Item>(items: readonly Item[]): readonly Item[] {
  const [length, setLength] = useState(sliceSize)
  useEffect(() => {
    // Of fewer, what comes back later is new as well.
    if (items.length < length) setLength(Math.max(sliceSize, items.length))
    if (items.length <= length) return
    const timer = setTimeout(() => setLength(length + sliceSize), 0)
    return () => clearTimeout(timer)
  }, [items.length, length])
  return items.slice(0, length)
}
