import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type JsonPieces, readPieces, textOfPieces, toPieces, weightOf, writeJson } from '../src/core/json/json-pieces.ts'

const signal = new AbortController().signal

/** The pieces and their number. */
function write(value: unknown): { pieces: JsonPieces; count: number } {
  const writing = toPieces(value, 512)
  for (let count = 0; ; count++) {
    const next = writing.next()
    if (next.done === true) return { pieces: next.value, count }
  }
}

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))

describe('JSON in pieces', () => {
  it.each<[string, unknown, number]>([
    ['a small value', { a: [1, 'two', null] }, 1],
    ['a long text', 'x'.repeat(3_000_000), 1],
    ['an array of very many items', many(40_000, (n) => n), 4],
    ['an object of very many entries', Object.fromEntries(many(40_000, (n) => [`key${n}`, n])), 4],
    ['rows', many(10_000, (n) => ({ id: n, name: `name ${n}`, tags: ['a', 'b'] })), 4],
    ['large among small', { small: 1, large: { inner: many(30_000, () => ({})), other: 'é\u2028"\\' }, last: [[], {}, ''] }, 4],
    [
      'what is no JSON by itself',
      [many(30_000, () => undefined), { at: new Date(0), none: undefined, f: () => 1, m: new Map([[1, 2]]) }],
      4,
    ],
  ])('gives the same text and the same value: %s', async (_what, value, least) => {
    const { pieces, count } = write(value)
    expect(count).toBeGreaterThanOrEqual(least)
    const text = JSON.stringify(value)
    expect(textOfPieces(pieces) === text).toBe(true)
    expect((await writeJson(value)) === text).toBe(true)
    expect(JSON.stringify(await readPieces(pieces, signal)) === JSON.stringify(JSON.parse(text))).toBe(true)
  })

  it('treats the key `__proto__` like any other', async () => {
    const value: unknown = JSON.parse(`{"__proto__": {"polluted": ${JSON.stringify(many(30_000, (n) => n))}}, "more": {"__proto__": 1}}`)
    const { pieces } = write(value)
    const read = await readPieces(pieces, signal)
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
    expect(JSON.stringify(read) === JSON.stringify(value)).toBe(true)
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })

  it('works for any value', async () => {
    const around = (value: unknown) => many(9_000, (n) => (n % 3_000 === 0 ? { value, n, more: [value] } : n))
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (value) => {
        const whole = { value, list: around(value), again: { deep: around([value]) } }
        const { pieces } = write(whole)
        expect(textOfPieces(pieces) === JSON.stringify(whole)).toBe(true)
        expect(JSON.stringify(await readPieces(pieces, signal)) === JSON.stringify(whole)).toBe(true)
      }),
      { numRuns: 20 },
    )
  })

  it('refuses cyclic and endlessly nested values', () => {
    const loop: unknown[] = many(11_000, () => 1)
    loop.push([loop])
    expect(() => write(loop)).toThrow('A circular value is not JSON.')
    let deep: unknown[] = many(11_000, () => 1)
    for (let level = 0; level < 600; level++) deep = [deep]
    expect(() => write(deep)).toThrow('The value is nested too deeply for JSON.')
  })

  it('stops counting once the weight is large enough, even in one wide object', () => {
    expect(weightOf(many(1_000_000, () => 1))).toBe(10_001)
    expect(weightOf({ a: [1, 2], b: 'x' })).toBeCloseTo(5, 1)
  })
})
