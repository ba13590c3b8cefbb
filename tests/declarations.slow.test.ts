import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
// @ts-expect-error it has no types
import { withoutNodeTypes, withUndefined } from '../config/declarations.js'
import { emitted } from './emitted-declarations.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolloop-declarations-'))
afterAll(() => rmSync(folder, { recursive: true }))
const tsc = fileURLToPath(new URL('../node_modules/.bin/tsc', import.meta.url))

const program = `import { Base, take, type Options, type Pair } from './emitted.js'
const inner = { d: undefined }
export const all: Options<string> = { a: undefined, b: undefined, c: undefined, e: { f: undefined }, g: undefined, h: undefined, j: undefined, server: undefined }
export const some: Options<string> = { b: () => undefined, c: (x, inner) => void [x.length, inner.d], h: new Map([['a', { i: undefined }]]) }
some.c?.('x', inner)
export class Own extends Base { override readonly x = 'own'; override perform(a?: string) { void a } }
export class Written implements Options<string> { c(x: string) { void x } }
export const pair: Pair = []
const text: string | undefined = 'x'
take(text, { b: undefined })
`

/** The compiler's errors for the program with these declarations, in a project without the types of Node.js. */
function problemsWith(declarations: string): string {
  writeFileSync(join(folder, 'emitted.d.ts'), declarations)
  writeFileSync(join(folder, 'program.ts'), program)
  const options = [
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--skipLibCheck',
    'false',
    '--types',
    '',
  ]
  try {
    execFileSync(tsc, ['--ignoreConfig', '--noEmit', ...options, join(folder, 'program.ts')], { cwd: folder, encoding: 'utf8' })
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

it('E4.4 the declarations of the package accept `undefined` for optional fields, and need no types of Node.js', () => {
  const { text, map } = withoutNodeTypes(withUndefined(emitted), JSON.stringify({ version: 3, mappings: 'AAAA;AACA;AACA' }))
  expect(problemsWith(text)).toBe('')
  expect(JSON.parse(map).mappings).toBe(';;AAAA;AACA;AACA')
  expect(text).toContain('export type Pair = [first?: string, second?: number];')
  expect(text).toContain('perform?(a?: string): void;')
  expect(problemsWith(emitted)).toMatch(/TS2375[\s\S]*exactOptionalPropertyTypes/)
})
