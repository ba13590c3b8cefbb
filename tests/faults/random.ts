/** A generator that draws the same values for the same seed. */
export interface Random {
  /** An integer ≥ 0 and less than `count`. */
  below(count: number): number
  chance(share: number): boolean
  pick<T>(values: readonly T[]): T
}

/** https://gist.github.com/tommyettinger/46a874533244883189143505d203312c (mulberry32) */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    below,
    chance: (share) => next() < share,
    pick: (values) => {
      const value = values[below(values.length)]
      if (value === undefined) throw new RangeError('Expected values to pick from, got none')
      return value
    },
  }
}
