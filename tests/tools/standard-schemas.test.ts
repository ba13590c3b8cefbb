import type { StandardSchemaV1 } from '@standard-schema/spec'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { ToolAgent } from '../../src/agent/tool-agent.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { prepareArguments } from '../../src/tools/arguments.ts'
import { ToolDispatcher } from '../../src/tools/dispatcher.ts'
import { ToolRegistry, type ToolSet } from '../../src/tools/registry.ts'
import { type AnyTool, ask, BaseTool, convertToOpenAITool } from '../../src/tools/tool.ts'

interface Trip {
  city: string
  days: number
}

/** The same schema in three libraries: a city that is converted to capitals, and days with a default. */
const libraries: [string, StandardSchemaV1<unknown, Trip>][] = [
  ['zod', z.object({ city: z.string().transform((city) => city.toUpperCase()), days: z.int().max(7).default(3) })],
  [
    'valibot',
    toStandardJsonSchema(
      v.object({
        city: v.pipe(
          v.string(),
          v.transform((city) => city.toUpperCase()),
        ),
        days: v.optional(v.pipe(v.number(), v.integer(), v.maxValue(7)), 3),
      }),
    ),
  ],
  ['arktype', type({ city: type('string').pipe((city) => city.toUpperCase()), days: 'number.integer <= 7 = 3' })],
]

const jsonSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', maximum: 7 } },
  required: ['city'],
}

class Forecast extends BaseTool<Trip> {
  readonly name = 'forecast'
  readonly description = 'The weather of the next days.'
  readonly parameters: StandardSchemaV1<unknown, Trip>
  override readonly effect = 'read'
  readonly #given: Trip[]

  constructor(parameters: StandardSchemaV1<unknown, Trip>, given: Trip[]) {
    super()
    this.parameters = parameters
    this.#given = given
  }

  override execute(trip: Trip): string {
    this.#given.push(trip)
    return `${trip.days} days of sun`
  }
}

const forms: [string, (schema: StandardSchemaV1<unknown, Trip>, given: Trip[]) => AnyTool][] = [
  ['a class', (schema, given) => new Forecast(schema, given)],
  [
    'a plain object',
    (parameters, given) => ({
      name: 'forecast',
      description: 'The weather of the next days.',
      parameters,
      execute: (trip: Trip) => `${given.push(trip)} trips`,
    }),
  ],
]

/** A caller's own tool set, which checks nothing. */
const ownSet = (tool: AnyTool): ToolSet => ({
  size: 1,
  get: (name) => (name === tool.name ? tool : undefined),
  names: () => [tool.name],
  list: () => [tool],
  getAllSpecs: () => [convertToOpenAITool(tool)],
})

describe.each(forms)('%s', (_form, make) => {
  describe.each(libraries)('with parameters of %s', (_library, schema) => {
    const call = (args: JsonObject) => ({ toolCalls: [{ name: 'forecast', arguments: args }] })

    it.each([
      ['a list', (tool: AnyTool) => [tool]],
      ['a registry', (tool: AnyTool) => new ToolRegistry([tool])],
      ['a custom set', ownSet],
    ])('in %s: the model gets its JSON Schema, a call is validated against it, and the tool receives its output', async (_set, set) => {
      const given: Trip[] = []
      const model = scriptedModel([call({ city: 'oslo' }), call({ city: 'oslo', days: 9 }), call({ days: 2 }), 'Sun.'])
      const result = await new AgentRunner({ model, tools: set(make(schema, given)) }).run('What is the weather?')
      const [sent] = model.requests[0]?.tools ?? []
      expect(sent?.function.parameters).toMatchObject(jsonSchema)
      expect(sent?.function.parameters).not.toHaveProperty('$schema')
      expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'rejected', 'rejected'])
      expect(result.toolCalls[0]?.args).toEqual({ city: 'oslo' })
      expect(result.toolCalls[1]?.content).toMatch(/^Invalid arguments for tool `forecast`: `days`/)
      expect(given).toEqual([{ city: 'OSLO', days: 3 }])
    })

    it('a call written as text is coerced to its types first', async () => {
      const given: Trip[] = []
      const written = '{"name":"forecast","arguments":{"city":"oslo","days":"2"}}'
      const options = { tools: [make(schema, given)], toolCalling: 'json' }
      await new AgentRunner({ ...options, model: scriptedModel([written, 'Sun.']) }).run('What is the weather?')
      expect(given).toEqual([{ city: 'OSLO', days: 2 }])
      const message = await new ToolAgent({ ...options, model: scriptedModel([written]) }).generate('What is the weather?')
      expect(message.toolCalls).toMatchObject([{ arguments: { city: 'oslo', days: 2 } }])
    })

    it('a call dispatched outside of a run is validated too', async () => {
      const given: Trip[] = []
      const dispatcher = new ToolDispatcher([{ kind: 'registered', tools: [make(schema, given)] }])
      expect(await dispatcher.dispatch('forecast', { city: 'rome' })).toMatchObject({ success: true })
      expect(await dispatcher.dispatch('forecast', { city: 7 })).toMatchObject({ success: false, error: expect.stringContaining('`city`') })
      expect(given).toEqual([{ city: 'ROME', days: 3 }])
    })
  })

  it('is converted to JSON Schema once, however often the tool is used', () => {
    let made = 0
    const zod = z.object({ city: z.string(), days: z.number() })
    const standard = zod['~standard']
    const input: typeof standard.jsonSchema.input = (options) => {
      made++
      return standard.jsonSchema.input(options)
    }
    const counted: StandardSchemaV1<unknown, Trip> = {
      '~standard': { ...standard, jsonSchema: { ...standard.jsonSchema, input } } as never,
    }
    const tool = make(counted, [])
    const [first] = new ToolRegistry([tool]).getAllSpecs()
    expect(new ToolRegistry([tool]).getAllSpecs()[0]?.function.parameters).toBe(first?.function.parameters)
    expect(made).toBe(1)
  })

  it('suggests an alternative if its schema has no JSON Schema, or not that of an object', () => {
    const bare = v.object({ city: v.string(), days: v.number() })
    expect(() => new ToolRegistry([make(bare, [])])).toThrow(
      "Tool `forecast`: its valibot schema can't be converted to JSON Schema; wrap it in `toStandardJsonSchema` of @valibot/to-json-schema, or give it as `schema` beside a JSON Schema as `parameters`",
    )
    const list: StandardSchemaV1<unknown, never> = z.array(z.never()) as never
    expect(() => new ToolRegistry([make(list, [])])).toThrow(
      'Expected tool `forecast` to have `parameters` of type \'object\', got `"array"`',
    )
  })
})

describe('a class with a JSON Schema and a Standard Schema', () => {
  class Bare extends BaseTool<Trip> {
    readonly name = 'forecast'
    readonly description = 'The weather.'
    readonly parameters = jsonSchema
    override readonly schema = v.object({
      city: v.pipe(
        v.string(),
        v.transform((city) => city.toUpperCase()),
      ),
      days: v.optional(v.number(), 3),
    })

    override execute({ city }: Trip): string {
      return city
    }
  }

  it('E3.1 is validated by the second alone, and receives its output', async () => {
    const tool = new Bare()
    expect(convertToOpenAITool(tool).function.parameters).toBe(jsonSchema)
    expect(await prepareArguments(tool, '{"city":"oslo"}')).toMatchObject({ ok: true, call: { input: { city: 'OSLO', days: 3 } } })
    expect(await prepareArguments(tool, '{"city":"oslo","days":9}')).toMatchObject({ ok: true })
    expect(await prepareArguments(tool, '{"city":9}')).toMatchObject({ ok: false })
  })
})

describe('types of tools', () => {
  it('the parameters of a class must produce what `execute` accepts', () => {
    expectTypeOf<BaseTool<Trip>['parameters']>().extract<StandardSchemaV1>().toEqualTypeOf<StandardSchemaV1<unknown, Trip>>()
    const right = z.object({ city: z.string(), days: z.number() })
    const wrong = z.object({ city: z.number() })
    expectTypeOf(right).toExtend<BaseTool<Trip>['parameters']>()
    expectTypeOf(wrong).not.toExtend<BaseTool<Trip>['parameters']>()
    expectTypeOf(wrong).toExtend<AnyTool['parameters']>()
    expectTypeOf(type({ city: 'string' })).toExtend<AnyTool['parameters']>()
    expect.assertions(0)
  })
})

describe('ask', () => {
  it.each([
    ['zod', z.object({ yes: z.boolean() })],
    ['valibot', toStandardJsonSchema(v.object({ yes: v.boolean() }))],
    ['arktype', type({ yes: 'boolean' })],
  ])('shows a question’s schema of %s in the pending item as JSON Schema', async (_library, schema) => {
    const tool: AnyTool = { name: 'delete', description: '', parameters: {}, execute: () => ask({ about: 'Really?', schema }) }
    const model = scriptedModel([{ toolCalls: [{ name: 'delete', arguments: {} }] }])
    const { pending } = await new AgentRunner({ model, tools: [tool] }).run('go')
    expect(pending[0]?.schema).toMatchObject({ type: 'object', properties: { yes: { type: 'boolean' } }, required: ['yes'] })
    expect(pending[0]?.schema).not.toHaveProperty('~standard')
  })

  it('throws for a schema without JSON Schema', () => {
    expect(() => ask({ about: 'Really?', schema: v.object({ yes: v.boolean() }) })).toThrow(
      /^Tool `ask`: its valibot schema can't be converted/,
    )
  })
})
