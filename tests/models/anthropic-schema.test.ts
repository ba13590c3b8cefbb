import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import { anthropicSchema } from '../../src/models/anthropic/schema.ts'
import { refuseOutputConfig } from './rules/response-formats.ts'
import { anySchema, closed } from './schemas.ts'

const text = { type: 'string' }

/** The schema that is sent for a property. */
function sentAs(property: JsonObject, more: JsonObject = {}): unknown {
  const fitted = anthropicSchema({ ...closed({ a: property }), ...more })
  if ('problem' in fitted) return fitted.problem
  expect(fitted.schema).toMatchObject({ type: 'object', required: ['a'], additionalProperties: false })
  return (fitted.schema.properties as JsonObject).a
}

describe('a response’s schema in Anthropic’s subset', () => {
  it('closes every object and keeps optional properties optional', () => {
    expect(anthropicSchema({ type: 'object', title: 'T', properties: { a: text, b: text }, required: ['a'] })).toEqual({
      schema: { type: 'object', title: 'T', properties: { a: text, b: text }, required: ['a'], additionalProperties: false },
    })
    expect(sentAs({ properties: { b: text }, additionalProperties: text })).toEqual({
      type: 'object',
      properties: { b: text },
      additionalProperties: false,
    })
    expect(anthropicSchema(closed({}))).toEqual({ schema: { type: 'object', properties: {}, additionalProperties: false } })
  })

  it.each<[JsonObject, JsonObject]>([
    [
      { type: 'integer', minimum: 0, maximum: 9, description: 'A digit.' },
      { type: 'integer', description: 'A digit. (minimum: 0, maximum: 9)' },
    ],
    [
      { type: 'string', minLength: 1, pattern: '^a' },
      { type: 'string', description: '(minLength: 1, pattern: "^a")' },
    ],
    [
      { type: 'string', format: 'email' },
      { type: 'string', format: 'email' },
    ],
    [
      { type: 'string', format: 'phone' },
      { type: 'string', description: '(format: "phone")' },
    ],
    [
      { type: 'array', items: text, minItems: 1, maxItems: 3 },
      { type: 'array', items: text, minItems: 1, description: '(maxItems: 3)' },
    ],
    [
      { type: 'array', items: text, minItems: 2 },
      { type: 'array', items: text, description: '(minItems: 2)' },
    ],
    [{ type: ['string', 'null'], minLength: 1 }, { anyOf: [{ type: 'string', description: '(minLength: 1)' }, { type: 'null' }] }],
    [
      { oneOf: [text, { type: 'number' }], description: 'Either.' },
      { anyOf: [text, { type: 'number' }], description: 'Either.' },
    ],
    [{ type: 'string', enum: ['a', null] }, { enum: ['a', null] }],
    [
      { type: 'string', const: 'a', description: 'A.' },
      { const: 'a', description: 'A.' },
    ],
    [
      { type: 'array', items: text, enum: [['a'], ['b']] },
      { type: 'array', items: text, description: '(enum: [["a"],["b"]])' },
    ],
    [
      { type: 'boolean', $comment: 'x', default: true },
      { type: 'boolean', description: '(default: true)' },
    ],
  ])('%j is sent as %j', (given, sent) => {
    expect(sentAs(given)).toEqual(sent)
  })

  it('sends definitions where they are referenced, converted once', () => {
    const b = { type: 'object', properties: { c: { $ref: '#/definitions/c' }, d: { $ref: '#/definitions/c' } } }
    const fitted = anthropicSchema({
      ...closed({ a: { $ref: '#/$defs/b', description: 'B.' } }),
      $defs: { b, unused: true },
      definitions: { c: { type: 'number', minimum: 1 } },
    })
    expect(fitted).toEqual({
      schema: {
        ...closed({ a: { $ref: '#/$defs/b' } }),
        $defs: {
          b: {
            type: 'object',
            properties: { c: { $ref: '#/$defs/definitions_c' }, d: { $ref: '#/$defs/definitions_c' } },
            additionalProperties: false,
          },
          definitions_c: { type: 'number', description: '(minimum: 1)' },
        },
      },
    })
  })

  it.each<[string, JsonObject, JsonObject?]>([
    ['refers to itself', { $ref: '#' }],
    ['refers to itself', { $ref: '#/$defs/b' }, { $defs: { b: closed({ c: { type: 'array', items: { $ref: '#/$defs/b' } } }) } }],
    ['refers to `#/$defs/b`, which is not among its definitions', { $ref: '#/$defs/b' }],
    ['refers to `other.json`, which is not among its definitions', { $ref: 'other.json' }],
    ['has an object that allows any properties', { type: 'object', additionalProperties: text }],
    ['has an object that allows any properties', { type: 'object' }],
    ['requires a property that it does not define', { ...closed({ b: text }), required: ['c'] }],
    ['has an array without a schema for its items', { type: 'array' }],
    ['has a schema without a type', {}],
    ['has `allOf`', { allOf: [text] }],
    ['has properties beside alternatives', { ...closed({ b: text }), anyOf: [{ required: ['b'] }] }],
  ])('sends no schema that %s', (problem, property, more) => {
    expect(sentAs(property, more)).toBe(problem)
  })

  it('sends no schema with more optional properties or alternatives than the API compiles', () => {
    const many = (count: number, schema: JsonObject) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, schema]))
    const nullable = { type: ['string', 'null'] }
    expect(anthropicSchema({ type: 'object', properties: many(24, text) })).toHaveProperty('schema')
    expect(anthropicSchema({ type: 'object', properties: many(25, text) })).toEqual({ problem: 'has 25 optional properties, more than 24' })
    expect(anthropicSchema(closed(many(16, nullable)))).toHaveProperty('schema')
    expect(anthropicSchema(closed(many(17, nullable)))).toEqual({ problem: 'has 17 alternatives of types, more than 16' })
  })

  it('contains nothing that the API would refuse, and nothing that was not in the original', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    let taken = 0
    fc.assert(
      fc.property(anySchema, (properties) => {
        const schema = { ...properties, $defs: { x: { type: 'number', minimum: 3 } } }
        const fitted = anthropicSchema(schema)
        if ('problem' in fitted) return
        taken++
        expect(refuseOutputConfig({ format: { type: 'json_schema', schema: fitted.schema } })).toBeUndefined()
        // The subset allows more values but no further properties: an empty object that it accepts is valid in the original.
        if (ajv.validate(fitted.schema, {})) expect(ajv.validate(schema, {})).toBe(true)
      }),
    )
    expect(taken).toBeGreaterThan(10)
  })
})
