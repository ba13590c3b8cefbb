import { readFileSync } from 'node:fs'
import { expect } from 'vitest'

const advice = (file: string) =>
  `Users build on these names: undo the change, or, if it is meant, describe it in CHANGELOG.md and edit tests/pins/${file}.`

/** Compares lines, in sorted order, with the literal file of their kind. */
export function expectPinned(file: string, lines: Iterable<string>): void {
  const pinned = readFileSync(new URL(file, import.meta.url), 'utf8')
    .split('\n')
    .slice(0, -1)
  expect([...new Set(lines)].toSorted(), advice(file)).toEqual(pinned)
}
