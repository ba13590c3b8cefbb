import fc from 'fast-check'

const surrogates = 0x800
const firstSurrogate = 0xd800

/**
 * Any character, as a `unit` of `fc.string`. fast-check's own `'binary'` does the same, but first builds a table of a million characters in
 * each process. That takes a second, and memory that every garbage collection scans.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10_ffff - surrogates).map(
  (index) => String.fromCodePoint(index < firstSurrogate ? index : index + surrogates),
  (value) => {
    const point = typeof value === 'string' ? value.codePointAt(0) : undefined
    if (point === undefined || String.fromCodePoint(point) !== value) throw new Error(`Expected one character, got ${String(value)}`)
    return point < firstSurrogate ? point : point - surrogates
  },
)

const path = fc.array(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 6 }).map(encodeURIComponent), { maxLength: 3 })

/** Any web address, with any characters in its path. It stands for `fc.webUrl`, which builds the same table. */
export const anyUrl: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom('http', 'https'), fc.domain(), path)
  .map(([scheme, domain, parts]) => `${scheme}://${domain}/${parts.join('/')}`)
