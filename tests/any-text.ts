import fc from 'fast-check'

const surrogates = 0x800
const firstSurrogate = 0xd800

/**
 * Any character, as a `unit` of `fc.string`. It is what fast-check calls `'binary'`, which begins with a table of all the million there
 * are, in each process that uses it: a second, and memory the collector goes through ever after.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10_ffff - surrogates).map(
  (index) => String.fromCodePoint(index < firstSurrogate ? index : index + surrogates),
  (value) => {
    const point = typeof value === 'string' ? value.codePointAt(0) : undefined
    if (point === undefined || String.fromCodePoint(point) !== value) throw new Error(`Expected one character, got ${String(value)}`)
    return point < firstSurrogate ? point : point - surrogates
  },
)
