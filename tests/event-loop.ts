/** The result of `work`, and the number of turns of the event loop meanwhile: 0 for work that never yields. */
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
