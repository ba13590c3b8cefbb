import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Json, JsonObject } from '../../src/core/messages.ts'
import { prepareArguments } from '../../src/tools/arguments.ts'
import { coerceArguments } from '../../src/tools/schema/coerce.ts'
import { compileSchema } from '../../src/tools/schema/schema.ts'
import { defineTool, type JsonSchema } from '../../src/tools/tool.ts'

/** One value under a schema, as an argument. */
function coerced(value: Json, schema: JsonSchema): Json | undefined {
  return coerceArguments({ value }, { type: 'object', properties: { value: schema } }).value
}

describe('coerceArguments', () => {
  it.each([
    ['5', { type: 'integer' }, 5],
    [' 5 ', { type: 'integer' }, 5],
    ['-2.5e3', { type: 'number' }, -2500],
    ['true', { type: 'boolean' }, true],
    ['False', { type: 'boolean' }, false],
    ['null', { type: ['integer', 'null'] }, null],
    ['None', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, null],
    ['["a", "1"]', { type: 'array', items: { type: 'string' } }, ['a', '1']],
    ['["1", "2"]', { type: 'array', items: { type: 'integer' } }, [1, 2]],
    ['{"n": "1"}', { type: 'object', properties: { n: { type: 'integer' } } }, { n: 1 }],
    [
      { n: '1', m: '2' },
      { type: 'object', additionalProperties: { type: 'integer' } },
      { n: 1, m: 2 },
    ],
    [5, { type: 'string' }, '5'],
    [true, { type: ['string', 'null'] }, 'true'],
    ['2', { enum: [1, 2, 3] }, 2],
    ['7', { const: 7 }, 7],
    ['1', { oneOf: [{ type: 'integer' }, { type: 'boolean' }] }, 1],
  ] as [Json, JsonSchema, Json][])('S1-5 reads %j under %j as %j', (value, schema, expected) => {
    expect(coerced(value, schema)).toEqual(expected)
  })

  it.each([
    ['five', { type: 'integer' }],
    ['2.5', { type: 'integer' }],
    ['', { type: 'integer' }],
    ['', { type: 'boolean' }],
    ['1', { type: 'boolean' }],
    ['0x10', { type: 'number' }],
    ['12345678901234567890', { type: 'integer' }],
    ['null', { type: 'integer' }],
    ['null', { type: ['string', 'null'], enum: ['null', null] }],
    ['[1', { type: 'array' }],
    ['a', { type: 'array' }],
    ['5', { type: 'string' }],
    ['5', { type: ['string', 'integer'] }],
    ['5', {}],
    ['5', { not: { type: 'string' } }],
    ['5', { $ref: 'https://example.com/schema' }],
    ['5', { $ref: '#/$defs/missing' }],
    ['5', { $ref: '#name' }],
    ['5', { $ref: '#/%E0%A4%A' }],
    [null, { type: 'string' }],
    [[1], { type: 'string' }],
    [{ a: 1 }, { type: 'integer' }],
  ] as [Json, JsonSchema][])('S1-5 keeps %j under %j', (value, schema) => {
    expect(coerced(value, schema)).toEqual(value)
  })

  it('S1-5 follows references within the schema, and stops at circular ones', () => {
    const schema: JsonSchema = {
      type: 'object',
      properties: { tree: { $ref: '#/$defs/node' }, loop: { $ref: '#/$defs/loop' } },
      $defs: {
        node: { type: 'object', properties: { n: { type: 'integer' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } } },
        loop: { $ref: '#/$defs/loop' },
      },
    }
    const args = { tree: { n: '1', children: [{ n: '2', children: [] }] }, loop: '3' }
    expect(coerceArguments(args, schema)).toEqual({ tree: { n: 1, children: [{ n: 2, children: [] }] }, loop: '3' })
  })

  it('H14 treats `__proto__` and inherited names as data', () => {
    const args: JsonObject = JSON.parse('{"__proto__": {"a": "1"}, "constructor": "5", "toString": "6"}')
    const read = coerceArguments(args, { type: 'object', properties: { a: { type: 'integer' } } })
    expect(JSON.stringify(read)).toBe(JSON.stringify(args))
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })

  it('S1-5 returns a copy, and never changes what the schema already accepts', () => {
    const schemas: JsonSchema[] = [
      { type: 'integer' },
      { type: 'string' },
      { type: ['string', 'number'] },
      { type: 'array', items: { type: 'boolean' } },
      {},
    ]
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...schemas), (value, schema) => {
        const whole = { type: 'object', properties: { value: schema } }
        const args: JsonObject = { value: value as Json }
        const before = structuredClone(args)
        const read = coerceArguments(args, whole)
        expect(args).toEqual(before)
        if (compileSchema(whole, 'x')(args).length === 0) expect(read).toEqual(args)
        // Coercing twice is the same as coercing once.
        expect(coerceArguments(read, whole)).toEqual(read)
      }),
    )
  })

  it('S1-5 validates arguments unchanged if no model wrote them', async () => {
    const tool = defineTool({ name: 'wait', description: 'waits', parameters: z.object({ seconds: z.number() }), execute: () => 'done' })
    expect(await prepareArguments(tool, '{"seconds": "5"}')).toMatchObject({ ok: false, problem: { code: 'invalid_arguments' } })
    expect(await prepareArguments(tool, '"{\\"seconds\\": 5}"')).toMatchObject({ ok: false, problem: { code: 'invalid_arguments_json' } })
    expect(await prepareArguments(tool, '{"seconds": "5"}', { asText: true })).toMatchObject({
      ok: true,
      call: { args: { seconds: 5 }, input: { seconds: 5 } },
    })
    expect(await prepareArguments(tool, '{"seconds": "five"}', { asText: true })).toMatchObject({
      ok: false,
      problem: {
        code: 'invalid_arguments',
        message: expect.stringContaining('`seconds`: expected number, got string'),
        args: { seconds: 'five' },
      },
    })
  })
})
