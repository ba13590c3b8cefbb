export type DiffLine = { kind: 'same' | 'gone' | 'new'; text: string }

/** Maximum number of lines to compare individually. Longer texts are shown as changed completely. */
const mostLines = 600

/** The difference between two texts, line by line. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const middle = between(a.slice(start, a.length - end), b.slice(start, b.length - end))
  return [...lines('same', a.slice(0, start)), ...middle, ...lines('same', a.slice(a.length - end))]
}

function lines(kind: DiffLine['kind'], texts: string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }))
}

function between(a: string[], b: string[]): DiffLine[] {
  if (a.length > mostLines || b.length > mostLines) return [...lines('gone', a), ...lines('new', b)]
  // The length of the longest common subsequence from each pair of positions on.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1))
  const at = (i: number, j: number) => common[i]?.[j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    const row = common[i]
    for (let j = b.length - 1; row !== undefined && j >= 0; j--)
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  }
  const found: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push({ kind: 'same', text: a[i++] ?? '' })
      j++
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) found.push({ kind: 'gone', text: a[i++] ?? '' })
    else found.push({ kind: 'new', text: b[j++] ?? '' })
  }
  return found
}
