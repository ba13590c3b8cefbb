import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonScanner } from '../src/core/json/json-scanner.ts'
import { countValues, hasMoreValues, parseUpTo, ValueCount } from '../src/core/json.ts'

const spaced = fc.tuple(fc.jsonValue(), fc.integer({ min: 0, max: 3 })).map(([value, space]) => JSON.stringify(value, null, space))

function valuesOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.values(value).reduce<number>((sum, item) => sum + valuesOf(item), 1) : 1
}

/** The position at which the first bracket of a text is closed. */
function endOf(text: string, slashes = 0): number {
  const json = new JsonScanner({ slashes })
  for (let at = 0; at < text.length; at++) if (json.read(text.charCodeAt(at)) && json.depth === 0) return at + 1
  return -1
}

describe('JsonScanner', () => {
  it('finds the end of an object or array, whatever its strings contain', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (value, behind) => {
        const json = JSON.stringify([value])
        expect(endOf(`${json}${behind}`)).toBe(json.length)
      }),
    )
  })

  it('reads JSON that was quoted as a string repeatedly', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 4 }), (value, levels) => {
        let json = JSON.stringify([value])
        for (let level = 0; level < levels; level++) json = JSON.stringify(json).slice(1, -1)
        expect(endOf(`${json}"]`, 2 ** levels - 1)).toBe(json.length)
      }),
    )
  })

  it.each([
    [{}, '["a\n]"]', 7],
    [{ endsWithLine: true }, '["a\n]"]', 5],
    [{ endsWithLine: true }, '["a\r]"]', 5],
  ])('ends a string at a line break only if told so: %j', (options, text, end) => {
    const json = new JsonScanner(options)
    const ends = [...text].flatMap((char, at) => (json.read(char.charCodeAt(0)) && json.depth === 0 ? [at + 1] : []))
    expect(ends[0]).toBe(end)
  })
})

describe('values of JSON', () => {
  it('are counted alike in a text, its pieces, its bytes, and parsed', () => {
    fc.assert(
      fc.property(spaced, fc.integer({ min: 1, max: 9 }), (json, size) => {
        const values = valuesOf(JSON.parse(json))
        expect(countValues(json)).toBe(values)
        const [pieces, bytes] = [new ValueCount(), new ValueCount()]
        let counts = [0, 0]
        const encoded = Buffer.from(json)
        for (let at = 0; at < encoded.length; at += size)
          counts = [pieces.add(json.slice(at, at + size)), bytes.add(encoded.subarray(at, at + size))]
        expect(counts).toEqual([values, values])
        expect([hasMoreValues(values, JSON.parse(json)), hasMoreValues(values - 1, JSON.parse(json))]).toEqual([false, true])
        expect([parseUpTo(values, json), parseUpTo(values - 1, json)]).toEqual([JSON.parse(json), undefined])
      }),
    )
  })

  it('are found to be too many before all of them are read', () => {
    const circle: Record<string, unknown> = { a: 1 }
    circle.self = [circle, circle]
    expect(hasMoreValues(1_000, circle)).toBe(true)
  })

  it.each([
    ['', 0],
    [' ', 0],
    ['x', 1],
    ['{"a', 2],
    ['[1,', 3],
  ])('are counted in text that is not JSON: %j', (text, values) => {
    expect(countValues(text)).toBe(values)
  })
})
