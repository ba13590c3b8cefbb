import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Json, JsonObject } from '../../src/core/messages.ts'
import { objectSchema } from '../../src/models/conversion/object-schema.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockProvider } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { startStrictProvider } from './rules/strict-provider.ts'
import { refuseFunctionSchema } from './rules/tool-schemas.ts'
import { anySchema } from './schemas.ts'

const text = { type: 'string' }
const a = { type: 'object', properties: { a: text }, required: ['a'] }
const b = { type: 'object', properties: { b: text }, required: ['b'] }

const drivers: Record<string, (server: MockProvider) => ModelSettings> = {
  'openai-chat': ({ baseURL }) => ({ provider: 'openai', model: 'gpt-4o', baseURL }),
  custom: ({ baseURL }) => ({ provider: 'custom', model: 'm', baseURL }),
  'openai-responses': ({ baseURL }) => ({ provider: 'openai-responses', model: 'gpt-5.2', baseURL }),
  'responses-compatible': ({ baseURL }) => ({ provider: 'responses-compatible', model: 'm', baseURL }),
  anthropic: ({ url }) => ({ provider: 'anthropic', model: 'claude-sonnet-4-5', baseURL: url }),
  'anthropic-compatible': ({ url }) => ({ provider: 'anthropic-compatible', model: 'm', baseURL: url }),
  google: ({ url }) => ({ provider: 'google', model: 'gemini-3.5-flash', baseURL: url }),
  'google with OpenAPI schemas': ({ url }) => ({ provider: 'google', model: 'gemini-1.5-pro', baseURL: url }),
}

/** The name of a case, the parameters of a tool, and what the model must be told because the sent schema can't express it. */
const schemas: readonly [name: string, parameters: JsonObject, told: RegExp | undefined][] = [
  ['no properties', { type: 'object' }, undefined],
  ['no type', { properties: { a: text } }, undefined],
  [
    'oneOf',
    { type: 'object', oneOf: [a, b] },
    /must match exactly one of these JSON Schemas: \[\{"required":\["a"\]\},\{"required":\["b"\]\}\]/,
  ],
  ['anyOf without a type', { anyOf: [a, b] }, /must match at least one of these JSON Schemas/],
  ['allOf', { type: 'object', allOf: [a, b] }, undefined],
  [
    'not',
    { type: 'object', properties: { a: text, b: text }, not: { required: ['a', 'b'] } },
    /must not match this JSON Schema: \{"required":\["a","b"\]\}/,
  ],
  ['enum', { type: 'object', properties: { a: text }, enum: [{ a: 'x' }] }, /must be one of: \[\{"a":"x"\}\]/],
  ['const', { type: 'object', properties: { a: text }, const: { a: 'x' } }, /must be: \{"a":"x"\}/],
  ['$ref', { $ref: '#/$defs/a', $defs: { a } }, undefined],
  ['alternatives behind references', { oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }], $defs: { a, b } }, /exactly one/],
  ['an array without items', { type: 'object', properties: { a: { type: 'array' }, b: { type: ['array', 'null'] } } }, undefined],
  ['a tuple of draft-07', { type: 'object', properties: { a: { type: 'array', items: [text, { type: 'number' }] } } }, undefined],
  ['boolean schemas', { type: 'object', properties: { a: true, b: { type: 'array', items: true } } }, undefined],
  [
    'a reference beside other keywords',
    { type: 'object', properties: { a: { $ref: '#/$defs/t', title: 'A' } }, $defs: { t: text } },
    undefined,
  ],
]

/** The only tool that the server received. */
function sentTool({ requests }: MockProvider): { description: Json; schema: Json } {
  const [tool] = (requests[0]?.body.tools ?? []) as JsonObject[]
  const own = (tool?.function ?? (tool?.functionDeclarations as JsonObject[] | undefined)?.[0] ?? tool) as JsonObject
  return { description: own.description ?? '', schema: own.parameters ?? own.input_schema ?? own.parametersJsonSchema ?? {} }
}

async function run(settings: (server: MockProvider) => ModelSettings, parameters: JsonObject, args: JsonObject = {}) {
  await using server = await startStrictProvider({ script: [{ toolCalls: [{ name: 'x', arguments: args }] }, 'Done.'] })
  const tool = defineTool({ name: 'x', description: 'X.', parameters, execute: () => 'ran' })
  const model = createModel({ apiKey: 'sk-ant-k', maxRetries: 0, ...settings(server) })
  const result = await new AgentRunner({ model, tools: [tool] }).run('Go')
  return { result, ...sentTool(server) }
}

describe.each(Object.entries(drivers))('F2 parameters sent by %s', (driver, settings) => {
  it.each(schemas)('F2 the API accepts a tool with %s', async (_name, parameters, told) => {
    const { result, description } = await run(settings, parameters)
    expect(result.error).toBeUndefined()
    expect(result.output).toBe('Done.')
    const warnings = result.steps[0]?.warnings.filter((warning) => warning.includes('`x`'))
    if (told === undefined) expect(description).toBe('X.')
    else {
      expect(description).toMatch(told)
      expect(warnings).toEqual([
        expect.stringMatching(/^The parameters of tool `x` were sent without `\w+`.*the description mentions it instead$/),
      ])
    }
  })

  it('F2 leave the check of arguments to the tool’s own schema', async () => {
    const either = { type: 'object', oneOf: [a, b] }
    const ran = async (args: JsonObject) => {
      const { result } = await run(settings, either, args)
      return result.messages.find(({ role }) => role === 'tool')?.content
    }
    expect(await ran({ a: 'x' })).toBe('ran')
    expect(await ran({ a: 'x', b: 'y' })).toContain('must match exactly one')
    expect(await ran({})).not.toBe('ran')
  })

  it('F2 keep properties with names that the API refuses', async () => {
    const filter = { type: 'string', description: 'An OData filter.' }
    const parameters = { type: 'object', properties: { a: text, $filter: filter }, required: ['a', '$filter'], additionalProperties: false }
    const { result, description, schema } = await run(settings, parameters, { a: 'x', $filter: 'y' })
    expect(result.messages.find(({ role }) => role === 'tool')?.content).toBe('ran')
    expect(JSON.stringify([description, schema])).toContain('An OData filter.')
    if (!driver.startsWith('anthropic')) return
    expect(schema).toEqual({ type: 'object', properties: { a: text }, required: ['a'] })
    expect(description).toContain(
      `must also match this JSON Schema: ${JSON.stringify({ properties: { $filter: filter }, required: ['$filter'] })}`,
    )
  })
})

describe('objectSchema', () => {
  const kind = (value: string) => ({ type: 'object', properties: { kind: { const: value }, [value]: text }, required: ['kind', value] })

  it('F2 merges alternatives to the properties of all, requiring what all require', () => {
    const { schema, removed, beyond } = objectSchema({ description: 'A shape.', oneOf: [kind('x'), { anyOf: [kind('y')] }] })
    expect(schema).toEqual({
      description: 'A shape.',
      type: 'object',
      properties: { kind: { anyOf: [{ const: 'x' }, { const: 'y' }] }, x: text, y: text },
      required: ['kind'],
    })
    expect(removed).toEqual(['oneOf', 'anyOf'])
    const rest = (name: string) => ({ properties: { kind: { const: name } }, required: [name] })
    expect(beyond).toEqual([{ oneOf: [rest('x'), rest('y')] }])
  })

  it('F2 keeps what closed alternatives exclude', () => {
    const closed = (name: string) => ({ type: 'object', properties: { [name]: text }, additionalProperties: false })
    expect(objectSchema({ anyOf: [closed('a'), closed('b')] }).beyond).toEqual([
      {
        anyOf: [
          { additionalProperties: false, properties: { a: {} } },
          { additionalProperties: false, properties: { b: {} } },
        ],
      },
    ])
  })

  it('F2 loses nothing of alternatives that exclude nothing', () => {
    const { schema, beyond } = objectSchema({ anyOf: [{ properties: { a: text } }, { properties: { b: text } }] })
    expect(schema).toEqual({ type: 'object', properties: { a: text, b: text } })
    expect(beyond).toEqual([])
  })

  it('F2 terminates for schemas that refer to themselves, and for those that multiply', () => {
    expect(objectSchema({ $ref: '#', type: ['object', 'null'] }).schema).toEqual({ type: 'object' })
    const tree = {
      allOf: [{ $ref: '#/$defs/t' }],
      $defs: { t: { properties: { t: { $ref: '#/$defs/t' } }, anyOf: [{ $ref: '#/$defs/t' }] } },
    }
    expect(objectSchema(tree).schema).toMatchObject({ properties: { t: { $ref: '#/$defs/t' } } })
    const doubling = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [
        `d${at}`,
        { anyOf: Array(2).fill({ $ref: `#/$defs/d${at + 1}` }), properties: { [`p${at}`]: text } },
      ]),
    )
    const { schema } = objectSchema({ $ref: '#/$defs/d0', $defs: doubling })
    expect(Object.keys(schema.properties ?? {})).toContain('p0')
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`p${at}`, text]))
    const repeated = {
      oneOf: Array(500).fill({ $ref: '#/$defs/many' }),
      $defs: { many: { properties: many, additionalProperties: false } },
    }
    const { removed, beyond } = objectSchema(repeated)
    expect(removed).toEqual(['oneOf', 'further schemas'])
    expect(JSON.stringify(beyond).length).toBeLessThan(500_000)
  })

  it('F2 requires nothing that the tool’s own schema does not require', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { optimize: false } })
    const list = fc.array(anySchema, { minLength: 1, maxLength: 3 })
    const parameters = fc.record(
      { anyOf: list, oneOf: list, allOf: list, not: anySchema, properties: fc.constant({ a: {} }) },
      { requiredKeys: [] },
    )
    const value = fc.constantFrom('a', 1, null, true, ['a'], {}, { a: 'b' })
    const args = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { noNullPrototype: true })
    fc.assert(
      fc.property(parameters, args, (given, values) => {
        const own: JsonObject = { ...given, $defs: { x: { type: ['string', 'object'] } } }
        const { schema } = objectSchema(own)
        expect(refuseFunctionSchema('x', { properties: {}, ...schema })).toBeUndefined()
        if (ajv.validate(own, values)) expect(Object.keys(values)).toEqual(expect.arrayContaining([schema.required ?? []].flat()))
      }),
      { numRuns: 25 },
    )
  })
})
