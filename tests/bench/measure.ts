/** Medians of CPU and wall time, taken in turns so that whatever else the machine does falls on all alike. */

export interface Sample {
  cpuMs: number
  wallMs: number
}

export async function sample(work: () => Promise<unknown>): Promise<Sample> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await work()
  const wallMs = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { cpuMs: (user + system) / 1000, wallMs }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Runs every contender once a round, in an order that changes from round to round; the first `warmUp` rounds don't count. */
export async function interleave<Name extends string>(
  contenders: Record<Name, () => Promise<unknown>>,
  rounds: number,
  warmUp: number,
): Promise<Record<Name, Sample>> {
  const names = Object.keys(contenders) as Name[]
  const samples = new Map<Name, Sample[]>(names.map((name) => [name, []]))
  for (let round = -warmUp; round < rounds; round++) {
    const shift = Math.abs(round) % names.length
    for (const name of [...names.slice(shift), ...names.slice(0, shift)]) {
      const taken = await sample(contenders[name])
      if (round >= 0) samples.get(name)?.push(taken)
    }
  }
  const entries = names.map((name) => {
    const all = samples.get(name) ?? []
    return [name, { cpuMs: median(all.map(({ cpuMs }) => cpuMs)), wallMs: median(all.map(({ wallMs }) => wallMs)) }] as const
  })
  return Object.fromEntries(entries) as Record<Name, Sample>
}
