import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { afterAll, describe, expect, it } from 'vitest'
// @ts-expect-error it has no types
import { withoutNodeTypes, withUndefined } from '../config/declarations.js'
import { AgentRunner, defineTool } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolloop-declarations-'))
afterAll(() => rmSync(folder, { recursive: true }))
const tsc = fileURLToPath(new URL('../node_modules/.bin/tsc', import.meta.url))

const emitted = `import { Server } from 'node:http';
/** \`a?: string\` it's one. */
export interface Options<T> {
    a?: string;
    readonly b?: (x?: number) => string | undefined;
    c?(x: T, inner: { d?: 'a?: b' }): void;
    e?: {
        f?: string;
    };
    g?: T extends string ? 1 : 2;
    h?: Map<string, { i?: number }>;
    j?: undefined;
    "k"?: string;
    server?: Server;
}
export declare class Base {
    #private;
    readonly x?: string;
    perform?(a?: string): void;
    [Symbol.asyncDispose](): Promise<void>;
}
export type Pair = [first?: string, second?: number];
export declare function take(a?: string, options?: { b?: string }): asserts a is string;
`

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

describe('the declarations of the package', () => {
  it('E4.4 accept `undefined` for optional fields, and need no types of Node.js', () => {
    const { text, map } = withoutNodeTypes(withUndefined(emitted), JSON.stringify({ version: 3, mappings: 'AAAA;AACA;AACA' }))
    expect(problemsWith(text)).toBe('')
    expect(JSON.parse(map).mappings).toBe(';;AAAA;AACA;AACA')
    expect(text).toContain('export type Pair = [first?: string, second?: number];')
    expect(text).toContain('perform?(a?: string): void;')
    expect(problemsWith(emitted)).toMatch(/TS2375[\s\S]*exactOptionalPropertyTypes/)
  })

  it('E4.4 keep their lines, texts and comments', () => {
    const lines = emitted.split('\n')
    const written: string[] = withUndefined(emitted).split('\n')
    expect(written).toHaveLength(lines.length)
    expect([written[1], written[5]]).toEqual([lines[1], `    c?: { c(x: T, inner: { d?: 'a?: b' | undefined }): void }["c"] | undefined;`])
  })
})

describe('valibot', () => {
  it('E4.4 works as the README says; a schema without `toStandardJsonSchema` is refused with that hint', async () => {
    const fields = v.object({ city: v.string(), days: v.optional(v.number(), 3) })
    const parameters = toStandardJsonSchema(fields)
    const weather = defineTool({ name: 'weather', description: '', parameters, execute: ({ city, days }) => `${city} ${days}` })
    const model = scriptedModel([{ toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }] }, '{"city":"Oslo"}'])
    const result = await new AgentRunner({ model, tools: [weather] }).run('go', { output: parameters })
    expect(result).toMatchObject({ stopReason: 'answered', output: { city: 'Oslo', days: 3 }, toolCalls: [{ value: 'Oslo 3' }] })
    expect(() => defineTool({ name: 'weather', description: '', parameters: fields })).toThrow(
      '`toStandardJsonSchema` of @valibot/to-json-schema',
    )
  })
})
