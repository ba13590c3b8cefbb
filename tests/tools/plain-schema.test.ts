import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPlainSchema } from '../../src/tools/schema/plain-schema.ts'
import { compileSchema } from '../../src/tools/schema/schema.ts'

const typeNames = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null', 'text', '', 'String']
const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(0, 1, -1, 1.5, '', [], {}, [[]], ['a', 'a'], [1, 1], { type: 'text' }))
const type = fc.oneof(fc.constantFrom(...typeNames), fc.array(fc.constantFrom(...typeNames), { maxLength: 3 }), odd)
const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties']
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const others = ['$ref', '$id', '$defs', '$anchor', '$async', 'pattern', 'nullable', 'discriminator', 'x-own', 'constructor', 'if', 'not']
const names = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString', 'na/me', '')

/** Schemas, most of them valid: each keyword also appears with an invalid value. */
const { schema } = fc.letrec((tie) => {
  const inner = fc.oneof({ weight: 4, arbitrary: tie('schema') }, { weight: 1, arbitrary: fc.boolean() }, { weight: 1, arbitrary: odd })
  const list = fc.oneof({ weight: 4, arbitrary: fc.array(inner, { maxLength: 3 }) }, { weight: 1, arbitrary: odd })
  return {
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.record({ type: fc.constantFrom(...typeNames.slice(0, 7)) }),
      fc
        .record(
          {
            type,
            title: fc.oneof(fc.string(), odd),
            description: fc.string(),
            default: odd,
            const: odd,
            enum: fc.oneof(fc.array(odd, { maxLength: 3 }), odd),
            format: fc.oneof(fc.constantFrom('email', 'date-time', 'no-such-format'), odd),
            required: fc.oneof(fc.array(names, { maxLength: 3 }), odd),
            properties: fc.oneof({ weight: 4, arbitrary: fc.dictionary(names, inner, { maxKeys: 3 }) }, { weight: 1, arbitrary: odd }),
            additionalProperties: inner,
            items: fc.oneof(inner, list),
            anyOf: list,
            oneOf: list,
            allOf: list,
            ...Object.fromEntries(counts.map((name) => [name, fc.oneof(fc.nat(), odd)])),
            ...Object.fromEntries(numbers.map((name) => [name, fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), odd)])),
          },
          { requiredKeys: [] },
        )
        .chain((keywords) =>
          fc.oneof(
            { weight: 6, arbitrary: fc.constant(keywords) },
            { weight: 1, arbitrary: fc.constantFrom(...others).map((name) => ({ ...keywords, [name]: 'x' })) },
          ),
        ),
    ),
  }
})

describe('isPlainSchema', () => {
  it('is only true for schemas that the compiler accepts', () => {
    const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true, code: { optimize: false } })
    const id = 'urn:toolloop:schema:1'
    let plain = 0
    fc.assert(
      fc.property(schema, (given) => {
        const json: unknown = JSON.parse(JSON.stringify(given))
        if (!isPlainSchema(json)) return
        plain++
        expect(() => ajv.compile({ ...(json as object), $id: id })).not.toThrow()
        ajv.removeSchema(id)
      }),
      { numRuns: 200 },
    )
    expect(plain).toBeGreaterThan(50)
  })

  it('is true for a schema that is validated like any other from its first value on', () => {
    const validate = compileSchema({ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }, 't')
    expect(validate({ a: 1 })).toEqual([])
    expect(validate({})).toEqual(['arguments: missing required `a`'])
  })

  it('is true for a schema as it is when the tool is made, not when it is first called', () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } } }
    const validate = compileSchema(schema, 't')
    schema.properties.a.type = 'text'
    expect(validate({ a: 'x' })).toEqual(['`a`: expected integer, got string "x"'])
  })

  it.each([
    ['a reference', { $ref: '#/$defs/a', $defs: { a: {} } }],
    ['a pattern', { type: 'string', pattern: '^a' }],
    ['a dialect', { $schema: 'http://json-schema.org/draft-07/schema#' }],
    ['more levels than it looks at', Array.from({ length: 30 }).reduce<object>((inner) => ({ items: inner }), {})],
  ])('is false with %s', (_, schema) => {
    expect(isPlainSchema(schema)).toBe(false)
  })
})
