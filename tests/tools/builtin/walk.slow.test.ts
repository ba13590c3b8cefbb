import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { walkThrough } from './walk-through.ts'
import { addFiles } from './workbench.ts'

/** Runs git without the settings of the current user. */
function git(folder: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', GIT_CEILING_DIRECTORIES: tmpdir() }
  return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' })
}

it('Walk lists exactly what git does not ignore', async () => {
  // Without `é`: git matches bytes, so `?` matches half of it.
  const name = fc.constantFrom('a', 'b', 'ab', 'a.b', 'x[1]', 'a b', 'foo', 'A', '1', 'a*')
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
  const piece = fc.oneof(
    name,
    fc.constantFrom('*', '**', '?', '*.b', 'a*', '*b*', '[ab]', '[!a]', '[^b]', '[a-c]*', '[[:alpha:]]', '[]a]', '[b-a]', '[a-]', '[a'),
    fc.constantFrom('a\\*', '\\a', 'x\\[1\\]', '\\', 'a ', 'a\\ ', '\\!a', '\\#', '#', '*a*a', '*.*', '[a/b]', '**b', '[[:no:]]'),
  )
  const rule = fc
    .tuple(
      fc.constantFrom('', '', '', '!'),
      fc.constantFrom('', '', '/'),
      fc.array(piece, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('', '', '/', '  ', '\r'),
    )
    .map(([negation, anchor, pieces, end]) => `${negation}${anchor}${pieces.join('/')}${end}`)
  const rules = fc.array(rule, { minLength: 1, maxLength: 5 }).map((lines) => lines.join('\n'))
  const inFolder = fc.option(fc.tuple(fc.constantFrom('a', 'x[1]', 'a b', 'a*'), rules))
  const files = fc.uniqueArray(path, { minLength: 3, maxLength: 14 })
  await fc.assert(
    fc.asyncProperty(files, rules, inFolder, fc.option(rules), async (paths, top, nested, exclude) => {
      const folder = mkdtempSync(join(tmpdir(), 'toolloop-gitignore-'))
      try {
        // What makes a folder a repository, without running git.
        addFiles(folder, { '.git/HEAD': 'ref: refs/heads/main\n', '.git/objects/info/x': '', '.git/refs/heads/.x': '' })
        // A name may be requested as a file and as a folder; the first one counts.
        const taken = paths.filter(
          (one) => !paths.some((other) => other !== one && (other.startsWith(`${one}/`) || one.startsWith(`${other}/`))),
        )
        addFiles(folder, Object.fromEntries(taken.map((one) => [one, 'x'])))
        addFiles(folder, {
          '.gitignore': top,
          ...(exclude === null ? {} : { '.git/info/exclude': exclude }),
          ...(nested === null || taken.includes(nested[0]) ? {} : { [`${nested[0]}/.gitignore`]: nested[1] }),
        })
        const listed = git(folder, 'ls-files', '-z', '--others', '--exclude-standard').split('\0')
        const visible = listed.filter((one) => one !== '' && !one.endsWith('.gitignore'))
        expect((await walkThrough(folder)).sort()).toEqual(visible.sort())
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
    { numRuns: 60 },
  )
})
