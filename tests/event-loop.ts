/** What `work` comes to, and how often the event loop went around meanwhile: work that lets nobody in between has no turns. */
export async function turnsWhile<T>(work: () => Promise<T>): Promise<{ value: T; turns: number }> {
  let turns = 0
  let isOver = false
  const count = () => {
    if (isOver) return
    turns++
    setImmediate(count)
  }
  setImmediate(count)
  try {
    return { value: await work(), turns }
  } finally {
    isOver = true
  }
}
