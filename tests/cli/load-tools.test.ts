import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { loadTools } from '../../src/cli/setup/load-tools.ts'
import { runCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

const tool = (name: string) => `{ name: '${name}', description: 'Does it.', parameters: { type: 'object' }, execute: () => 1 }`
const load = async (files: Record<string, string>, ...paths: string[]) => {
  const folder = await tempFolder(files)
  return loadTools(paths.length > 0 ? paths : Object.keys(files), folder)
}
const namesOf = async (...given: Parameters<typeof load>) => (await load(...given)).map(({ name }) => name)

describe('loadTools', () => {
  it('loads named exports that are tools, and ignores others', async () => {
    const source = `export const a: object = ${tool('a')}\nexport const limit = 5\nexport function helper(): void {}\nexport const b = ${tool('b')}`
    expect(await namesOf({ 'tools.ts': source })).toEqual(['a', 'b'])
  })

  it('loads a default array, a single tool, an object of tools or a registry', async () => {
    expect(await namesOf({ 'a.mjs': `export default [${tool('a')}, ${tool('b')}]` })).toEqual(['a', 'b'])
    expect(await namesOf({ 'a.mjs': `export default ${tool('one')}` })).toEqual(['one'])
    expect(await namesOf({ 'a.mjs': `export default { x: ${tool('x')} }` })).toEqual(['x'])
    expect(await namesOf({ 'a.cjs': `exports.x = ${tool('x')}; exports.list = [${tool('y')}]; exports.z = 1` })).toEqual(['x', 'y'])
    expect(await namesOf({ 'a.cjs': `module.exports = [${tool('x')}]` })).toEqual(['x'])
    const registry = 'new (class { getAllSpecs() { return [] }'
    expect(await namesOf({ 'a.mts': `export default ${registry} list() { return [${tool('r')}] } })()` })).toEqual(['r'])
  })

  it('counts a tool once that is exported by name and in the default array', async () => {
    expect(await namesOf({ 'a.mjs': `export const a = ${tool('a')}\nexport default [a]` })).toEqual(['a'])
  })

  it('loads several modules in order', async () => {
    expect(await namesOf({ 'b.mjs': `export const b = ${tool('b')}`, 'a.ts': `export const a = ${tool('a')}` })).toEqual(['b', 'a'])
  })
})

describe('loadTools names an unusable module, with the reason', () => {
  it.each<[string, Record<string, string>, string, RegExp]>([
    ['no file', {}, 'gone.ts', /Expected `--tools` to name a module, found no file at .*gone\.ts$/],
    ['a folder', { 'd/x.ts': '' }, 'd', /found no file at/],
    ['another kind of file', { 'tools.json': '[]' }, 'tools.json', /ending in \.ts, .*got tools\.json/],
    ['no exports', { 'a.ts': 'const x: number = 1' }, 'a.ts', /Expected a\.ts to export tools, got no exports/],
    [
      'half a tool',
      { 'a.ts': `export const t = { name: 't', parameters: {} }` },
      'a.ts',
      /to export tools, got `t`, which lacks a `description`$/,
    ],
    [
      'half a tool in a list',
      { 'a.ts': `export default [${tool('a')}, { name: 't', execute() {} }]` },
      'a.ts',
      /got a list with {"name":"t"}, which lacks a `description` and a `parameters`$/,
    ],
    [
      'half a tool in an object',
      { 'a.ts': `export default { t: { description: '', execute() {} } }` },
      'a.ts',
      /`t`, which lacks a `name` and/,
    ],
    ['no tools', { 'a.ts': 'export const x = 1' }, 'a.ts', /to export tools, got `x`$/],
    ['a class', { 'a.ts': 'export class Add { execute() {} }' }, 'a.ts', /export an instance, `new Add\(\)`, instead of the class/],
    [
      'a strange default',
      { 'a.ts': 'export default 5' },
      'a.ts',
      /default export of a\.ts to be a tool, an array of tools or a ToolRegistry, got 5/,
    ],
    ['a strange entry', { 'a.ts': `export default [${tool('a')}, 7]` }, 'a.ts', /got a list with 7/],
    ['an undefined entry', { 'a.ts': `export default [${tool('a')}, undefined]` }, 'a.ts', /got a list with undefined/],
    ['broken syntax', { 'a.mjs': 'export const = 1' }, 'a.mjs', /a\.mjs can't be loaded: /],
    ['its own error', { 'a.ts': "throw new Error('no database')" }, 'a.ts', /a\.ts can't be loaded: no database/],
    ['a missing import', { 'a.mjs': "import './b.mjs'" }, 'a.mjs', /a\.mjs can't be loaded: .*b\.mjs.*need their file extension/],
  ])('%s', async (_case, files, path, message) => {
    await expect(load(files, path)).rejects.toMatchObject({ code: 'invalid_option', message: expect.stringMatching(message) })
  })

  it('for an invalid tool', async () => {
    const bad = `{ name: 'no spaces please', description: '', parameters: {} }`
    await expect(load({ 'a.ts': `export const t = ${bad}` })).rejects.toMatchObject({
      code: 'invalid_tool',
      message: expect.stringMatching(/^a\.ts, export `t`: Expected a tool's `name`/),
    })
  })

  it('H19 for a name in two modules', async () => {
    const files = { 'a.ts': `export const a = ${tool('same')}`, 'b.ts': `export const b = ${tool('same')}` }
    await expect(load(files)).rejects.toMatchObject({
      code: 'invalid_tool',
      message: expect.stringMatching(/`same` in a\.ts and in b\.ts$/),
    })
  })
})

describe('loadTools names the position of an error during loading', () => {
  // In a child process, because Vitest loads modules in its own way.
  const broken: [string, Record<string, string>, string][] = [
    [
      'JavaScript that can’t be parsed',
      { 'a.mjs': '\nexport const = 1\n' },
      `a.mjs can't be loaded: Unexpected token '='\n  a.mjs:2\n  export const = 1\n               ^\n`,
    ],
    [
      'TypeScript that can’t be parsed',
      { 'a.ts': 'const x: number = 1\nconst y = {\n  a: 1\n  b: 2\n}\n' },
      `a.ts can't be loaded: Expected ',', got 'ident'\n  a.ts:4\n    b: 2\n    ^\n`,
    ],
    [
      'CommonJS that can’t be parsed',
      { 'a.cjs': 'exports.x = 5 5' },
      `a.cjs can't be loaded: Unexpected number\n  a.cjs:1\n  exports.x = 5 5\n                ^\n`,
    ],
    ['an import that can’t be parsed', { 'a.mjs': `import './lib/b.mjs'`, 'lib/b.mjs': 'let = let' }, 'lib/b.mjs:1\n  let = let\n  ^^^\n'],
    [
      'an export that is not there',
      { 'a.mjs': `import { x } from './b.mjs'`, 'b.mjs': '' },
      `named 'x'\n  a.mjs:1\n  import { x } from './b.mjs'\n           ^\n`,
    ],
    [
      'its own error',
      { 'a.ts': `const a = 1\nfunction open(): void { throw new Error('no database') }\nopen()` },
      `a.ts can't be loaded: no database (a.ts:2:31)\n`,
    ],
    [
      'a tool that is refused',
      { 'a.mjs': `import { defineTool } from 'toolloop'\n\nexport const t = defineTool({ name: 'a b', description: '', parameters: {} })` },
      'got `"a b"` (a.mjs:3:18)\n',
    ],
  ]
  it.each(broken.slice(0, 1))('%s, and the command ends with the code for wrong usage', async (_what, files, said) => {
    const [path = ''] = Object.keys(files)
    const { code, stderr } = await runCli(['tools', 'list', '--no-builtin-tools', '-t', path], { cwd: await tempFolder(files) })
    expect(code).toBe(2)
    expect(stderr).toContain(said)
  })

  it('whatever the error', async () => {
    const modules = await Promise.all(broken.map(async ([, files]) => [Object.keys(files)[0], await tempFolder(files)]))
    const script = `
      import { loadTools } from ${JSON.stringify(new URL('../../src/cli/setup/load-tools.ts', import.meta.url))}
      const messages = []
      for (const [path, folder] of ${JSON.stringify(modules)})
        messages.push(await loadTools([path], folder).then(() => 'loaded', ({ message }) => message + '\\n'))
      console.log(JSON.stringify(messages))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    const messages: string[] = JSON.parse(stdout)
    for (const [at, [what, , said]] of broken.entries()) expect(messages[at], what).toContain(said)
  })
})
