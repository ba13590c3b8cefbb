import type { StandardSchemaV1 } from '@standard-schema/spec'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { prepareArguments } from '../../src/tools/arguments.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'

const ofZod = (field: z.ZodType) => z.object({ field })
const ofValibot = (field: v.GenericSchema) => toStandardJsonSchema(v.object({ field }))
const withPattern = (pattern: RegExp) => ofZod(z.string().regex(pattern))

interface Category {
  name: string
  inner: Category[]
}
const category: z.ZodType<Category> = z.lazy(() => z.object({ name: z.string(), inner: z.array(category) }))

/** Schemas as people write them, with valid and invalid values. */
const schemas: [name: string, schema: StandardSchemaV1, taken: unknown[], refused: unknown[]][] = [
  ['zod: the flag i', withPattern(/^#[0-9a-f]{6}$/i), ['#AABBCC', '#aabbcc'], ['#AABBC', 7]],
  ['zod: the flag m', withPattern(/^- /m), ['list:\n- one'], ['list: - one']],
  ['zod: the flag s', withPattern(/^a.b$/s), ['a\nb'], ['ab']],
  ['zod: the flag u', withPattern(/^\p{Lu}/u), ['Ärger'], ['ärger']],
  ['zod: the flag v', withPattern(/^[\p{L}--[a-z]]+$/v), ['ÄB'], ['ab']],
  ['zod: a needless escape', withPattern(/^\d{4}-\d{2}$/), ['2024-05'], ['2024/05']],
  ['zod: a needless escape in a class', withPattern(/^[\w\-.@]+$/), ['a.b@c-d'], ['a b']],
  ['zod: a range that is none', withPattern(/^[\w-.]+$/), ['a-b.c'], ['a b']],
  ['zod: an escaped quote', withPattern(/^"[^"]*"$/), ['"a"'], ['a']],
  ['zod: a bracket that is not escaped', withPattern(/^[^[\]]+]$/), ['a]'], ['[a']],
  ['zod: a brace that is not escaped', withPattern(/^{{\w+}}$/), ['{{name}}'], ['{name}']],
  ['zod: a lookbehind', withPattern(/(?<=\$)\d+$/), ['$12'], ['12']],
  ['zod: a named group', withPattern(/^(?<year>\d{4})-\k<year>$/), ['2024-2024'], ['2024-2025']],
  ['zod: an octal escape', withPattern(/^\0?a$/), ['a'], ['b']],
  ['zod: several checks of one text', ofZod(z.string().min(2).max(4).startsWith('a').includes('b')), ['ab'], ['b', 'abcde', 'ac']],
  ['zod: an address of mail', ofZod(z.email()), ['a@example.com'], ['a']],
  ['zod: a web address', ofZod(z.url({ protocol: /^https?$/ })), ['https://example.com/a'], ['ftp://example.com']],
  ['zod: a uuid', ofZod(z.uuid()), ['b1946ac9-2492-4d23-a5b6-1f0a8f5b7c3d'], ['b1946ac924924d23a5b61f0a8f5b7c3d']],
  ['zod: a date', ofZod(z.iso.date()), ['2024-02-29'], ['2023-02-29']],
  ['zod: a time with any offset', ofZod(z.iso.datetime({ offset: true })), ['2024-05-01T10:00:00+02:00'], ['2024-05-01']],
  ['zod: an address of IP', ofZod(z.union([z.ipv4(), z.ipv6()])), ['127.0.0.1', '::1'], ['127.0.0.256']],
  ['zod: a template', ofZod(z.templateLiteral([z.number(), z.enum(['px', 'em'])])), ['12px'], ['12pt']],
  ['zod: a number from a text', ofZod(z.coerce.number().int()), [5, '5'], ['five', 5.5]],
  ['zod: a yes or no from a text', ofZod(z.stringbool()), ['yes', 'off'], ['perhaps']],
  ['zod: steps of a number', ofZod(z.number().multipleOf(0.1)), [0.3, 4.1], [0.35]],
  [
    'zod: texts in any case',
    ofZod(
      z
        .string()
        .toLowerCase()
        .pipe(z.enum(['asc', 'desc'])),
    ),
    ['ASC', 'desc'],
    ['up'],
  ],
  ['zod: a record', ofZod(z.record(z.string().regex(/^[A-Z_]+$/i), z.string())), [{ path: 'a' }], [{ 'a b': 'c' }]],
  [
    'zod: a choice by a field',
    ofZod(z.discriminatedUnion('k', [ofZod(z.int()).extend({ k: z.literal('a') }), z.object({ k: z.literal('b') })])),
    [{ k: 'a', field: 1 }, { k: 'b' }],
    [{ k: 'a' }, { k: 'c' }],
  ],
  [
    'zod: a schema that refers to itself',
    ofZod(category),
    [{ name: 'a', inner: [{ name: 'b', inner: [] }] }],
    [{ name: 'a', inner: [{}] }],
  ],
  [
    'zod: a pair',
    ofZod(z.tuple([z.number(), z.number()]).rest(z.string())),
    [
      [1, 2],
      [1, 2, 'a'],
    ],
    [[1], [1, 2, 3]],
  ],
  ['zod: no other fields', ofZod(z.strictObject({ a: z.string().optional() })), [{}, { a: 'b' }], [{ b: 1 }]],
  [
    'zod: a transformed text',
    ofZod(
      z
        .string()
        .trim()
        .min(1)
        .transform((text) => text.length),
    ),
    [' a '],
    ['  '],
  ],
  ['zod: both of two', ofZod(z.object({ a: z.string() }).and(z.object({ b: z.string() }))), [{ a: '', b: '' }], [{ a: '' }]],
  [
    'zod: a date out of a text',
    ofZod(z.codec(z.iso.datetime(), z.date(), { decode: (text) => new Date(text), encode: (date) => date.toISOString() })),
    ['2024-05-01T10:00:00Z'],
    ['soon'],
  ],
  ['valibot: the flag i', ofValibot(v.pipe(v.string(), v.regex(/^#[0-9a-f]{6}$/))), ['#aabbcc'], ['#aabbc']],
  ['valibot: a needless escape', ofValibot(v.pipe(v.string(), v.regex(/^\d{4}-\d{2}$/))), ['2024-05'], ['2024/05']],
  ['valibot: no other fields', ofValibot(v.strictObject({ a: v.string() })), [{ a: 'b' }], [{ a: 'b', c: 1 }]],
  [
    'valibot: a choice',
    ofValibot(v.variant('k', [v.object({ k: v.literal('a'), n: v.number() }), v.object({ k: v.literal('b') })])),
    [{ k: 'a', n: 1 }],
    [{ k: 'a' }],
  ],
  ['valibot: a value by default', ofValibot(v.optional(v.picklist(['C', 'F']), 'C')), ['F'], ['K']],
  ['arktype: the flag i', type({ field: /^#[0-9a-f]{6}$/i }), ['#AABBCC'], ['#AABBC']],
  ['arktype: a needless escape', type({ field: /^\d{4}-\d{2}$/ }), ['2024-05'], ['2024/05']],
  ['arktype: a keyword', type({ field: 'string.email' }), ['a@example.com'], ['a']],
  ['arktype: a range', type({ field: '1 <= number.integer <= 10' }), [1, 10], [0, 1.5]],
  ['arktype: no other fields', type({ field: { '+': 'reject', a: 'string' } }), [{ a: 'b' }], [{ a: 'b', c: 1 }]],
]

const toolOf = (parameters: StandardSchemaV1): AnyTool => defineTool({ name: 'save', description: '', parameters, execute: () => 'saved' })
const prepare = (tool: AnyTool, field: unknown) => prepareArguments(tool, JSON.stringify({ field }), { asNative: true })

describe('a Standard Schema', () => {
  it.each(schemas)('E3.1 alone decides on arguments, whatever its JSON Schema says: %s', async (_, schema, taken, refused) => {
    const tool = toolOf(schema)
    expect(new ToolRegistry([tool]).getAllSpecs()[0]?.function.parameters).toMatchObject({ type: 'object', properties: { field: {} } })
    for (const field of taken)
      expect(await prepare(tool, field), JSON.stringify(field)).toMatchObject({ ok: true, call: { args: { field } } })
    for (const field of refused) {
      const prepared = await prepare(tool, field)
      expect(prepared, JSON.stringify(field)).toMatchObject({ ok: false, problem: { code: 'invalid_arguments', args: { field } } })
      expect(prepared.ok ? '' : prepared.problem.message).toMatch(/^Invalid arguments for tool `save`: `field[^`]*`: /)
    }
  })

  it('E3.1 gives the model its own reasons, with the received value', async () => {
    const schema = z.object({
      color: z.string().regex(/^#[0-9a-f]{6}$/i, 'Write a color as #rrggbb'),
      size: z.number().max(7, 'There are seven sizes'),
      range: z
        .object({ from: z.int(), to: z.int() })
        .refine(({ from, to }) => from <= to, { error: '`from` is behind `to`', path: ['from'] }),
    })
    const args = { color: 'Red', size: 9, range: { from: 2, to: 1 } }
    const prepared = await prepareArguments(toolOf(schema), JSON.stringify(args))
    expect(prepared.ok ? '' : prepared.problem.message).toBe(
      'Invalid arguments for tool `save`: `color`: Write a color as #rrggbb, got "Red"; `size`: must be <= 7, got 9 (There are seven sizes); ' +
        '`range.from`: `from` is behind `to`, got 2. Correct them and call it again.',
    )
  })

  it.each<[string, StandardSchemaV1]>([
    [
      'zod',
      z.strictObject({
        list: z.array(z.object({ n: z.int() })),
        unit: z.enum(['C', 'F']),
        id: z.union([z.string(), z.strictObject({ no: z.number() })]),
      }),
    ],
    [
      'valibot',
      toStandardJsonSchema(
        v.strictObject({
          list: v.array(v.object({ n: v.pipe(v.number(), v.integer()) })),
          unit: v.picklist(['C', 'F']),
          id: v.union([v.string(), v.strictObject({ no: v.number() })]),
        }),
      ),
    ],
    [
      'arktype',
      type({
        '+': 'reject',
        list: type({ n: 'number.integer' }).array(),
        unit: "'C'|'F'",
        id: ['string', '|', { '+': 'reject', no: 'number' }],
      }),
    ],
  ])('E3.1 H13 is worded the same for every library if any schema can tell: %s', async (_, schema) => {
    const words = async (args: JsonObject) => {
      const prepared = await prepareArguments(toolOf(schema), JSON.stringify(args))
      return prepared.ok ? '' : prepared.problem.message
    }
    const right = { list: [], unit: 'C', id: 'a' }
    expect(await words({ ...right, list: [{ n: 1 }, { n: 'two' }] })).toContain(
      ': `list[1].n`: expected integer, got string "two". Correct',
    )
    expect(await words({ ...right, unit: 'K' })).toContain(': `unit`: expected one of ["C","F"], got "K". Correct')
    expect(await words({ list: [{}], unit: 'C' })).toMatch(/`list\[0\]`: missing required `n`/)
    expect(await words({ list: [], unit: 'C' })).toContain(': arguments: missing required `id`. Correct')
    expect(await words({ ...right, other: 1 })).toContain(': arguments: unknown `other`. Correct')
    expect(await words({ ...right, id: { no: 'x' } })).toContain('`id.no`: expected number, got string "x"')
  })

  it('E3.1 decides alone next to a different JSON Schema', async () => {
    const schema = z.object({ n: z.number() })
    const jsonSchema = { type: 'object', properties: { n: { type: 'string', pattern: '(' }, m: {} }, required: ['n', 'm'] }
    const defined: AnyTool = defineTool({ name: 'save', description: '', parameters: schema, jsonSchema })
    const plain: AnyTool = { name: 'save', description: '', parameters: jsonSchema, schema }
    for (const tool of [defined, plain]) {
      expect(new ToolRegistry([tool]).getAllSpecs()[0]?.function.parameters).toBe(jsonSchema)
      expect(await prepareArguments(tool, '{"n":1}')).toMatchObject({ ok: true, call: { input: { n: 1 } } })
      expect(await prepareArguments(tool, '{"n":"1"}')).toMatchObject({ ok: false })
    }
  })

  it('E3.1 F15 sees decoded texts even if it validates asynchronously', async () => {
    const parameters = z.object({ n: z.number().refine(async (n) => n !== 13, 'not 13'), tags: z.array(z.string()).default([]) })
    expect(await prepareArguments(toolOf(parameters), '{"n":"5"}', { asNative: true })).toEqual({
      ok: true,
      call: { tool: expect.anything(), args: { n: 5 }, input: { n: 5, tags: [] } },
      repairs: ['`n` read as number'],
    })
    const refused = await prepareArguments(toolOf(parameters), '{"n":"13"}', { asNative: true })
    expect(refused.ok ? '' : refused.problem.message).toContain('`n`: expected number, got string "13"')
  })

  it('E3.1 is stopped if a pattern backtracks forever; the next check works', async () => {
    const tool = toolOf(withPattern(/^(a+)+$/))
    const prepared = await prepare(tool, `${'a'.repeat(40)}!`)
    expect(prepared.ok ? '' : prepared.problem.message).toContain('could not be checked in time')
    expect(await prepare(tool, 'aa')).toMatchObject({ ok: true })
  })

  it('E3.1 ends with the call’s time if it never settles, and refuses if it returns nothing', async () => {
    const odd = (validate: () => unknown): AnyTool => ({
      ...toolOf(z.object({})),
      schema: { '~standard': { version: 1, vendor: 'odd', validate: validate as never } },
    })
    const never = await prepareArguments(
      odd(() => new Promise(() => {})),
      '{}',
      { timeoutMs: 5 },
    )
    expect(never).toMatchObject({ ok: false, problem: { code: 'tool_timeout' } })
    for (const validate of [() => undefined, () => null, () => 7, async () => undefined, () => Promise.reject(new Error('gone'))])
      expect(await prepareArguments(odd(validate), '{}'), String(validate)).toMatchObject({
        ok: false,
        problem: { code: 'invalid_arguments', message: expect.stringContaining('the check failed: ') },
      })
  })
})

describe('an answer with a Standard Schema', () => {
  const color = /^#[0-9a-f]{6}$/i

  it.each<[string, StandardSchemaV1, unknown]>([
    ['an object', z.object({ color: z.string().regex(color) }), { color: '#AABBCC' }],
    ['a value', z.string().regex(color), '#AABBCC'],
    ['a list', z.array(z.string().regex(/^\d{4}-\d{2}$/)), ['2024-05']],
    ['arktype', type({ color }), { color: '#AABBCC' }],
    ['valibot', toStandardJsonSchema(v.object({ month: v.pipe(v.string(), v.regex(/^[\w-.]+$/)) })), { month: '2024-05' }],
  ])('E3.1 is validated by the schema itself: %s', async (_, output, answer) => {
    const given = await new AgentRunner({ model: scriptedModel([JSON.stringify(answer)]) }).run('Which?', { output })
    expect(given).toMatchObject({ stopReason: 'answered', output: answer })
    const wrong = typeof answer === 'string' ? 'red' : Array.isArray(answer) ? ['red'] : { color: 'red!', month: 'a b' }
    const model = scriptedModel([JSON.stringify(wrong), JSON.stringify(answer)])
    const corrected = await new AgentRunner({ model }).run('Which?', { output })
    expect(corrected).toMatchObject({ stopReason: 'answered', output: answer, iterations: 2 })
  })
})

describe('the application’s own JSON Schema', () => {
  it.each<[pattern: string, taken: string, refused?: string]>([
    ['^\\d{4}\\-\\d{2}$', '2024-05', '2024/05'],
    ['^[\\w-\\.]+$', 'a-b.c', 'a b'],
    ['^[\\p{L}--[a-z]]+$', 'ÄB', 'ab'],
    ['^https\\:\\/\\/', 'https://a', 'http://a'],
    ['(?i)^#[0-9a-f]{6}$', '#AABBCC', '#AABBC'],
    ['\\A(?P<n>\\d+)\\z', '12', 'a'],
    ['^a++$', 'anything'],
    ['^[[:alpha:]]+$', 'xyz'],
    ['(', 'anything'],
    ['\\p{L', 'anything'],
  ])('E3.2 may contain any pattern, which is ignored if JavaScript can’t read it: %s', async (pattern, taken, refused) => {
    const parameters = { type: 'object', properties: { a: { type: 'string', pattern } }, required: ['a'] }
    const tool = defineTool({ name: 'save', description: '', parameters, execute: () => 'saved' })
    expect(new ToolRegistry([tool]).getAllSpecs()[0]?.function.parameters).toBe(parameters)
    expect(await prepareArguments(tool, JSON.stringify({ a: taken }))).toMatchObject({ ok: true })
    expect(await prepareArguments(tool, '{"a":1}')).toMatchObject({ ok: false })
    if (refused !== undefined) expect(await prepareArguments(tool, JSON.stringify({ a: refused }))).toMatchObject({ ok: false })
    const { output, stopReason } = await new AgentRunner({ model: scriptedModel([JSON.stringify({ a: taken })]) }).run('Which?', {
      output: { ...parameters },
    })
    expect([stopReason, output]).toEqual(['answered', { a: taken }])
  })

  it('E3.2 ignores unreadable patterns of names, and checks others', async () => {
    const names = { '^x++$': { type: 'number' }, '^y': { type: 'number' } }
    const parameters = { type: 'object', patternProperties: names, additionalProperties: false }
    const tool = defineTool({ name: 'save', description: '', parameters, execute: () => 'saved' })
    expect(new ToolRegistry([tool]).size).toBe(1)
    expect(await prepareArguments(tool, '{"xx":"a","z":1,"y1":2}')).toMatchObject({ ok: true })
    expect(await prepareArguments(tool, '{"y1":"a"}')).toMatchObject({ ok: false })
  })
})
