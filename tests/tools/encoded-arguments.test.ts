import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { jsonIn } from '../../src/core/json.ts'
import type { Json, JsonObject } from '../../src/core/messages.ts'
import { prepareArguments } from '../../src/tools/arguments.ts'
import { notFoundText } from '../../src/tools/call-texts.ts'
import { decodeArguments } from '../../src/tools/schema/coerce.ts'
import { type AnyTool, defineTool, type JsonSchema } from '../../src/tools/tool.ts'

function toolOf(parameters: JsonSchema): AnyTool {
  return defineTool({ name: 'job', description: 'A job.', parameters, execute: () => 'done' })
}

/** Prepares a native call with one argument. */
async function prepare(value: unknown, schema: JsonSchema, more: JsonSchema = {}) {
  const tool = toolOf({ type: 'object', properties: { value: schema }, required: ['value'], ...more })
  return prepareArguments(tool, JSON.stringify({ value }), { asNative: true })
}

const person = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } }, required: ['name', 'age'] }
const circle = { type: 'object', properties: { kind: { const: 'circle' }, radius: { type: 'number' } }, required: ['kind', 'radius'] }
const label = { type: 'object', properties: { kind: { const: 'label' }, text: { type: 'string' } }, required: ['kind', 'text'] }

describe('decodeArguments', () => {
  it.each([
    ['10', { type: 'integer' }, 10],
    ['-1', { type: 'integer' }, -1],
    // JSON Schema counts both as integers.
    ['1.0', { type: 'integer' }, 1],
    ['1e3', { type: 'integer' }, 1000],
    ['-2.5e3', { type: 'number' }, -2500],
    ['true', { type: 'boolean' }, true],
    ['null', { type: ['integer', 'null'] }, null],
    ['null', { anyOf: [person, { type: 'null' }] }, null],
    ['2', { enum: [1, 2, 3] }, 2],
    ['10', { anyOf: [{ enum: ['auto'] }, { type: 'integer' }] }, 10],
    ['"mon"', { enum: ['mon', 'tue'] }, 'mon'],
    ['7', { const: 7 }, 7],
    ['["a"]', { type: 'array', items: { type: 'string' } }, ['a']],
    ['["1", "2"]', { type: 'array', items: { type: 'integer' } }, [1, 2]],
    ['{"name":"Ann","age":3}', person, { name: 'Ann', age: 3 }],
    ['[{"name":"Ann","age":"3"}]', { type: 'array', items: person }, [{ name: 'Ann', age: 3 }]],
    [[{ name: '1', age: '3' }], { type: 'array', items: person }, [{ name: '1', age: 3 }]],
    [{ age: '3', name: 'Ann' }, { $ref: '#/$defs/person' }, { age: 3, name: 'Ann' }],
    [{ age: '3', name: 'Ann' }, { anyOf: [{ $ref: '#/$defs/person' }, { type: 'null' }] }, { age: 3, name: 'Ann' }],
    [{ age: '3', name: 'Ann' }, { allOf: [{ $ref: '#/$defs/person' }] }, { age: 3, name: 'Ann' }],
    [{ kind: 'circle', radius: '2' }, { oneOf: [circle, label] }, { kind: 'circle', radius: 2 }],
    ['{"kind":"label","text":"2"}', { oneOf: [circle, label] }, { kind: 'label', text: '2' }],
    [{ age: '3', name: 'Ann' }, { $ref: '#/$defs/kinds/anyOf/0' }, { age: 3, name: 'Ann' }],
    [['1', '2'], { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] }, ['1', 2]],
    [{ a: '1' }, { type: 'object', additionalProperties: { type: 'integer' } }, { a: 1 }],
  ] as [Json, JsonSchema, Json][])('F15 reads %j under %j as %j', async (value, schema, taken) => {
    const prepared = await prepare(value, schema, { $defs: { person, kinds: { anyOf: [person] } } })
    expect(prepared).toMatchObject({ ok: true, call: { args: { value: taken }, input: { value: taken } } })
    expect(prepared).toHaveProperty('repairs', [expect.stringMatching(/^`value.*` read as (number|boolean|null|string|array|object)$/)])
  })

  it.each([
    ['ten', { type: 'integer' }],
    [' 10', { type: 'integer' }],
    ['1e3 ', { type: 'integer' }],
    ['10\n', { type: 'integer' }],
    ['010', { type: 'integer' }],
    ['+1', { type: 'integer' }],
    ['0x10', { type: 'integer' }],
    ['1,000', { type: 'integer' }],
    ['1.5', { type: 'integer' }],
    ['12345678901234567890', { type: 'integer' }],
    ['1e999', { type: 'number' }],
    ['NaN', { type: 'number' }],
    ['', { type: 'integer' }],
    ['null', { type: 'integer' }],
    ['True', { type: 'boolean' }],
    ['1', { type: 'boolean' }],
    ['"10"', { type: 'integer' }],
    ['[1', { type: 'array' }],
    ["['a']", { type: 'array' }],
    ['a', { type: 'array' }],
    ['{"a":1}', { type: 'array' }],
    [' [1]', { type: 'array' }],
    ['["a"]', { type: 'array', items: { type: 'integer' } }],
    ['{"name":"Ann"}', person],
    ['11', { type: 'integer', maximum: 10 }],
    ['4', { enum: [1, 2, 3] }],
    ['5', { type: 'string', minLength: 3 }],
    [10, { type: 'string' }],
    [true, { type: 'string' }],
    [1, { type: 'boolean' }],
    [null, { type: 'array' }],
    [{ '10': 1 }, { type: 'integer' }],
    // The intended branch is ambiguous.
    [{ a: '1' }, { anyOf: [{ properties: { a: { type: 'integer' } } }, { properties: { a: { type: 'boolean' } } }] }],
  ] as [Json, JsonSchema][])('F15 refuses %j under %j, worded for the model', async (value, schema) => {
    expect(await prepare(value, schema)).toMatchObject({
      ok: false,
      problem: {
        code: 'invalid_arguments',
        message: expect.stringMatching(/^Invalid arguments for tool `job`: .*`value/s),
        args: { value },
      },
    })
  })

  it.each([
    ['10', { type: ['string', 'integer'] }],
    ['10', { anyOf: [{ type: 'integer' }, { type: 'string' }] }],
    ['10', {}],
    ['[1]', { type: ['array', 'string'] }],
    [{ a: '1' }, { anyOf: [{ properties: { a: { type: 'integer' } } }, { properties: { a: { type: 'string' } } }] }],
    [['1'], { type: 'array' }],
  ] as [Json, JsonSchema][])('F15 keeps %j under %j', async (value, schema) => {
    const prepared = await prepare(value, schema)
    expect(prepared).toMatchObject({ ok: true, call: { args: { value } } })
    expect(prepared).not.toHaveProperty('repairs')
  })

  it('F15 never changes a valid value next to an invalid one', async () => {
    const tool = toolOf({ type: 'object', properties: { n: { type: 'integer' }, id: { type: 'string' }, free: {} } })
    const raw = '{"n":"5","id":"5","free":"[1]","other":"true"}'
    expect(await prepareArguments(tool, raw, { asNative: true })).toMatchObject({
      ok: true,
      call: { args: { n: 5, id: '5', free: '[1]', other: 'true' } },
      repairs: ['`n` read as number'],
    })
  })

  it('F15 only decodes if everything is valid then; the model sees problems with what it wrote', async () => {
    const tool = toolOf({ type: 'object', properties: { n: { type: 'integer' }, day: { enum: ['mon'] } } })
    expect(await prepareArguments(tool, '{"n":"5","day":"sun"}', { asNative: true })).toMatchObject({
      ok: false,
      problem: {
        message: expect.stringMatching(/`n`: expected integer, got string "5".*`day`: expected one of/s),
        args: { n: '5', day: 'sun' },
      },
    })
  })

  it('F15 decodes arguments that were encoded twice as a whole, and then the texts in them', async () => {
    const tool = toolOf({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] })
    const twice = (value: unknown) => JSON.stringify(JSON.stringify(value))
    const whole = 'arguments decoded, which were encoded twice'
    expect(await prepareArguments(tool, twice({ n: 5 }), { asNative: true })).toMatchObject({ call: { args: { n: 5 } }, repairs: [whole] })
    expect(await prepareArguments(tool, twice({ n: '5' }), { asNative: true })).toMatchObject({
      call: { args: { n: 5 } },
      repairs: [whole, '`n` read as number'],
    })
    expect(await prepareArguments(tool, twice({ n: 'five' }), { asNative: true })).toMatchObject({
      ok: false,
      problem: { code: 'invalid_arguments', message: expect.stringContaining('`n`: expected integer') },
    })
    for (const raw of [JSON.stringify(twice({ n: 5 })), twice([5]), '"{\\"n\\":5"', '" {\\"n\\":5}"', '""', '"n"'])
      expect(await prepareArguments(tool, raw, { asNative: true }), raw).toMatchObject({
        ok: false,
        problem: { code: 'invalid_arguments_json' },
      })
  })

  it.each([
    ['{"n":5}</tool_call>', 'text after the arguments left out'],
    ['{"n":5}<|tool_call_end|>\n', 'text after the arguments left out'],
    ['{"n":5}\n\nNow I search for it.', 'text after the arguments left out'],
    ['{"n":5}\n', undefined],
  ])('F30 reads %j', async (raw, repair) => {
    const tool = toolOf({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] })
    const read = await prepareArguments(tool, raw, { asNative: true })
    expect(read).toMatchObject({ ok: true, call: { args: { n: 5 } } })
    expect(read.ok && read.repairs).toEqual(repair && [repair])
    // Only a model's own calls are read like this.
    if (repair !== undefined) expect(await prepareArguments(tool, raw)).toMatchObject({ ok: false })
  })

  it.each(['{"n":5}{"n":6}', '{"n":5}, "m": 6', '{"n":5}]', '{"n":5', '```json\n{"n":5', 'n: 5', 'So: {"n":5}', '[{"n":5}]'])(
    'F30 does not read %j, which may mean something else',
    async (raw) => {
      const tool = toolOf({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] })
      expect(await prepareArguments(tool, raw, { asNative: true })).toMatchObject({ ok: false })
    },
  )

  it('F30 quotes no control tokens', async () => {
    const tool = toolOf({ type: 'object', properties: {} })
    const raw = '{"path":"/app <|tool_calls_section_begin|> <｜tool▁call▁begin｜> {"path":'
    const read = await prepareArguments(tool, raw, { asNative: true })
    const message = read.ok ? '' : read.problem.message
    expect(message).toContain('|tool_calls_section_begin|')
    expect(message).not.toMatch(/<[|｜]|[|｜]>/)
    expect(notFoundText('look<|channel|>commentary', ['see'])).toContain('look|channel|commentary')
  })

  it('F15 lets a Standard Schema check what was decoded, and transform it', async () => {
    const parameters = z.object({ at: z.number().transform((n) => new Date(n)), tags: z.array(z.string()), seats: z.number().int().max(9) })
    const tool = defineTool({ name: 'job', description: 'A job.', parameters, execute: () => 'done' })
    expect(await prepareArguments(tool, '{"at":"0","tags":"[\\"a\\"]","seats":"2"}', { asNative: true })).toMatchObject({
      ok: true,
      call: { args: { at: 0, tags: ['a'], seats: 2 }, input: { at: new Date(0), tags: ['a'], seats: 2 } },
      repairs: ['`at` read as number', '`tags` read as array', '`seats` read as number'],
    })
    expect(await prepareArguments(tool, '{"at":"0","tags":[],"seats":"12"}', { asNative: true })).toMatchObject({ ok: false })
    const refined = defineTool({
      name: 'job',
      description: 'A job.',
      parameters: z.object({ n: z.number().refine(async (n) => n !== 13, 'not 13') }),
      execute: () => 'done',
    })
    expect(await prepareArguments(refined, '{"n":"5"}', { asNative: true })).toMatchObject({ ok: true, call: { input: { n: 5 } } })
    expect(await prepareArguments(refined, '{"n":"13"}', { asNative: true })).toMatchObject({
      ok: false,
      problem: { message: expect.stringContaining('`n`: expected number, got string "13"') },
    })
  })

  it('F15 H14 applies the limits of arguments to decoded texts, and treats `__proto__` as data', async () => {
    const tool = toolOf({ type: 'object', properties: { list: { type: 'array' }, map: { type: 'object' } } })
    const deep = JSON.stringify({ list: `${'['.repeat(600)}${']'.repeat(600)}` })
    const long = JSON.stringify({ list: JSON.stringify(Array.from({ length: 50 }, (_, n) => n)) })
    expect(await prepareArguments(tool, deep, { asNative: true })).toMatchObject({ ok: false })
    expect(await prepareArguments(tool, long, { asNative: true, maxValues: 40 })).toMatchObject({ ok: false })
    expect(await prepareArguments(tool, long, { asNative: true, maxValues: 70 })).toMatchObject({ ok: true })
    const prepared = await prepareArguments(tool, '{"map":"{\\"__proto__\\":{\\"a\\":1}}"}', { asNative: true })
    expect(JSON.stringify(prepared.ok && prepared.call.args)).toBe('{"map":{"__proto__":{"a":1}}}')
    expect(Object.getPrototypeOf(prepared.ok && prepared.call.args.map)).toBe(Object.prototype)
  })

  it('F15 decodes the JSON of a value under any schema that the value fits and its text does not', async () => {
    const schemas: JsonSchema[] = [
      { type: 'integer' },
      { type: 'boolean' },
      { type: 'array' },
      { type: 'object' },
      { anyOf: [{ type: 'array' }, { type: 'number' }, { type: 'null' }] },
    ]
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.constantFrom(...schemas), async (value, schema) => {
        const plain = await prepare(value, schema)
        const encoded = await prepare(JSON.stringify(value), schema)
        expect(encoded.ok).toBe(plain.ok)
        if (plain.ok && encoded.ok) expect(encoded.call.args).toEqual(JSON.parse(JSON.stringify(plain.call.args)) as JsonObject)
      }),
    )
  })

  it('F15 visits a limited number of schemas per value', () => {
    let looked = 0
    const branch = (n: number) => ({
      get type() {
        looked++
        return 'object'
      },
      required: [`k${n}`],
    })
    const schema = { type: 'object', properties: { list: { items: { anyOf: Array.from({ length: 1_000 }, (_, n) => branch(n)) } } } }
    const list = Array.from({ length: 1_000 }, () => ({ a: '1' }))
    expect(decodeArguments({ list }, schema, jsonIn)).toEqual({ list })
    expect(looked).toBeLessThan(200_000)
  })
})
