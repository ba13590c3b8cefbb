/**
 * Finds the name among `known` that `given` was most likely meant to be, for `did you mean …?`. Ignores case, `-` and `_`, so `base-url`
 * matches `baseURL`. Allows one typing mistake per three characters, and at most three mistakes. A mistake is a letter that is missing,
 * added, replaced, or swapped with the next letter. Returns the first of equally near names, or undefined if no name is near enough.
 */
export function nearestName(given: string, known: Iterable<string>): string | undefined {
  const typed = plainName(given)
  let nearest: string | undefined
  let fewest = Number.POSITIVE_INFINITY
  for (const name of known) {
    const meant = plainName(name)
    const allowed = Math.min(maxMistakes, Math.max(1, Math.floor(Math.max(typed.length, meant.length) / 3)))
    // Exits early if the lengths differ too much: `given` may be very long.
    if (typed === '' || Math.abs(typed.length - meant.length) > allowed) continue
    const found = mistakes(typed, meant)
    if (found <= allowed && found < Math.min(fewest, meant.length)) {
      nearest = name
      fewest = found
    }
  }
  return nearest
}

/** Returns ` (did you mean `x`?)` to append to a name, or `''` if no known name is similar. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const meant = nearestName(given, known)
  return meant === undefined ? '' : ` (did you mean \`${meant}\`?)`
}

const maxMistakes = 3

/** Normalizes case and separators: `base-url` and `baseURL` become the same. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/**
 * Counts the typing mistakes between two words: the edit distance (optimal string alignment). Swapping two neighboring letters counts as
 * one mistake.
 */
export function mistakes(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}
