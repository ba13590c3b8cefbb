import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changedLines, type DiffLine, diffLines } from '../src/core/text/line-diff.ts'
import { changeIn, editsIn } from '../src/core/text/text-edits.ts'

const marks = { same: ' ', removed: '-', added: '+', skipped: '' }
const written = (lines: DiffLine[]) => lines.map(({ kind, text }) => marks[kind] + text)
const numbered = (length: number) => Array.from({ length }, (_, at) => `${at}`)

describe('diffLines', () => {
  it('has every line of both texts, in order', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(before, after)
        expect(lines.flatMap(({ kind, text }) => (kind === 'added' ? [] : [text]))).toEqual(before)
        expect(lines.flatMap(({ kind, text }) => (kind === 'removed' ? [] : [text]))).toEqual(after)
      }),
      { numRuns: 2_000 },
    )
  })

  it('finds few changes that are far apart in a long text', () => {
    const before = numbered(20_000)
    const after = before.with(3, 'three').with(19_990, 'near the end')
    const changed = diffLines(before, after).filter(({ kind }) => kind !== 'same')
    expect(written(changed)).toEqual(['-3', '+three', '-19990', '+near the end'])
  })

  it('shows texts that differ everywhere as removed and added', () => {
    const before = numbered(2_000)
    const lines = diffLines(
      before,
      before.map((line) => `${line}!`),
    )
    expect(lines.slice(0, 2_000).every(({ kind }) => kind === 'removed')).toBe(true)
    expect(lines).toHaveLength(4_000)
  })
})

describe('changedLines', () => {
  it('shows removed and added lines with three lines of context', () => {
    const before = numbered(20)
    const changed = written(changedLines(before, before.with(10, 'ten')))
    expect(changed).toEqual(['… 7 lines the same', ' 7', ' 8', ' 9', '-10', '+ten', ' 11', ' 12', ' 13', '… 6 lines the same'])
    expect(written(changedLines(['a'], ['a']))).toEqual(['… 1 line the same'])
    expect(written(changedLines([], ['a']))).toEqual(['+a'])
  })
})

describe('editsIn', () => {
  it('finds replaced texts by the names that editing tools use, and keeps every other argument', () => {
    expect(editsIn({ path: 'x', old_string: 'a', new_string: 'b' })).toEqual({
      edits: [{ before: 'a', after: 'b' }],
      others: { path: 'x' },
    })
    const edits = [
      { oldText: 'a', newText: 'b' },
      { oldText: 'c', newText: '' },
    ]
    expect(editsIn({ path: 'x', edits })).toEqual({
      edits: [
        { before: 'a', after: 'b' },
        { before: 'c', after: '' },
      ],
      others: { path: 'x' },
    })
  })

  it('hides returns nothing for values that are not edits, are incomplete, or have other fields', () => {
    const edits = [{ oldText: 'a', newText: 'b', everywhere: true }]
    expect(editsIn({ edits }).others).toEqual({ edits })
    expect(editsIn({ edits: [] })).toEqual({ edits: [], others: { edits: [] } })
    expect(editsIn({ old_string: 'a', new_string: 7 })).toEqual({ edits: [], others: { old_string: 'a', new_string: 7 } })
  })
})

it('changeIn reads `before` and `after`, which arguments may use for something else', () => {
  expect(changeIn({ path: 'x', before: 'a', after: 'b' })).toEqual({ edits: [{ before: 'a', after: 'b' }], others: { path: 'x' } })
  expect(changeIn('a text')).toEqual({ edits: [], others: {} })
  expect(editsIn({ before: '2026-01-01', after: '2025-01-01' }).edits).toEqual([])
})
