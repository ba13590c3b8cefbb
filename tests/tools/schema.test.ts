import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { ToolloopError } from '../../src/core/errors.ts'
import { compiledSize } from '../../src/tools/schema/foreign/compiled-size.ts'
import { openForeign } from '../../src/tools/schema/foreign/foreign-schema.ts'
import { compileSchema } from '../../src/tools/schema/schema.ts'
import type { JsonSchema } from '../../src/tools/tool.ts'
import { turnsWhile } from '../event-loop.ts'

const check = (schema: JsonSchema, value: unknown) => compileSchema(schema, 't')(value)
const object = (properties: object, more: object = {}): JsonSchema => ({ type: 'object', properties, ...more })

function refusalOf(schema: unknown): ToolloopError {
  try {
    compileSchema(schema as JsonSchema, 't')
  } catch (error) {
    if (error instanceof ToolloopError) return error
    throw new Error('Expected a ToolloopError', { cause: error })
  }
  throw new Error('Expected the schema to be refused')
}

describe('problems of a value', () => {
  const nested = object({ list: { type: 'array', items: object({ 'na/me~': { type: 'string' } }, { required: ['id'] }) } })

  it.each<[string, JsonSchema, unknown, string[]]>([
    ['nothing', object({ a: { type: 'string' } }), { a: 'x' }, []],
    ['missing', object({}, { required: ['city'] }), {}, ['arguments: missing required `city`']],
    ['several missing', object({}, { required: ['a', 'b'] }), {}, ['arguments: missing required `a`', 'arguments: missing required `b`']],
    ['unknown', object({ a: {} }, { additionalProperties: false }), { a: 1, b: 2 }, ['arguments: unknown `b`']],
    [
      'unevaluated',
      { type: 'object', allOf: [object({ a: {} })], unevaluatedProperties: false },
      { a: 1, b: 2 },
      ['arguments: unknown `b`'],
    ],
    ['type', object({ n: { type: 'number' } }), { n: '1' }, ['`n`: expected number, got string "1"']],
    ['integer', object({ n: { type: 'integer' } }), { n: 1.5 }, ['`n`: expected integer, got number 1.5']],
    ['one of two types', object({ n: { type: ['number', 'null'] } }), { n: true }, ['`n`: expected number or null, got boolean true']],
    ['null', object({ n: { type: 'number' } }), { n: null }, ['`n`: expected number, got null']],
    ['an object for a text', object({ n: { type: 'string' } }), { n: { a: 1 } }, ['`n`: expected string, got object {"a":1}']],
    ['an array for an object', object({ n: { type: 'object' } }), { n: [] }, ['`n`: expected object, got array []']],
    ['no number at all', object({ n: { type: 'number' } }), JSON.parse('{"n":1e999}'), ['`n`: expected number, got number Infinity']],
    ['enum', object({ u: { enum: ['C', 'F', null, 1] } }), { u: 'K' }, ['`u`: expected one of ["C","F",null,1], got "K"']],
    ['const', object({ u: { const: { a: 1 } } }), { u: 2 }, ['`u`: expected {"a":1}, got 2']],
    ['minimum', object({ n: { minimum: 3 } }), { n: 2 }, ['`n`: must be >= 3, got 2']],
    ['multipleOf', object({ n: { multipleOf: 3 } }), { n: 4 }, ['`n`: must be multiple of 3, got 4']],
    ['pattern', object({ s: { pattern: '^a+$' } }), { s: 'b' }, ['`s`: must match pattern "^a+$", got "b"']],
    ['minLength', object({ s: { minLength: 1 } }), { s: '' }, ['`s`: must NOT have fewer than 1 characters, got ""']],
    ['maxItems', object({ l: { maxItems: 1 } }), { l: [1, 2] }, ['`l`: must NOT have more than 1 items, got [1,2]']],
    [
      'uniqueItems',
      object({ l: { uniqueItems: true } }),
      { l: [1, 1] },
      ['`l`: must NOT have duplicate items (items ## 0 and 1 are identical), got [1,1]'],
    ],
    [
      'deep',
      nested,
      { list: [{ id: 1 }, { 'na/me~': 7 }] },
      ['`list[1]`: missing required `id`', '`list[1].na/me~`: expected string, got number 7'],
    ],
    [
      'propertyNames',
      { type: 'object', propertyNames: { maxLength: 2 } },
      { abc: 1 },
      ['arguments: must NOT have more than 2 characters, got "abc"', 'arguments: property name must be valid, got {"abc":1}'],
    ],
    [
      'anyOf',
      object({ n: { anyOf: [{ type: 'string' }, { type: 'number' }] } }),
      { n: null },
      ['`n`: expected string, got null', '`n`: expected number, got null', '`n`: must match a schema in anyOf, got null'],
    ],
    ['not', object({ n: { not: { type: 'string' } } }), { n: 'x' }, ['`n`: must NOT be valid, got "x"']],
    ['false', object({ n: false }), { n: 1 }, ['`n`: boolean schema is false, got 1']],
    ['no object', object({}), [], ['arguments: expected object, got array []']],
  ])('H13 name the field, what was expected and what was received: %s', (_, schema, value, problems) => {
    expect(check(schema, value)).toEqual(problems)
  })

  it('H13 name each thing once, up to a useful number', () => {
    const required = Array.from({ length: 30 }, (_, i) => `field${i}`)
    expect(check(object({}, { required }), {})).toEqual([
      ...required.slice(0, 8).map((name) => `arguments: missing required \`${name}\``),
      'and 22 more',
    ])
    const same = { allOf: [{ required: ['a'] }, { required: ['a'] }], type: 'object' }
    expect(check(same, {})).toEqual(['arguments: missing required `a`'])
  })

  it('H13 are short, however long the value is', () => {
    const long = 'x'.repeat(1_000_000)
    const schema = object({ s: { type: 'number' }, e: { enum: ['a'] }, p: { pattern: '^a$' } }, { additionalProperties: false })
    const words = check(schema, { s: long, e: long, p: long, [long]: 1, [`${long}y`]: { [long]: long } })
    expect(words).toHaveLength(5)
    for (const line of words) expect(line.length).toBeLessThan(400)
    const values = check({ type: 'object', additionalProperties: { type: 'number' } }, { [long]: 'no' })
    expect(values.join().length).toBeLessThan(600)
    const items = check(object({ l: { items: { type: 'string' } } }), { l: Array.from({ length: 50_000 }, (_, i) => i) })
    expect([items.length, items.at(-1)]).toEqual([9, 'and 49992 more'])
  })
})

describe('compileSchema', () => {
  const tuple7 = { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false }
  const tuple2020 = { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false }

  it.each<[string, JsonSchema]>([
    ['2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema', ...object({ t: tuple2020 }) }],
    ['2020-12 unsaid', object({ t: tuple2020 })],
    ['draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', ...object({ t: tuple7 }) }],
    ['draft-07, its URI written otherwise', { $schema: 'https://json-schema.org/draft-07/schema', ...object({ t: tuple7 }) }],
    ['draft-07 unsaid', object({ t: tuple7 })],
    ['draft-06', { $schema: 'http://json-schema.org/draft-06/schema#', ...object({ t: tuple7 }) }],
    ['draft-04', { $schema: 'http://json-schema.org/draft-04/schema#', ...object({ t: tuple7 }) }],
    ['2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema', ...object({ t: tuple2020 }) }],
    ['a dialect nobody knows', { $schema: 'https://example.com/mine', ...object({ t: tuple2020 }) }],
  ])('%s', (_, schema) => {
    expect(check(schema, { t: ['a', 1] })).toEqual([])
    expect(check(schema, { t: [1, 1] })).toEqual(['`t[0]`: expected string, got number 1'])
    expect(check(schema, { t: ['a', 1, 2] })).toHaveLength(1)
  })

  it.each<[string, JsonSchema]>([
    ['# alone', object({ child: { $ref: '#' }, n: { type: 'number' } })],
    ['# with an $id', { $id: 'https://example.com/node', ...object({ child: { $ref: '#' }, n: { type: 'number' } }) }],
    ['# with an empty $id', { $id: '', ...object({ child: { $ref: '#' }, n: { type: 'number' } }) }],
    [
      'by its own $id',
      { $id: 'https://example.com/own', ...object({ child: { $ref: 'https://example.com/own' }, n: { type: 'number' } }) },
    ],
    ['$defs', { $ref: '#/$defs/node', $defs: { node: object({ child: { $ref: '#/$defs/node' }, n: { type: 'number' } }) } }],
    [
      'definitions',
      {
        type: 'object',
        $ref: '#/definitions/node',
        definitions: { node: object({ child: { $ref: '#/definitions/node' }, n: { type: 'number' } }) },
      },
    ],
    ['an anchor', { $ref: '#node', $defs: { node: { $anchor: 'node', ...object({ child: { $ref: '#node' }, n: { type: 'number' } }) } } }],
  ])('accepts a recursive schema: %s', (_, schema) => {
    expect(check(schema, { child: { child: { n: 1 } } })).toEqual([])
    expect(check(schema, { child: { child: { n: 'x' } } })).toEqual(['`child.child.n`: expected number, got string "x"'])
  })

  it('keeps two schemas with the same `$id` apart', () => {
    const one = { $id: 'https://example.com/same', ...object({ a: { type: 'string' } }) }
    const two = { $id: 'https://example.com/same', ...object({ a: { type: 'number' } }) }
    expect([check(one, { a: 'x' }), check(two, { a: 1 })]).toEqual([[], []])
    expect([check(one, { a: 1 }).length, check(two, { a: 'x' }).length]).toEqual([1, 1])
  })

  it('keeps two schemas apart whose parts share an `$id`; a third sees neither', () => {
    const using = (type: string) =>
      object({ a: { $ref: 'https://example.com/part' } }, { $defs: { part: { $id: 'https://example.com/part', type } } })
    const one = using('string')
    const two = using('number')
    expect([check(one, { a: 'x' }), check(two, { a: 1 })]).toEqual([[], []])
    expect([check(one, { a: 1 }).length, check(two, { a: 'x' }).length]).toEqual([1, 1])
    expect(refusalOf(object({ a: { $ref: 'https://example.com/part' } })).message).toContain(
      "can't resolve reference https://example.com/part",
    )
  })

  it('ignores a `$schema` that is not a text', async () => {
    const schema = JSON.parse('{ "$schema": { "toString": 1, "valueOf": 1 }, "type": "object", "required": ["a"] }')
    expect((await openForeign(schema, 't')).validate({})).toEqual(['arguments: missing required `a`'])
  })

  it.each<[string, unknown]>([
    ['a BigInt', 10n],
    ['what throws as JSON', { toJSON: () => JSON.parse('no JSON') }],
  ])('refuses a schema that can’t be sent to a model: %s as a default', (_, value) => {
    expect(refusalOf(object({ n: { type: 'integer', default: value } })).code).toBe('invalid_tool')
  })

  it('does not let the `$id` of a meta-schema break other schemas', () => {
    for (const $id of ['https://json-schema.org/draft/2020-12/schema', 'http://json-schema.org/draft-07/schema']) {
      try {
        check({ $id, ...object({}) }, {})
      } catch (error) {
        expect(error).toBeInstanceOf(ToolloopError)
      }
    }
    expect(check({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...object({ a: { type: 'string' } }) }, { a: 1 })).toHaveLength(
      1,
    )
    expect(check({ $schema: 'http://json-schema.org/draft-07/schema#', ...object({ a: { type: 'string' } }) }, { a: 1 })).toHaveLength(1)
    expect(refusalOf(object({ a: { type: 'no such type' } })).code).toBe('invalid_tool')
  })

  it('checks formats; ignores unknown keywords and formats', () => {
    const formats = object({
      uri: { type: 'string', format: 'uri' },
      email: { type: 'string', format: 'email' },
      at: { type: 'string', format: 'date-time' },
      odd: { type: 'string', format: 'telepathic' },
      n: { type: 'number', format: 'int32', 'x-unit': 'm', example: 1, nullable: true, markdownDescription: '' },
    })
    expect(check(formats, { uri: 'https://x', email: 'a@b.c', at: '2020-01-01T00:00:00Z', odd: 'x', n: 1 })).toEqual([])
    expect(check(formats, { uri: 'no uri', email: 'no', at: 'now' }).map((line) => line.split(',')[0])).toEqual([
      '`uri`: must match format "uri"',
      '`email`: must match format "email"',
      '`at`: must match format "date-time"',
    ])
  })

  it('X7 checks a format in time linear in the text', () => {
    const formats = ['url', 'uri', 'uri-reference', 'uri-template', 'email', 'hostname', 'date-time', 'duration', 'json-pointer', 'byte']
    const hostile = ['http://a', 'a@', '', '2020-01-01T'].flatMap((start) =>
      [':', '.', 'a.', 'a-', '%', '{', '@', '1'].map((piece) => `${start}${piece.repeat(200_000)}!`),
    )
    for (const format of formats) for (const text of hostile) check(object({ text: { type: 'string', format } }), { text })
    const url = (text: string) => check(object({ text: { type: 'string', format: 'url' } }), { text }).length === 0
    expect(['https://example.com/a?b=c#d', 'ftp://h', 'http://user:word@127.0.0.1:80'].filter(url)).toHaveLength(3)
    expect(['mailto:a@b.c', 'http://', 'http:// a', 'example.com', 'https://a b', 'javascript:x'].filter(url)).toEqual([])
  })

  it('accepts an empty schema, which allows any object', () => {
    expect(check({}, { a: 1 })).toEqual([])
  })

  it('compiles each of a hundred schemas once', () => {
    const schemas = Array.from({ length: 100 }, (_, i) => object({ [`field${i}`]: { type: 'number' } }, { required: [`field${i}`] }))
    const validators = schemas.map((schema) => compileSchema(schema, 't'))
    for (const [i, schema] of schemas.entries()) {
      expect(compileSchema(schema, 'another')).toBe(validators[i])
      expect(validators[i]?.({ [`field${i}`]: i })).toEqual([])
      expect(validators[i]?.({})).toEqual([`arguments: missing required \`field${i}\``])
    }
  })

  it('does not change the schema', () => {
    const schema = Object.freeze({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      ...object({ a: Object.freeze({ type: 'string' }) }),
    })
    const before = structuredClone(schema)
    check(schema, { a: 1 })
    expect(schema).toEqual(before)
  })

  it('compiles equal schemas once, even if created separately', () => {
    const schema = () => object({ a: { enum: ['x', null, 1] } }, { required: ['a'] })
    expect(compileSchema(schema(), 'a')).toBe(compileSchema(schema(), 'b'))
    expect(compileSchema(schema(), 'a')).not.toBe(compileSchema(object({ a: { enum: ['x', null, '1'] } }, { required: ['a'] }), 'a'))
  })

  it('does not apply later changes of a schema to those it was equal to', () => {
    const allowed: string[] = ['x', 'y']
    const first = object({ changed: { enum: allowed } })
    expect(check(first, { changed: 'z' })).toHaveLength(1)
    allowed.push('z')
    expect(check(object({ changed: { enum: ['x', 'y'] } }), { changed: 'z' })).toHaveLength(1)
    expect(check(object({ changed: { enum: ['x', 'y', 'z'] } }), { changed: 'z' })).toEqual([])
  })

  it('does not confuse schemas that only have the same JSON', () => {
    expect(check(object({ n: { const: null } }), { n: 1 })).toHaveLength(1)
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(refusalOf(object({ n: { minimum: odd } }))).toMatchObject({ code: 'invalid_tool' })
    }
    expect(check(object({ d: { const: 'x' } }), { d: 'x' })).toEqual([])
    expect(check(object({ d: { const: { toJSON: () => 'x' } } }), { d: 'x' })).toHaveLength(1)
    expect(check(object({ m: { const: {} } }), { m: {} })).toEqual([])
    expect(check(object({ m: { const: new Map([[1, 2]]) } }), { m: {} })).toHaveLength(1)
  })

  it('forgets equal schemas that were not used for long', () => {
    const schema = () => object({ forgotten: { type: 'string' } })
    const first = compileSchema(schema(), 't')
    for (let i = 0; i < 256; i++) compileSchema({ type: 'object', required: [`other_${i}`] }, 't')
    expect(compileSchema(schema(), 't')).not.toBe(first)
  })

  it('keeps neither schemas nor values in memory', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const watched: WeakRef<object>[] = []
    for (let i = 0; i < 20; i++) {
      for (const extra of [{}, { $id: `https://example.com/${i}` }]) {
        const schema = { ...extra, ...object({ a: { $ref: '#/$defs/a' } }, { $defs: { a: { type: 'string' } } }) }
        const value = { a: [i] }
        expect(check(schema, value)).toHaveLength(1)
        watched.push(new WeakRef(schema), new WeakRef(value))
      }
    }
    // The interpreter may still hold the last ones it used.
    const alive = () => watched.filter((ref) => ref.deref() !== undefined).length
    for (let turn = 0; turn < 20 && alive() > 4; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      collect()
    }
    expect(alive()).toBeLessThanOrEqual(4)
  })

  it('keeps no part of a schema after many others', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const compileLongEnum = () => {
      // Too long to be cached as text, so it is compiled directly.
      const names = Array.from({ length: 3000 }, (_, at) => `name ${at}`)
      expect(check(object({ a: { enum: names } }), { a: 'name 7' })).toEqual([])
      return new WeakRef(names)
    }
    const watched = compileLongEnum()
    for (let i = 0; i < 200; i++) check(object({ [`other_${i}`]: {} }), {})
    for (let turn = 0; turn < 20 && watched.deref() !== undefined; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      collect()
    }
    expect(watched.deref()).toBeUndefined()
  })

  it('limits the check of a foreign schema even if it equals one of our own', async () => {
    const schema = () => object({ a: { type: 'string', pattern: '^(b+)+$' } })
    const own = compileSchema(schema(), 't')
    expect((await openForeign(schema(), 't')).validate).not.toBe(own)
    expect(compileSchema(schema(), 't')).toBe(own)
  })

  it('stops the endless check of a foreign schema', async () => {
    const schema = object({ a: { type: 'string', pattern: '^(a+)+$' } })
    const { validate } = await openForeign(schema, 't')
    expect(compileSchema(schema, 't')).toBe(validate)
    expect(validate({ a: 'aa' })).toEqual([])
    const tooSlow = ['arguments: could not be checked in time, because of a `pattern`, `uniqueItems` or a union in their schema']
    expect(validate({ a: `${'a'.repeat(60)}!` })).toEqual(tooSlow)
  })
})

describe('openForeign', () => {
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string' }]))

  it('reports the same problems as any other schema', async () => {
    const node = { type: 'object', properties: { of: { $ref: '#/$defs/node' }, at: { $ref: '#/$defs/n%61me' } }, required: ['at'] }
    const schema = { ...object({ tree: { $ref: '#/$defs/node' } }), $defs: { node, name: { type: 'string' } } }
    const {
      value: { validate },
      turns,
    } = await turnsWhile(() => openForeign(schema, 't'))
    for (const tree of [{ at: 'a' }, { at: 'a', of: { at: 'b' } }, { at: 1 }, { at: 'a', of: {} }])
      expect(validate({ tree })).toEqual(check({ ...schema }, { tree }))
    expect(turns).toBeGreaterThan(0)
    expect((await openForeign(schema, 't')).validate).toBe(validate)
  })

  it('refuses a schema that is too large', async () => {
    const part = { $defs: { a: object(fields(200)) } }
    for (const schema of [
      object(fields(20_000)),
      { ...object({}), ...part, allOf: Array.from({ length: 500 }, () => ({ $ref: '#/$defs/a' })) },
    ])
      await expect(openForeign(schema, 't')).rejects.toThrow('Tool `t`: the JSON Schema of its parameters is too large')
  })

  it.each<[string, object, number]>([
    ['what is in it', { a: [1, { b: 2 }] }, 4],
    ['what is referred to, wherever that is', { d: { a: 1, b: 2 }, x: { $ref: '#/d' }, y: { $ref: '#/d' } }, 11],
    ['what refers to itself, once', { d: { a: { $ref: '#/d' } }, x: { $ref: '#/d' }, y: { $ref: '#/d' } }, 9],
    ['all of it for what it does not know', { a: 1, x: { $ref: 'other' } }, 6],
  ])('accepts as large a schema as %s', (_, schema, size) => {
    expect(compiledSize(schema, 100)).toBe(size)
    expect(compiledSize(schema, 2)).toBe(3)
  })
})

it.each(['anyOf', 'oneOf'])('stops a small value from keeping our own schema busy forever: %s whose branches refer back to it', (union) => {
  const branch = (op: string) => ({ type: 'object', properties: { op: { const: op }, of: { $ref: '#/$defs/node' } }, required: ['op'] })
  const schema = { ...object({ tree: { $ref: '#/$defs/node' } }), $defs: { node: { [union]: [branch('and'), branch('or')] } } }
  const tree = (depth: number): object => (depth === 0 ? { op: 'or' } : { op: 'or', of: tree(depth - 1) })
  expect(check(schema, { tree: tree(8) })).toEqual([])
  expect(check(schema, { tree: tree(24) })).toEqual([expect.stringContaining('could not be checked in time')])
})

it('stops a small value from keeping our own schema busy forever: very many items that must differ', () => {
  const schema = object({ list: { type: 'array', uniqueItems: true } })
  const list = Array.from({ length: 12_000 }, (_, at) => ({ at }))
  expect(check(schema, { list: list.slice(0, 10) })).toEqual([])
  expect(check(schema, { list })).toEqual([expect.stringContaining('could not be checked in time')])
})

describe('names that every object inherits', () => {
  const names = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__']

  it.each(names)('H14 a required `%s` is missing unless given', (name) => {
    const schema = { type: 'object', required: [name] }
    expect(check(schema, {})).toEqual([`arguments: missing required \`${name}\``])
    expect(check(schema, JSON.parse(`{"${name}":1}`))).toEqual([])
  })

  it.each(names)('H14 an unknown `%s` is unknown', (name) => {
    const schema = { type: 'object', properties: {}, additionalProperties: false }
    expect(check(schema, {})).toEqual([])
    expect(check(schema, JSON.parse(`{"${name}":1}`))).toEqual([`arguments: unknown \`${name}\``])
  })

  it.each(names.slice(0, 4))('H14 a property `%s` is checked only if given', (name) => {
    const schema = JSON.parse(`{"type":"object","properties":{"${name}":{"type":"string"}}}`)
    expect(check(schema, {})).toEqual([])
    expect(check(schema, JSON.parse(`{"${name}":1}`))).toEqual([`\`${name}\`: expected string, got number 1`])
  })

  it('H14 a schema with `__proto__` as a key pollutes nothing', () => {
    const schema = JSON.parse(
      '{"type":"object","__proto__":{"polluted":1},"properties":{"__proto__":{"type":"string"},"a":{"type":"string"}}}',
    )
    expect(check(schema, { a: 1 })).toEqual(['`a`: expected string, got number 1'])
    expect('polluted' in {}).toBe(false)
  })
})

it('a pattern that backtracks forever is stopped, and the next check is not', () => {
  const schema = object({ a: { pattern: '^(a+)+$' } })
  expect(check(schema, { a: `${'a'.repeat(40)}!` })).toEqual([expect.stringContaining('could not be checked in time')])
  expect(check(schema, { a: 'b' })).toEqual(['`a`: must match pattern "^(a+)+$", got "b"'])
})

describe('schemas that compileSchema refuses', () => {
  const cyclic: JsonSchema = { type: 'object' }
  cyclic.properties = { self: cyclic }

  it.each<[string, unknown]>([
    ['a type nobody knows', { type: 'objekt' }],
    ['properties that are none', { type: 'object', properties: 5 }],
    ['a property that is none', object({ a: 'string' })],
    ['a required that is none', { type: 'object', required: 'a' }],
    ['a reference to nowhere', object({ a: { $ref: '#/$defs/none' } })],
    ['a reference to the outside', object({ a: { $ref: 'https://example.com/outside.json' } })],
    ['an $id that is none', { $id: 7, type: 'object' }],
    ['a schema that contains itself', cyclic],
    ['a schema that would check later', { $async: true, type: 'object', required: ['a'] }],
    ['a part that would check later', object({ a: { $async: true, type: 'object' } })],
    ['an array', []],
    ['a text', 'object'],
    ['null', null],
  ])('%s', (_, schema) => {
    const error = refusalOf(schema)
    expect(error).toMatchObject({ code: 'invalid_tool', fault: 'programmer' })
    expect(error.message).toMatch(/^Tool `t`: its parameters are not a usable JSON Schema: ./)
  })
})
