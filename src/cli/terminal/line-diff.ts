/** Number of unchanged lines shown around a change. */
const context = 3
/** Maximum number of lines to compare individually. In longer texts, the differing part is shown as a whole. */
const mostCompared = 1_000

export interface DiffLine {
  kind: 'same' | 'removed' | 'added' | 'skipped'
  text: string
}

/** The difference between two texts, line by line, with three lines of context. Empty if they are equal. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++
  if (start === before.length && start === after.length) return []
  const same = (lines: readonly string[]) => lines.map((text): DiffLine => ({ kind: 'same', text }))
  const [removed, added] = [before.slice(start, before.length - end), after.slice(start, after.length - end)]
  const isLong = Math.max(removed.length, added.length) > mostCompared
  const changed: DiffLine[] = isLong
    ? [...removed.map((text): DiffLine => ({ kind: 'removed', text })), ...added.map((text): DiffLine => ({ kind: 'added', text }))]
    : compare(removed, added)
  return shorten([...same(before.slice(0, start)), ...changed, ...same(before.slice(before.length - end))])
}

/** Compares texts by their longest common subsequence. */
function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const width = after.length + 1
  const lengths = new Uint16Array((before.length + 1) * width)
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      const isSame = before[row] === after[column]
      const below = lengths[(row + 1) * width + column] ?? 0
      const beside = lengths[row * width + column + 1] ?? 0
      lengths[row * width + column] = isSame ? (lengths[(row + 1) * width + column + 1] ?? 0) + 1 : Math.max(below, beside)
    }
  }
  const lines: DiffLine[] = []
  for (let [row, column] = [0, 0]; row < before.length || column < after.length; ) {
    const isSame = row < before.length && column < after.length && before[row] === after[column]
    const below = lengths[(row + 1) * width + column] ?? 0
    const beside = lengths[row * width + column + 1] ?? 0
    const removes = column === after.length || (row < before.length && below >= beside)
    lines.push(
      isSame
        ? { kind: 'same', text: before[row] ?? '' }
        : removes
          ? { kind: 'removed', text: before[row] ?? '' }
          : { kind: 'added', text: after[column] ?? '' },
    )
    if (isSame || removes) row++
    if (isSame || !removes) column++
  }
  return lines
}

function shorten(lines: readonly DiffLine[]): DiffLine[] {
  const isNear = (at: number) => lines.slice(Math.max(0, at - context), at + context + 1).some(({ kind }) => kind !== 'same')
  const shown: DiffLine[] = []
  let skipped = 0
  for (const [at, line] of lines.entries()) {
    const isShown = line.kind !== 'same' || isNear(at)
    if (isShown && skipped > 0) shown.push({ kind: 'skipped', text: `… ${skipped} lines` })
    skipped = isShown ? 0 : skipped + 1
    if (isShown) shown.push(line)
  }
  if (skipped > 0) shown.push({ kind: 'skipped', text: `… ${skipped} lines` })
  return shown
}
