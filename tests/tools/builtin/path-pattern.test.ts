import fc from 'fast-check'
import picomatch from 'picomatch'
import { describe, expect, it } from 'vitest'
import { compileName } from '../../../src/tools/builtin/files/name-pattern.ts'
import { compileGlob } from '../../../src/tools/builtin/files/path-pattern.ts'

const matches = (pattern: string, path: string) => compileGlob(pattern).matches(path.split('/'))

describe('compileGlob', () => {
  it.each([
    ['*.ts', 'deep/down/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['*.{ts,tsx}', 'src/a.tsx', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['./src/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/deep/down/a.ts', true],
    ['src/**', 'src/deep/a', true],
    ['src/**', 'src', false],
    ['src/', 'src/deep/a', true],
    ['{src,tests}/*', 'tests/a', true],
    ['[a-c]?.md', 'bx.md', true],
    ['[!a-c]*.md', 'b.md', false],
    ['\\*.md', '*.md', true],
    ['\\*.md', 'a.md', false],
    ['a{b', 'a{b', true],
    ['Makefile', 'deep/Makefile', true],
  ])('%j and %j: %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected)
  })

  it('matches hidden names only where the pattern spells the dot out', () => {
    expect(matches('*', '.env')).toBe(false)
    expect(matches('.env*', '.env.local')).toBe(true)
    expect(matches('**/*.yml', '.github/ci.yml')).toBe(false)
    expect(matches('.github/**', '.github/workflows/ci.yml')).toBe(true)
  })

  it.each([
    ['a/../b', 'without `..`'],
    ['src\\a.ts', 'with `/` between folders'],
    ['[a-', 'whose brackets close'],
    ['/', 'such as'],
    ['{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}', 'at most 128 alternatives'],
  ])('refuses %j in words', (pattern, words) => {
    expect(() => compileGlob(pattern)).toThrow(words)
  })

  it('agrees with picomatch', () => {
    const name = fc.constantFrom('a', 'b', 'ab', 'a.b', 'abc', '.a', '.b.c', 'foo', 'A', 'a-b')
    const piece = fc.oneof(
      name,
      fc.constantFrom('*', '**', '?', '*.b', 'a*', '*b*', '[!a]', '[a-c]*', '{a,.b}*', '.*', 'a?', '*a*b*', '{ab,a.{b,c}}'),
    )
    const paths = fc.array(name, { minLength: 1, maxLength: 5 })
    // What `**` at the end means is a matter of taste, and ours differs: `src/**` is not `src`.
    const patterns = fc.array(piece, { minLength: 1, maxLength: 4 }).filter((pieces) => pieces.at(-1) !== '**')
    fc.assert(
      fc.property(patterns, paths, (pieces, names) => {
        const glob = pieces.join('/')
        const reference = picomatch(glob.includes('/') ? glob : `**/${glob}`, { posix: true })
        expect(compileGlob(glob).matches(names)).toBe(reference(names.join('/')))
      }),
      { numRuns: 3000 },
    )
  })

  it('never turns a walk away from a folder below which something matches', () => {
    const name = fc.constantFrom('a', 'b', '.a', 'a.b')
    const piece = fc.oneof(name, fc.constantFrom('*', '**', '.*', '{a,b}'))
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.array(name, { minLength: 1, maxLength: 4 }), (pieces, names) => {
        const pattern = compileGlob(pieces.join('/'))
        if (!pattern.matches(names)) return
        let state = pattern.start
        for (const folder of names.slice(0, -1)) {
          state = pattern.enter(state, folder)
          expect(pattern.mayContinue(state)).toBe(true)
        }
      }),
    )
  })

  it('costs pattern × name at worst, where a regular expression would not come back', () => {
    const name = 'a'.repeat(250)
    expect(compileName('*a'.repeat(100).concat('b'), { hidden: false })?.matches(name)).toBe(false)
    expect(matches('**/a/'.repeat(40).concat('b'), 'a/'.repeat(500).concat('a'))).toBe(false)
    expect(compileName('*a'.repeat(100), { hidden: false })?.matches(name)).toBe(true)
  })
})
