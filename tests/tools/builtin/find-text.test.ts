import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textFinder } from '../../../src/tools/builtin/files/find-text.ts'

/** All positions of `query`, including overlapping ones. */
function placesOf(query: string, text: string, ignoreCase: boolean): number[] {
  const find = textFinder(query, ignoreCase)
  const places: number[] = []
  for (let at = find(text, 0); at !== -1; at = find(text, at + 1)) places.push(at)
  return places
}

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'A', 'é', 'É'), minLength: 1, maxLength: 80 })

describe('textFinder', () => {
  it('finds what the engine’s own search finds, for short and long queries', () => {
    fc.assert(
      fc.property(letters, fc.array(letters, { maxLength: 8 }), (query, pieces) => {
        const text = pieces.join(query)
        const expected: number[] = []
        for (let at = text.indexOf(query); at !== -1; at = text.indexOf(query, at + 1)) expected.push(at)
        expect(placesOf(query, text, false)).toEqual(expected)
      }),
    )
  })

  it('ignores case on request', () => {
    fc.assert(
      fc.property(letters, fc.array(letters, { maxLength: 8 }), (query, pieces) => {
        const text = pieces.join(query)
        const expected = [...text.matchAll(new RegExp(`(?=${query})`, 'giu'))].map(({ index }) => index)
        expect(placesOf(query, text, true)).toEqual(expected)
      }),
    )
  })

  it.each([
    ['STRASSE', 'Straße', []],
    ['ΟΔΟΣ', 'οδος', [0]],
    ['ſ', 'S', [0]],
    ['İ', 'i', []],
    ['😀', '😀', [0]],
    ['\ud83d', '😀', [0]],
    ['я', 'ЯЯ', [0, 1]],
  ])('finds %j in %j at %j', (query, text, places) => {
    expect(placesOf(query, text, true)).toEqual(places)
  })
})
