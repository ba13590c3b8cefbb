import { atReferencePace, threadCpuMs } from '../../reference-pace.ts'

/**
 * The longest time that this thread's event loop was blocked, in milliseconds of the thread's own CPU time at the pace of the reference
 * machine. Other load on the machine does not count.
 */
export async function longestStall<T>(work: () => Promise<T>): Promise<{ value: T; stallMs: number }> {
  let [last, longest] = [threadCpuMs(), 0]
  const look = () => {
    const now = threadCpuMs()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(look, 2)
  try {
    const value = await work()
    look()
    return { value, stallMs: atReferencePace(longest) }
  } finally {
    clearInterval(timer)
  }
}
