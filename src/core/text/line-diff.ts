export interface DiffLine {
  kind: 'same' | 'removed' | 'added' | 'skipped'
  text: string
}

/** Number of unchanged lines shown around a change. */
const context = 3
/** The number of changed lines up to which texts are compared line by line. Beyond it, the whole part that differs is shown as changed. */
const mostChanges = 1_000

/** The difference between two texts, line by line. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++
  return [
    ...linesOf('same', before.slice(0, start)),
    ...compare(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...linesOf('same', before.slice(before.length - end)),
  ]
}

/**
 * Like `diffLines`, but returns only the changes, with three lines of context around each. The number of skipped lines is shown in their
 * place.
 */
export function changedLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const lines = diffLines(before, after)
  const isNear = new Uint8Array(lines.length)
  for (const [at, { kind }] of lines.entries()) if (kind !== 'same') isNear.fill(1, Math.max(0, at - context), at + context + 1)
  const shown: DiffLine[] = []
  let skipped = 0
  const skip = () => {
    if (skipped > 0) shown.push({ kind: 'skipped', text: `… ${skipped.toLocaleString('en')} ${skipped === 1 ? 'line' : 'lines'} the same` })
    skipped = 0
  }
  for (const [at, line] of lines.entries()) {
    if (isNear[at]) {
      skip()
      shown.push(line)
    } else skipped++
  }
  skip()
  return shown
}

function linesOf(kind: DiffLine['kind'], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }))
}

/**
 * Finds the fewest changes from one text to the other (Myers, “An O(ND) Difference Algorithm”). `ends[k]`: the furthest position in
 * `before` after the current number of changes, with `k` more lines removed than added.
 */
function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const trace: Int32Array[] = []
  const ends = new Int32Array(2 * mostChanges + 3)
  const zero = mostChanges + 1
  const endOf = (from: Int32Array, k: number) => from[zero + k] ?? 0
  const addsLast = (from: Int32Array, k: number, changes: number) =>
    k === -changes || (k !== changes && endOf(from, k - 1) < endOf(from, k + 1))
  for (let changes = 0; changes <= mostChanges; changes++) {
    trace.push(ends.slice(zero - changes - 1, zero + changes + 2))
    for (let k = -changes; k <= changes; k += 2) {
      let x = addsLast(ends, k, changes) ? endOf(ends, k + 1) : endOf(ends, k - 1) + 1
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x++
      ends[zero + k] = x
      if (x >= before.length && x - k >= after.length) return wayBack(before, after, trace)
    }
  }
  return [...linesOf('removed', before), ...linesOf('added', after)]
}

function wayBack(before: readonly string[], after: readonly string[], trace: readonly Int32Array[]): DiffLine[] {
  const lines: DiffLine[] = []
  let [x, y] = [before.length, after.length]
  for (const [changes, ends] of [...trace.entries()].reverse()) {
    const endOf = (k: number) => ends[changes + 1 + k] ?? 0
    const k = x - y
    const isAdded = k === -changes || (k !== changes && endOf(k - 1) < endOf(k + 1))
    const from = changes === 0 ? 0 : isAdded ? endOf(k + 1) : endOf(k - 1) + 1
    for (; x > from; x--) lines.push({ kind: 'same', text: before[x - 1] ?? '' })
    y = x - k
    if (changes === 0) break
    if (isAdded) lines.push({ kind: 'added', text: after[--y] ?? '' })
    else lines.push({ kind: 'removed', text: before[--x] ?? '' })
  }
  return lines.reverse()
}
