import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileGlob } from '../../../src/tools/builtin/files/glob.ts'

const matches = (pattern: string, path: string) => compileGlob(pattern).matches(path)

describe('compileGlob', () => {
  it.each([
    ['*.ts', 'deep/down/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['*.ts', 'A.TS', false],
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
    ['{src/deep,tests}/*', 'src/deep/a', true],
    ['[a-c]?.md', 'bx.md', true],
    ['[!a-c]*.md', 'b.md', false],
    ['\\*.md', '*.md', true],
    ['\\*.md', 'a.md', false],
    ['!(*.test).ts', 'src/a.ts', true],
    ['!(*.test).ts', 'src/a.test.ts', false],
    ['app/(group)/*.tsx', 'app/(group)/page.tsx', true],
    ['a\\{b', 'a{b', true],
    ['!a', '!a', true],
    ['Makefile', 'deep/Makefile', true],
  ])('%j and %j: %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected)
  })

  it('matches hidden names only if the pattern contains the dot', () => {
    expect(matches('*', '.env')).toBe(false)
    expect(matches('.env*', '.env.local')).toBe(true)
    expect(matches('**/*.yml', '.github/ci.yml')).toBe(false)
    expect(matches('.github/**', '.github/workflows/ci.yml')).toBe(true)
    expect(compileGlob('*.yml').mayMatchIn('.github')).toBe(false)
    expect(compileGlob('**/.github/*.yml').mayMatchIn('.github')).toBe(true)
  })

  it.each([
    ['a/../b', 'without `..`'],
    ['src\\a.ts', 'with `/` between folders'],
    ['[a-', 'brackets and braces come in pairs'],
    ['a{b', 'brackets and braces come in pairs'],
    ['/', 'such as'],
  ])('refuses %j with a message', (pattern, words) => {
    expect(() => compileGlob(pattern)).toThrow(words)
  })

  it('never excludes a folder in which something matches', () => {
    const name = fc.constantFrom('a', 'b', '.a', 'a.b', 'ab')
    const piece = fc.oneof(
      name,
      fc.constantFrom('*', '**', '.*', '{a,b}', '{a/b,b}', '!(a)', '@(a|b)', '+(a/b)', '*a*', '[ab]', '[!a]*', '**a', '?', '(a)'),
    )
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.array(name, { minLength: 1, maxLength: 4 }), (pieces, names) => {
        const glob = compileGlob(pieces.join('/'))
        if (!glob.matches(names.join('/'))) return
        for (let depth = 1; depth < names.length; depth++) expect(glob.mayMatchIn(names.slice(0, depth).join('/'))).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })
})
