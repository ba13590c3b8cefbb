import { useEffect, useState } from 'preact/hooks'

/** How long to work before other tasks get a turn, in milliseconds. This keeps the page responsive. */
const sliceMs = 12

/** Does a long task in small steps. Resolves with false if `isOver` has returned true before the task was finished, otherwise with true. */
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

/** Resolves after the page has handled other work. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}

/** Number of list items that are added in one task. */
const sliceSize = 50

/** Returns the first items of a long list, and adds the others in slices, so that the page stays responsive. */
export function useInSlices<Item>(items: readonly Item[]): readonly Item[] {
  const [length, setLength] = useState(sliceSize)
  useEffect(() => {
    // If the list has become shorter, `length` shrinks too: items that are added later are shown in slices again.
    if (items.length < length) setLength(Math.max(sliceSize, items.length))
    if (items.length <= length) return
    const timer = setTimeout(() => setLength(length + sliceSize), 0)
    return () => clearTimeout(timer)
  }, [items.length, length])
  return items.slice(0, length)
}
