import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import { openForeign } from '../../src/tools/schema/foreign/foreign-schema.ts'
import { compileSchema } from '../../src/tools/schema/schema.ts'
import type { JsonSchema } from '../../src/tools/tool.ts'
import { leastCpuMs } from '../reference-pace.ts'

const field = (schema: unknown, more: object = {}): JsonSchema => ({ type: 'object', properties: { a: schema }, ...more })
const draft = (number: string) => ({ $schema: `http://json-schema.org/draft-${number}/schema#` })

/** Schemas as MCP servers and OpenAPI documents contain them, with valid and invalid arguments, and the places of the notes. */
const schemas: [name: string, schema: JsonSchema, taken: object[], refused: object[], noted: string[]][] = [
  ['a needless escape in a pattern', field({ type: 'string', pattern: '^\\d{4}\\-\\d{2}$' }), [{ a: '2024-05' }], [{ a: '2024/05' }], []],
  ['a range that is none', field({ type: 'string', pattern: '^[\\w-\\.]+$' }), [{ a: 'a-b.c' }], [{ a: 'a b' }], []],
  ['a hyphen behind a class', field({ pattern: '^[a-zA-Z0-9_\\-\\s]*$' }), [{ a: 'a-b c' }], [{ a: 'a!' }], []],
  ['an escaped sign', field({ pattern: '^[^\\@]+\\@[^\\@]+$' }), [{ a: 'a@b' }], [{ a: 'a' }], []],
  ['a needless escape beside a property of characters', field({ pattern: '^\\p{Lu}\\-\\_\\d$' }), [{ a: 'Ä-_1' }], [{ a: 'ä-_1' }], []],
  ['an address, as PayPal has it', field({ pattern: '^https\\:\\/\\/' }), [{ a: 'https://a' }], [{ a: 'http://a' }], []],
  [
    'bounds of a date',
    field({ type: 'string', format: 'date', minimum: '2024-01-01' }),
    [{ a: 'soon' }],
    [{ a: 1 }],
    ['#/properties/a/minimum'],
  ],
  ['sets of characters', field({ pattern: '^[\\p{L}--[a-z]]+$' }), [{ a: 'ÄB' }], [{ a: 'ab' }], []],
  ['a pattern of Python', field({ pattern: '\\A(?P<year>\\d{4})\\Z' }), [{ a: '2024' }], [{ a: '24' }], []],
  ['a pattern that ignores case', field({ pattern: '(?i)^asc|desc$' }), [{ a: 'ASC' }], [{ a: 'up' }], []],
  ['a pattern in delimiters', field({ pattern: '/^[a-z]+$/' }), [{ a: 'ab' }], [{ a: '1' }], ['#/properties/a/pattern']],
  ['a possessive pattern', field({ type: 'string', pattern: '^a++$' }), [{ a: 'aa' }, { a: 'b' }], [{ a: 1 }], ['#/properties/a/pattern']],
  ['a class of POSIX', field({ type: 'string', pattern: '^[[:alpha:]]+$' }), [{ a: 'xyz' }], [{ a: 1 }], ['#/properties/a/pattern']],
  [
    'a letter that JavaScript escapes',
    field({ type: 'string', pattern: '^\\h\\-$' }),
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/properties/a/pattern'],
  ],
  ['an open bracket', field({ type: 'string', pattern: '[' }), [{ a: 'x' }], [{ a: 1 }], ['#/properties/a/pattern']],
  [
    'names by a pattern that can’t be read',
    field({}, { patternProperties: { '^x++$': { type: 'string' }, '^y$': { type: 'string' } }, additionalProperties: false }),
    [{ xx: 1, z: 1, y: 'a' }],
    [{ y: 1 }],
    ['#/patternProperties/^x++$'],
  ],
  [
    'draft-04: bounds that are flags',
    field({ type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false }, draft('04')),
    [{ a: 9 }],
    [{ a: 0 }, { a: 10 }],
    ['#/properties/a/minimum', '#/properties/a/exclusiveMinimum', '#/properties/a/exclusiveMaximum'],
  ],
  [
    'draft-04: a flag without a bound',
    field({ type: 'number', exclusiveMinimum: true }),
    [{ a: -1 }],
    [{ a: 'x' }],
    ['#/properties/a/exclusiveMinimum'],
  ],
  [
    'draft-04: ids',
    field({ id: '/properties/a', type: 'string' }, { id: 'http://example.com/root.json', ...draft('04') }),
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/id', '#/properties/a/id'],
  ],
  [
    'draft-04: a field that is called id',
    { type: 'object', properties: { id: { type: 'string' }, required: { type: 'boolean' } }, required: ['id'] },
    [{ id: 'x', required: true }],
    [{}, { id: 1 }],
    [],
  ],
  [
    'draft-04: definitions',
    field({ $ref: '#/definitions/Pet' }, { definitions: { Pet: { type: 'string' } }, ...draft('04') }),
    [{ a: 'x' }],
    [{ a: 1 }],
    [],
  ],
  [
    'draft-03: a field says that it is required',
    { type: 'object', properties: { a: { type: 'string', required: true }, b: { required: false } } },
    [{ a: 'x' }],
    [{}],
    ['#/required', '#/properties/a/required', '#/properties/b/required'],
  ],
  ['draft-03: any type', field({ type: 'any' }), [{ a: 1 }, { a: [null] }], [], ['#/properties/a/type']],
  [
    'draft-06: ids with fragments',
    field({ $id: '#/properties/a', type: 'string' }, { $id: 'http://example.com/a.json', ...draft('06') }),
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/properties/a/$id'],
  ],
  [
    'draft-07: a tuple',
    field({ type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false }),
    [{ a: ['x', 1] }],
    [{ a: [1] }, { a: ['x', 1, 2] }],
    [],
  ],
  [
    'the id of a dialect',
    field({ type: 'string' }, { $id: 'http://json-schema.org/draft-07/schema#' }),
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/$id'],
  ],
  ['a name twice in required', field({ type: 'string' }, { required: ['a', 'a'] }), [{ a: 'x' }], [{}], ['#/required']],
  ['required that is a name', field({ type: 'string' }, { required: 'a' }), [{ a: 'x' }], [{}], ['#/required']],
  [
    'required that is null, as Go writes it',
    field({ type: 'string', enum: null }, { required: null }),
    [{ a: 'x' }, {}],
    [{ a: 1 }],
    ['#/required', '#/properties/a/enum'],
  ],
  [
    'fields without a value, as Python writes them',
    field({ type: 'string', title: null, description: null, pattern: null, minLength: null, default: null }),
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/properties/a/title', '#/properties/a/description', '#/properties/a/pattern', '#/properties/a/minLength'],
  ],
  [
    'objects that are lists, as PHP writes them',
    { type: 'object', properties: [], $defs: [] },
    [{}, { a: 1 }],
    [],
    ['#/properties', '#/$defs'],
  ],
  ['a field that is a list, as PHP writes it', field([]), [{ a: 1 }], [], ['#/properties']],
  [
    'types of Python',
    {
      type: 'dict',
      properties: { a: { type: 'str' }, b: { type: 'int' }, c: { type: 'list' }, d: { type: 'bool' }, e: { type: 'float' } },
    },
    [{ a: 'x', b: 1, c: [], d: true, e: 1.5 }],
    [{ a: 1 }, { b: 1.5 }, { c: {} }, { d: 1 }, { e: 'x' }],
    ['#/type', '#/properties/a/type', '#/properties/b/type', '#/properties/c/type', '#/properties/d/type', '#/properties/e/type'],
  ],
  [
    'types in capitals, as Gemini has them',
    { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/type', '#/properties/a/type'],
  ],
  ['a type twice', field({ type: ['string', 'string', 'null'] }), [{ a: null }], [{ a: 1 }], ['#/properties/a/type']],
  ['a type that is unknown', field({ type: 'strng' }), [{ a: 'x' }, { a: 1 }], [], ['#/properties/a/type']],
  ['an object or null', { type: ['object', 'null'], properties: { a: { type: 'string' } } }, [{ a: 'x' }], [{ a: 1 }], ['#/type']],
  [
    'OpenAPI 3.0: nullable',
    field({ type: 'string', enum: ['x'], nullable: true }),
    [{ a: null }, { a: 'x' }],
    [{ a: 1 }],
    ['#/properties/a/type', '#/properties/a/enum', '#/properties/a/nullable'],
  ],
  [
    'OpenAPI 3.0: nullable without a type',
    field({ nullable: true, allOf: [{ type: 'string' }] }),
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/properties/a/nullable'],
  ],
  [
    'OpenAPI: a reference to its components',
    field({ $ref: '#/components/schemas/Pet' }, { $defs: { Pet: { type: 'string' } } }),
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/properties/a/$ref'],
  ],
  [
    'a reference to definitions that are deeper',
    field({ $ref: '#/$defs/Pet', $defs: { Pet: { type: 'string' } } }),
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/properties/a/$ref'],
  ],
  ['a reference to nowhere', field({ $ref: '#/$defs/none', description: 'A pet.' }), [{ a: 1 }], [], ['#/properties/a/$ref']],
  ['a reference to another document', field({ $ref: 'https://example.com/pet.json' }), [{ a: 1 }], [], ['#/properties/a/$ref']],
  ['a reference to a dialect', field({ $ref: 'http://json-schema.org/draft-07/schema#' }), [{ a: { type: 'object' } }], [], []],
  [
    'numbers that are texts',
    field({ type: 'string', minLength: '2', maxLength: '3' }),
    [{ a: 'xx' }],
    [{ a: 'x' }, { a: 'xxxx' }],
    ['#/properties/a/minLength', '#/properties/a/maxLength'],
  ],
  [
    'flags that are texts',
    field({ type: 'array', uniqueItems: 'true' }, { additionalProperties: 'false' }),
    [{ a: [1, 2] }],
    [{ a: [1, 1] }, { b: 1 }],
    ['#/properties/a/uniqueItems', '#/additionalProperties'],
  ],
  ['a length below zero', field({ type: 'string', minLength: -1 }), [{ a: '' }], [{ a: 1 }], ['#/properties/a/minLength']],
  ['a field that is the name of its type', field('string'), [{ a: 'x' }], [{ a: 1 }], ['#/properties']],
  [
    'items that are the name of their type',
    field({ type: 'array', items: 'string' }),
    [{ a: ['x'] }],
    [{ a: [1] }],
    ['#/properties/a/items'],
  ],
  ['no choice', field({ type: 'string', enum: [], anyOf: [] }), [{ a: 'x' }], [{ a: 1 }], ['#/properties/a/enum', '#/properties/a/anyOf']],
  [
    'a description in lines',
    field({ type: 'string', description: ['One.', 'Two.'], title: 5 }),
    [{ a: 'x' }],
    [{ a: 1 }],
    ['#/properties/a/description', '#/properties/a/title'],
  ],
  ['an example that is no list', field({ type: 'string', examples: 'x' }), [{ a: 'x' }], [{ a: 1 }], ['#/properties/a/examples']],
  [
    'a part that would check later',
    field({ $async: true, type: 'object', required: ['b'] }),
    [{ a: { b: 1 } }],
    [{ a: {} }],
    ['#/properties/a/$async'],
  ],
  [
    'ids that are the same',
    {
      type: 'object',
      properties: { a: { $id: 'urn:x', type: 'string' }, b: { $id: 'urn:x', type: 'number' } },
      required: ['a'],
      additionalProperties: false,
    },
    [{ a: 'x' }, { a: 1, b: 1 }],
    [{}, { a: 1, c: 1 }],
    ['#'],
  ],
  [
    'keywords of its own',
    field({ type: 'string', 'x-order': null, example: null, discriminator: { propertyName: 'a' } }),
    [{ a: 'x' }],
    [{ a: 1 }],
    [],
  ],
]

describe('openForeign', () => {
  it.each(schemas)(
    'E3.3 repairs a schema that can be read in only one way, and does not check what can’t be compiled: %s',
    async (_, given, taken, refused, noted) => {
      const before = structuredClone(given)
      const { schema, validate, notes } = await openForeign(given, 't')
      expect(given).toEqual(before)
      for (const args of taken) expect(validate(args), JSON.stringify(args)).toEqual([])
      for (const args of refused) expect(validate(args), JSON.stringify(args)).not.toEqual([])
      expect(notes.map((note) => note.slice(0, note.indexOf(': '))).sort()).toEqual([...noted].sort())
      expect(schema === given).toBe(
        noted.every((at) => at === '#' || /pattern(Properties\/.*)?$/.test(at)) && !notes.some((note) => note.includes('read as')),
      )
      expect(compileSchema(schema, 't')).toBe(validate)
      // The schema for models is usable, and needs no further repair.
      expect((await openForeign(structuredClone(schema), 't')).schema).toEqual(schema)
    },
  )

  it('E3.3 says where and how the schema was repaired', async () => {
    const given = { type: 'object', properties: { a: { type: 'int', minimum: 1, exclusiveMinimum: true } }, required: ['a', 'a'] }
    const { schema, notes } = await openForeign(given, 't')
    expect(schema).toEqual({ type: 'object', properties: { a: { type: 'integer', exclusiveMinimum: 1 } }, required: ['a'] })
    expect(notes).toEqual([
      '#/required: ["a","a"] read as ["a"]',
      '#/properties/a/type: "int" read as "integer"',
      '#/properties/a/minimum: 1 left out',
      '#/properties/a/exclusiveMinimum: true read as 1',
    ])
  })

  it('E3.3 limits the number of notes', async () => {
    const properties = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`p${at}`, { type: 'int' }]))
    const { notes } = await openForeign({ type: 'object', properties }, 't')
    expect(notes).toHaveLength(21)
    expect(notes.at(-1)).toBe('and 30 more')
  })

  it('E3.5 ignores `format` in a foreign schema, and asserts it in one of the application’s own', async () => {
    const schema = (): JsonSchema => field({ type: 'string', format: 'uuid' })
    const args = { a: 'b1946ac924924d23a5b61f0a8f5b7c3d' }
    expect((await openForeign(schema(), 't')).validate(args)).toEqual([])
    expect(compileSchema(schema(), 't')(args)).toEqual(['`a`: must match format "uuid", got "b1946ac924924d23a5b61f0a8f5b7c3d"'])
  })

  it.each<[string, JsonSchema]>([
    ['that is very large', { type: 'object', properties: Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`p${at}`, {}])) }],
    ['that nests very deep', JSON.parse(`${'{"not":'.repeat(3_000)}{}${'}'.repeat(3_000)}`)],
    [
      'that contains itself',
      (() => {
        const schema: JsonSchema = { type: 'object' }
        schema.properties = { schema }
        return schema
      })(),
    ],
    [
      'of parts that double',
      {
        type: 'object',
        $defs: Object.fromEntries(
          Array.from({ length: 60 }, (_, at) => [`d${at}`, { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] }]),
        ),
        $ref: '#/$defs/d0',
      },
    ],
  ])('E3.3 is quick: one %s', async (_, schema) => {
    const open = () =>
      openForeign(schema, 't').then(
        ({ validate }) => validate({}),
        (error: unknown) => expect(error).toMatchObject({ code: 'invalid_tool' }),
      )
    expect(await leastCpuMs(1_000, open)).toBeLessThan(1_000)
  })

  it('E3.3 H14 treats names that every object inherits as ordinary ones', async () => {
    const given: JsonObject = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"int"},"constructor":{"type":"str"}},"required":["constructor","constructor"]}',
    )
    const { validate } = await openForeign(given, 't')
    expect(validate(JSON.parse('{"constructor":"x","__proto__":1}'))).toEqual([])
    expect(validate({})).toEqual(['arguments: missing required `constructor`'])
    expect(validate(JSON.parse('{"constructor":1}'))).toEqual(['`constructor`: expected string, got number 1'])
  })
})
