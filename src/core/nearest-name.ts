/**
 * The name among `known` that `given` was most likely meant to be: for `did you mean …?`. Upper and lower case, `-` and `_` make no
 * difference (`base-url` is `baseURL`). About one typing mistake in three characters is forgiven, three at most: a letter left out,
 * added, replaced, or swapped with the next one. Of equally near names the first. Undefined where none is near enough.
 */
export function nearestName(given: string, known: Iterable<string>): string | undefined {
  const typed = plainName(given)
  let nearest: string | undefined
  let fewest = Number.POSITIVE_INFINITY
  for (const name of known) {
    const meant = plainName(name)
    const allowed = Math.min(maxMistakes, Math.max(1, Math.floor(Math.max(typed.length, meant.length) / 3)))
    // Far apart in length is far apart; what was given may be very long.
    if (typed === '' || Math.abs(typed.length - meant.length) > allowed) continue
    const found = mistakes(typed, meant)
    if (found <= allowed && found < Math.min(fewest, meant.length)) {
      nearest = name
      fewest = found
    }
  }
  return nearest
}

/** ` (did you mean `x`?)`, to be put behind what was given; `''` where no name is near. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const meant = nearestName(given, known)
  return meant === undefined ? '' : ` (did you mean \`${meant}\`?)`
}

const maxMistakes = 3

/** A name without what differs between ways to write it: `base-url` and `baseURL` are the same. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/** Edit distance in which two neighbours swapped are one mistake (optimal string alignment). */
function mistakes(from: string, to: string): number {
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
