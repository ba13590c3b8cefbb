import { useEffect, useState } from 'preact/hooks'

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
