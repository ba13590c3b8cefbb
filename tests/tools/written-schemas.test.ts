import { tool as langChainTool } from '@langchain/core/tools'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { fromLangChainTools } from '../../src/backends/index.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { openForeign } from '../../src/tools/schema/foreign/foreign-schema.ts'
import { acceptSchema } from '../../src/tools/schema/written-schema.ts'
import { type AnyTool, BaseTool, defineTool, type JsonSchema } from '../../src/tools/tool.ts'

const base = { name: 't', description: 'd', execute: () => 'ran' }
const text = { type: 'string' }
/** A schema as an untyped caller may write it. */
const loose = (schema: object): JsonSchema => schema as JsonSchema

const wrong: [what: string, schema: object, words: string][] = [
  ['fields of zod', { city: z.string() }, 'expected a schema, got fields (`city`); write `z.object({ city: … })`'],
  ['fields of valibot', { city: toStandardJsonSchema(v.string()) }, 'write `an object schema of valibot with `city``'],
  ['fields of arktype', { city: type('string') }, 'write `an object schema of arktype with `city``'],
  [
    'fields of JSON Schema',
    { city: text, days: { type: 'number' } },
    "got fields (`city`, `days`); write `{ type: 'object', properties: { city: … } }`",
  ],
  ['fields with names of types', { city: 'string' }, 'got fields (`city`)'],
  ['fields with descriptions', { city: { description: 'The city.' } }, 'got fields (`city`)'],
  ['fields called like keywords', { title: z.string(), description: z.string() }, 'expected `title` to be among `properties`'],
  ['a field called `type`', { type: text, id: text }, 'of type'],
  ['a field beside `type`', { type: 'object', city: text }, 'expected `city` to be among `properties`'],
  ['a choice beside `properties`', { properties: {}, unit: { enum: ['C', 'F'] } }, 'expected `unit` to be among `properties`'],
  ['a field beside `properties` of a property', { properties: { at: { type: 'object', city: text } } }, '`city` at `properties.at`'],
  ['a property that is a list of fields', { properties: { at: { city: text } } }, '`city` at `properties.at`'],
  ['fields of items', { properties: { at: { type: 'array', items: { city: text } } } }, '`city` at `properties.at.items`'],
  ['fields of a choice', { anyOf: [{ properties: { a: text } }, { b: text }] }, '`b` at `anyOf[1]`'],
  [
    'zod among properties',
    { type: 'object', properties: { city: z.string() } },
    '`properties.city` to be JSON Schema, got a schema of zod',
  ],
  ['zod as items', { properties: { a: { items: z.string() } } }, '`properties.a.items` to be JSON Schema, got a schema of zod'],
  ['`required` of no property', { properties: { city: text }, required: ['citi'] }, 'which are `city`, got `citi` (did you mean `city`?)'],
  ['`required` of none', { type: 'object', properties: {}, required: ['city'] }, 'to name `properties`, which are none, got `city`'],
  ['`required` of a property of a property', { properties: { at: { properties: {}, required: ['a'] } } }, '`required` at `properties.at`'],
  ['`required` in a property', { properties: { city: { type: 'string', required: true } } }, 'to be a list of names, got `true`'],
]

const right: [what: string, schema: object][] = [
  ['nothing', {}],
  ['no properties', { type: 'object' }],
  [
    'properties called like keywords',
    { properties: { type: text, items: text, required: text, properties: text }, required: ['type', 'properties'] },
  ],
  [
    'keywords with schemas',
    { additionalProperties: text, propertyNames: text, not: text, if: text, else: text, patternProperties: { a: text } },
  ],
  ['values that look like schemas', { properties: { a: { default: { type: 'string' }, examples: [text], const: { enum: [1] } } } }],
  ['extensions', { type: 'object', 'x-order': { type: 'string' }, $mine: { type: 'string' }, properties: {} }],
  ['keywords of others that are no schemas', { type: 'object', ui: { widget: 'textarea' }, errorMessage: { type: 'must be an object' } }],
  ['`required` of alternatives', { properties: { a: text, b: text }, anyOf: [{ required: ['a'] }, { required: ['b'] }] }],
  [
    '`required` of properties from elsewhere',
    { $ref: '#/$defs/a', $defs: { a: { type: 'object', properties: { a: text } } }, required: ['a'] },
  ],
  [
    '`required` inside of a condition',
    {
      properties: { pay: { type: 'object', properties: { kind: { enum: ['card', 'cash'] }, number: text } } },
      anyOf: [{ properties: { pay: { properties: { kind: { const: 'card' } }, required: ['kind', 'number'] } } }],
      if: { properties: { pay: { properties: { kind: { const: 'cash' } }, required: ['number'] } } },
    },
  ],
  [
    '`required` of what `contains` asks for',
    {
      properties: {
        a: { type: 'array', items: { properties: { k: text, v: text } }, contains: { properties: { k: text }, required: ['v'] } },
      },
    },
  ],
  [
    '`required` of a definition',
    { properties: { a: text }, $defs: { needs: { properties: { b: text }, required: ['a'] } }, allOf: [{ $ref: '#/$defs/needs' }] },
  ],
  ['`required` alone', { type: 'object', required: ['a'] }],
  ['`required` of further properties', { type: 'object', additionalProperties: text, required: ['a'] }],
  ['one schema in two places', { properties: { a: text, b: text, c: { type: 'object', properties: { a: text } } } }],
]

class Written extends BaseTool {
  readonly name = 't'
  readonly description = 'd'
  readonly parameters: JsonSchema
  constructor(parameters: object) {
    super()
    this.parameters = loose(parameters)
  }
  execute() {
    return 'ran'
  }
}

describe('a JSON Schema that doesn’t mean what was intended', () => {
  it.each(wrong)('E4.1 %s: `defineTool` throws `invalid_tool`, which says how to write it', (_what, schema, words) => {
    const failure = expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(words) })
    expect(() => defineTool({ ...base, parameters: loose(schema) })).toThrow(failure)
    expect(() => asTool(new AgentRunner({ model: 'demo' }), { name: 't', description: 'd', parameters: loose(schema) })).toThrow(failure)
    expect(() => new ToolRegistry([{ ...base, parameters: loose(schema) }])).toThrow(failure)
    expect(() => new AgentRunner({ model: 'demo', tools: [new Written(schema)] })).toThrow(failure)
  })

  it.each(right)('E4.1 %s: is accepted', (_what, schema) => {
    expect(() => new AgentRunner({ model: 'demo', tools: [defineTool({ ...base, parameters: loose(schema) })] })).not.toThrow()
    expect(() => new ToolRegistry([new Written(schema)])).not.toThrow()
  })

  it('E4.1 is refused as `jsonSchema` and `outputSchema` too', () => {
    const parameters = v.object({ a: v.string() })
    expect(() => defineTool({ ...base, parameters, jsonSchema: { a: text } })).toThrow('Tool `t`: expected a schema, got fields (`a`)')
    expect(() => defineTool({ ...base, outputSchema: { a: text } })).toThrow('Tool `t.outputSchema`: expected a schema, got fields (`a`)')
  })

  it('E4.1 is refused as `schema` alone, as LangChain calls it, because the model would see no parameters', () => {
    const schema = z.object({ a: z.string() })
    expect(() => defineTool({ ...base, schema } as never)).toThrow('did you mean `parameters`?')
    const tool: AnyTool = defineTool({ ...base, parameters: schema })
    expect(defineTool({ ...tool, name: 'u' })).toMatchObject({ name: 'u', schema })
  })

  it('E4.1 is left to the compiler if it contains itself', () => {
    const schema: JsonSchema = { type: 'object', properties: {} }
    schema.properties = { inner: schema }
    expect(() => new ToolRegistry([{ ...base, parameters: schema }])).toThrow('not a usable JSON Schema')
  })

  it('E4.1 is refused as `output` too', async () => {
    const model = scriptedModel(['never'])
    const run = new AgentRunner({ model }).run('go', { output: loose({ city: z.string() }) })
    await expect(run).rejects.toMatchObject({ code: 'invalid_option', message: expect.stringContaining('write `z.object({ city: … })`') })
    expect(model.requests).toEqual([])
    const answer = await new AgentRunner({ model: scriptedModel(['{"value":"abc"}']) }).run('go', { output: { minLength: 3 } })
    expect(answer).toMatchObject({ stopReason: 'answered', output: 'abc' })
  })
})

describe('a foreign schema', () => {
  const foreign: JsonObject = { type: 'object', city: text, properties: {}, required: ['a'] }

  it('E4.1 is accepted unchanged once it has been compiled as such', async () => {
    await openForeign(foreign, 't')
    expect(new ToolRegistry([{ ...base, parameters: foreign }]).get('t')?.parameters).toEqual(foreign)
  })

  it('E4.1 is accepted unchanged from LangChain', async () => {
    const [tool] = await fromLangChainTools([langChainTool(() => 'ran', { name: 't', description: 'd', schema: foreign })])
    expect(new ToolRegistry(tool && [tool]).get('t')?.parameters).toEqual(foreign)
    expect(acceptSchema(foreign)).toBe(foreign)
  })
})
