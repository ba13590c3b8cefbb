/** The longest that this thread's event loop was blocked, in milliseconds of the thread's own CPU time: other load on the machine doesn't count. */
export async function longestStall<T>(work: () => Promise<T>): Promise<{ value: T; stallMs: number }> {
  const used = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  let [last, stallMs] = [used(), 0]
  const look = () => {
    const now = used()
    stallMs = Math.max(stallMs, now - last)
    last = now
  }
  const timer = setInterval(look, 2)
  try {
    const value = await work()
    look()
    return { value, stallMs }
  } finally {
    clearInterval(timer)
  }
}
