/** About 800 KB of JSON in 320,000 values. */
const text = `[${'{"a":[1,"text",{}]},'.repeat(40_000)}0]`
/** The time to read and write it on the reference machine, for which all limits in milliseconds are meant. */
const referenceMs = 25

/** The processor time of this thread, in milliseconds. If Node.js can only measure the process: that of the process. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1_000
}

/**
 * The processor time of this thread that `work` takes, in milliseconds at the pace of the reference machine: the least of up to three tries,
 * until one takes at most `limitMs`. Other load on the machine makes no difference. A limit is far above what the work takes, and far below
 * what it would take if its time grew faster than its input.
 */
export async function leastCpuMs(limitMs: number, work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 3 && least > limitMs; tries++) {
    const before = threadCpuMs()
    await work()
    const cpuMs = threadCpuMs() - before
    least = Math.min(least, cpuMs > limitMs ? atReferencePace(cpuMs) : cpuMs)
  }
  return least
}

function timesText(): number {
  const before = threadCpuMs()
  JSON.stringify(JSON.parse(text))
  return threadCpuMs() - before
}

/**
 * Converts `measuredMs` of processor time to the reference machine, if this one is slower right now: a core of half the speed, or one that
 * shares its caches with a busy neighbor, doesn't make the code slow. Never more than `measuredMs`.
 */
export function atReferencePace(measuredMs: number): number {
  const [, median = referenceMs] = [timesText(), timesText(), timesText()].sort((a, b) => a - b)
  return measuredMs * Math.min(1, referenceMs / median)
}
