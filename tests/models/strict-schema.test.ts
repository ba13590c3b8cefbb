import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/core/messages.ts'
import { isStrictSchema } from '../../src/models/conversion/strict-schema.ts'
import { refuseJsonSchemaFormat } from './rules/response-formats.ts'
import { anySchema, closed } from './schemas.ts'

const text = { type: 'string' }
const nested = (levels: number): JsonObject => (levels === 1 ? closed({ a: text }) : closed({ a: nested(levels - 1) }))
const many = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, text]))
const values = (count: number, length = 1): Json[] => Array.from({ length: count }, (_, at) => String(at).padStart(length, '0'))

describe('what OpenAI accepts as a strict schema', () => {
  it.each<[string, JsonObject]>([
    ['a closed object that requires all', closed({ a: text, b: { type: 'number' } })],
    ['one without properties', closed({})],
    ['objects in it', closed({ a: closed({ b: closed({ c: text }) }) })],
    ['lists', closed({ a: { type: 'array', items: closed({ b: text }), minItems: 1, maxItems: 3 } })],
    ['what may be null', closed({ a: { type: ['string', 'null'], description: 'A name.' } })],
    ['alternatives', closed({ a: { anyOf: [closed({ b: text }), { type: 'null' }], description: 'Or none.' } })],
    ['enums and constants', closed({ a: { type: 'string', enum: ['x', 'y'] }, b: { type: 'string', const: 'z' } })],
    ['bounds', closed({ a: { type: 'integer', minimum: 0, exclusiveMaximum: 9, multipleOf: 3 } })],
    ['formats', closed({ a: { type: 'string', format: 'email', pattern: '^.+@' } })],
    ['definitions', { ...closed({ a: { $ref: '#/$defs/b' } }), $defs: { b: closed({ c: text }) } }],
    ['itself', closed({ children: { type: 'array', items: { $ref: '#' } } })],
    ['a definition that holds itself', { ...closed({ a: { $ref: '#/$defs/b' } }), $defs: { b: closed({ b: { $ref: '#/$defs/b' } }) } }],
    ['a property by the name of a keyword', closed({ allOf: text, default: text })],
    ['ten levels', nested(9)],
    ['as much as it may hold', closed({ ...many(4999), last: { type: 'string', enum: values(1000, 15) } })],
  ])('%s', (_, schema) => {
    expect(isStrictSchema(schema)).toBe(true)
  })

  it.each<[string, JsonObject]>([
    ['an open object', { ...closed({ a: text }), additionalProperties: true }],
    ['an object that says nothing of other properties', { type: 'object', properties: { a: text }, required: ['a'] }],
    ['an optional property', { ...closed({ a: text, b: text }), required: ['a'] }],
    ['required properties it does not have', { ...closed({ a: text }), required: ['b'] }],
    ['one that is required twice', { ...closed({ a: text, b: text }), required: ['a', 'a'] }],
    ['an open object inside', closed({ a: { type: 'array', items: { type: 'object', properties: {} } } })],
    ['an open object among definitions', { ...closed({ a: { $ref: '#/$defs/b' } }), $defs: { b: { type: 'object' } } }],
    ['an open object that may be null', closed({ a: { type: ['object', 'null'], properties: {} } })],
    ['a root that is no object', { type: 'array', items: text }],
    ['a root of alternatives', { anyOf: [closed({ a: text })] }],
    ['alternatives beside the root’s properties', { ...closed({ a: text }), anyOf: [closed({ a: text })] }],
    ['no alternatives', closed({ a: { anyOf: [] } })],
    ['no type', closed({ a: {} })],
    ['an unknown type', closed({ a: { type: 'text' } })],
    ['no types', closed({ a: { type: [] } })],
    ['true for a schema', closed({ a: true })],
    ['a list of anything', closed({ a: { type: 'array' } })],
    ['an empty enum', closed({ a: { type: 'string', enum: [] } })],
    ['`allOf`', closed({ a: { allOf: [text] } })],
    ['`oneOf`', closed({ a: { oneOf: [text, { type: 'null' }] } })],
    ['`default`', closed({ a: { type: 'string', default: 'x' } })],
    ['`minLength`', closed({ a: { type: 'string', minLength: 1 } })],
    ['a keyword of another type', closed({ a: { type: 'string', minimum: 1 } })],
    ['`patternProperties`', { ...closed({}), patternProperties: { a: text } }],
    ['`uniqueItems`', closed({ a: { type: 'array', items: text, uniqueItems: true } })],
    ['a format it does not know', closed({ a: { type: 'string', format: 'uri' } })],
    ['a reference with a description', { ...closed({ a: { $ref: '#/$defs/b', description: 'B.' } }), $defs: { b: text } }],
    ['a reference to nothing', closed({ a: { $ref: '#/$defs/b' } })],
    ['a reference to elsewhere', closed({ a: { $ref: 'https://example.com/b.json' } })],
    ['a reference to what every object has', { ...closed({ a: { $ref: '#/$defs/toString' } }), $defs: {} }],
    ['definitions that are not at the root', closed({ a: { ...closed({}), $defs: { b: text } } })],
    ['eleven levels', nested(10)],
    ['too many properties', closed(many(5001))],
    ['too many values', closed({ a: { type: 'string', enum: values(600) }, b: { type: 'string', enum: values(401) } })],
    ['too long a list of values', closed({ a: { type: 'string', enum: values(251, 60) } })],
    ['too long names', closed(Object.fromEntries(Array.from({ length: 1201 }, (_, at) => [String(at).padStart(100, 'x'), text])))],
    ['too long a value', closed({ a: { type: 'string', const: 'x'.repeat(120_000) } })],
  ])('not %s', (_, schema) => {
    expect(isStrictSchema(schema)).toBe(false)
  })

  it('contains nothing that the API would refuse', () => {
    fc.assert(
      fc.property(anySchema, (schema) => {
        if (isStrictSchema(schema)) expect(refuseJsonSchemaFormat({ name: 'x', schema, strict: true }, 'format')).toBeUndefined()
      }),
    )
  })
})
