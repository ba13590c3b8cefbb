import type { StandardSchemaV1 } from '@standard-schema/spec'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { ToolloopError } from '../../src/core/errors.ts'
import { prepareArguments } from '../../src/tools/arguments.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import {
  type AnyTool,
  ask,
  BaseTool,
  checkTool,
  convertToOpenAITool,
  defineTool,
  isQuestion,
  type ToolContext,
} from '../../src/tools/tool.ts'

function thrownBy(act: () => unknown): ToolloopError {
  try {
    act()
  } catch (error) {
    if (error instanceof ToolloopError) return error
    throw new Error('Expected a ToolloopError', { cause: error })
  }
  throw new Error('Expected a throw')
}

/** A tool as an untyped caller may pass it. */
const loose = (fields: object): AnyTool => Object.assign({}, { name: 't', description: 'd', parameters: { type: 'object' } }, fields)

describe('tool names', () => {
  const long = 'a'.repeat(64)

  it.each(['a', 'A', '0', '_', '-', 'get_weather', 'Get-Weather_2', '__proto__', 'constructor', long])('S2-3 H14 may be %s', (name) => {
    const tool = defineTool({ name, description: 'd' })
    const registry = new ToolRegistry([tool])
    expect(registry.get(name)).toBe(tool)
    expect(registry.getAllSpecs()[0]?.function.name).toBe(name)
  })

  it.each([
    '',
    ' ',
    'a b',
    'a.b',
    'a/b',
    'a:b',
    'ä',
    '天气',
    'a\n',
    '\na',
    'a\u0000',
    '🙂',
    `${long}a`,
    'functions.x',
    null,
    undefined,
    7,
    {},
    ['a'],
    Symbol('a'),
  ])('S2-3 H19 may not be %s, when the tool is defined and when it is registered', (name) => {
    for (const act of [() => defineTool(loose({ name })), () => new ToolRegistry([loose({ name })])]) {
      const error = thrownBy(act)
      expect(error.code).toBe('invalid_tool')
      expect(error.message).toMatch(/^Expected a tool's `name` to be 1 to 64 characters of a-z A-Z 0-9 _ -, got `/)
    }
  })

  it('H19 must be unique, whatever the tools are', () => {
    const registry = new ToolRegistry([loose({ name: 'add' })])
    expect(thrownBy(() => registry.register(loose({ name: 'add', description: 'another' })))).toMatchObject({
      code: 'invalid_tool',
      message: 'Expected tool names to be unique, got a second tool `add`',
    })
    expect(registry.register(loose({ name: 'Add' })).names()).toEqual(['add', 'Add'])
  })
})

describe('invalid definitions', () => {
  it.each<[object, string]>([
    [{ description: undefined }, 'Expected tool `t` to have a `description`'],
    [{ description: 7 }, 'Expected tool `t` to have a `description`'],
    [{ parameters: null }, 'Expected tool `t` to have `parameters` that are a JSON Schema object'],
    [{ parameters: [] }, 'Expected tool `t` to have `parameters` that are a JSON Schema object'],
    [{ parameters: true }, 'Expected tool `t` to have `parameters` that are a JSON Schema object'],
    [{ parameters: 'object' }, 'Expected tool `t` to have `parameters` that are a JSON Schema object'],
    [{ parameters: { type: 'string' } }, 'Expected tool `t` to have `parameters` of type \'object\', got `"string"`'],
    [{ parameters: { type: ['object', 'null'] } }, 'Expected tool `t` to have `parameters` of type \'object\', got `["object","null"]`'],
    [{ execute: 'later' }, 'Expected tool `t` to have an `execute` that is a function'],
    [{ execute: null }, 'Expected tool `t` to have an `execute` that is a function'],
    ...[0, -1, Number.NaN, '1000', null].map((timeoutMs): [object, string] => [
      { timeoutMs },
      'Expected `t.timeoutMs` to be a number of milliseconds > 0, got `',
    ]),
    ...[-1, 1.5, Number.POSITIVE_INFINITY, Number.NaN, '1', null].map((retries): [object, string] => [
      { retries },
      'Expected `t.retries` to be an integer ≥ 0, got `',
    ]),
    ...['safe', '', null].map((effect): [object, string] => [
      { effect },
      "Expected `t.effect` to be 'read', 'idempotent' or 'unsafe', got `",
    ]),
  ])('%j: %s', (fields, message) => {
    const error = thrownBy(() => checkTool(loose(fields)))
    expect(error.message.startsWith(message), error.message).toBe(true)
    expect(error.fault).toBe('programmer')
  })

  it.each([null, undefined, 'add', 7, class Add {}, () => {}])('are not even a tool: %s', (value) => {
    const registry = new ToolRegistry()
    expect(thrownBy(() => registry.register(value as never))).toMatchObject({
      code: 'invalid_tool',
      message: expect.stringMatching(/^Expected a tool, got `/),
    })
  })

  it('do not include values at the limit', () => {
    expect(() => checkTool(loose({ timeoutMs: Number.POSITIVE_INFINITY, retries: 0, effect: 'read', description: '' }))).not.toThrow()
    expect(() => checkTool(loose({ timeoutMs: Number.MIN_VALUE, parameters: {} }))).not.toThrow()
    expect(() => checkTool(loose({ execute: undefined, timeoutMs: undefined, retries: undefined, effect: undefined }))).not.toThrow()
  })
})

describe('convertToOpenAITool', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }

  it('S0-2 S2-5 S2-19 returns exactly the definition', () => {
    const tool = defineTool({ name: 'weather', description: 'The weather.', parameters, effect: 'read', timeoutMs: 5, execute: () => 1 })
    expect(convertToOpenAITool(tool)).toEqual({ type: 'function', function: { name: 'weather', description: 'The weather.', parameters } })
    expect(Object.keys(convertToOpenAITool(tool).function)).toEqual(['name', 'description', 'parameters'])
  })

  it.each([true, false])('S2-4 passes on `strict: %s`', (strict) => {
    expect(convertToOpenAITool(defineTool({ name: 'w', description: '', parameters, strict })).function).toEqual({
      name: 'w',
      description: '',
      parameters,
      strict,
    })
  })

  it('S0-2 accepts a BaseTool', () => {
    expect(convertToOpenAITool(new Doubler())).toEqual({
      type: 'function',
      function: { name: 'double', description: 'Doubles.', parameters: doublerParameters },
    })
  })
})

const doublerParameters = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
class Doubler extends BaseTool<{ n: number }, { factor: number }> {
  readonly name = 'double'
  readonly description = 'Doubles.'
  readonly parameters = doublerParameters
  override readonly effect = 'read'
  override readonly timeoutMs = 50
  #calls = 0

  override execute({ n }: { n: number }, { context }: ToolContext<{ factor: number }>) {
    this.#calls++
    return { result: n * context.factor, calls: this.#calls }
  }
}

describe('BaseTool', () => {
  it('S0-30 makes a subclass a tool with its own state and limits', () => {
    const tool = new Doubler()
    expect(new ToolRegistry([tool]).get('double')).toBe(tool)
    expect(tool).toMatchObject({ effect: 'read', timeoutMs: 50 })
    expect(tool.retries).toBeUndefined()
    expectTypeOf(tool).toExtend<AnyTool>()
  })

  it('S0-30 can’t be constructed without its four members', () => {
    expectTypeOf<typeof BaseTool>().not.toExtend<new () => unknown>()
    expectTypeOf<keyof BaseTool>()
      .extract<'name' | 'description' | 'parameters' | 'execute'>()
      .toEqualTypeOf<'name' | 'description' | 'parameters' | 'execute'>()
  })

  it('H19 has an invalid name refused at registration', () => {
    class Bad extends Doubler {
      override readonly name = 'no good' as 'double'
    }
    expect(thrownBy(() => new ToolRegistry([new Bad()])).code).toBe('invalid_tool')
  })
})

describe('defineTool with JSON Schema', () => {
  it('keeps the schema unchanged; no schema means no arguments', () => {
    const parameters = { type: 'object', properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { type: 'string' } }, 'x-own': 1 }
    expect(defineTool({ name: 't', description: '', parameters }).parameters).toBe(parameters)
    expect(defineTool({ name: 't', description: '' }).parameters).toEqual({ type: 'object', properties: {}, additionalProperties: false })
  })

  it('H13 validates the arguments like those of any tool', async () => {
    const tool = defineTool({
      name: 't',
      description: '',
      parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    })
    expect(await prepareArguments(tool, '{"n":1}')).toMatchObject({ ok: true, call: { args: { n: 1 }, input: { n: 1 } } })
    expect(await prepareArguments(tool, '{"n":"1"}')).toMatchObject({
      ok: false,
      problem: {
        code: 'invalid_arguments',
        message: 'Invalid arguments for tool `t`: `n`: expected number, got string "1". Correct them and call it again.',
      },
    })
  })
})

const libraries: [string, StandardSchemaV1][] = [
  ['zod', z.object({ city: z.string().min(1), days: z.int().max(7).default(3), unit: z.enum(['C', 'F']).optional() })],
  [
    'valibot',
    toStandardJsonSchema(
      v.object({
        city: v.pipe(v.string(), v.minLength(1)),
        days: v.optional(v.pipe(v.number(), v.integer(), v.maxValue(7)), 3),
        unit: v.optional(v.picklist(['C', 'F'])),
      }),
    ),
  ],
  ['arktype', type({ city: 'string > 0', days: 'number.integer <= 7 = 3', 'unit?': "'C' | 'F'" })],
]

describe.each(libraries)('defineTool with %s', (_, parameters) => {
  const tool: AnyTool = defineTool({ name: 'forecast', description: '', parameters })

  it('shows the model a JSON Schema of its input, without `$schema`', () => {
    expect(tool.parameters).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string', minLength: 1 }, days: { type: 'integer', maximum: 7 }, unit: { enum: ['C', 'F'] } },
      required: ['city'],
    })
    expect(tool.parameters).not.toHaveProperty('$schema')
    expect(new ToolRegistry([tool]).size).toBe(1)
  })

  it('H13 validates, and passes the schema’s output to the tool; the call keeps what the model sent', async () => {
    expect(await prepareArguments(tool, '{"city":"Oslo"}')).toMatchObject({
      ok: true,
      call: { args: { city: 'Oslo' }, input: { city: 'Oslo', days: 3 } },
    })
    for (const [json, words] of [
      ['{}', 'missing required `city`'],
      ['{"city":""}', '`city`'],
      ['{"city":7}', '`city`: expected string, got number 7'],
      ['{"city":"Oslo","days":8}', '`days`'],
      ['{"city":"Oslo","unit":"K"}', '`unit`: expected one of ["C","F"], got "K"'],
    ] as const) {
      const { ok, problem } = { problem: undefined, ...(await prepareArguments(tool, json)) }
      expect([ok, problem?.code], json).toEqual([false, 'invalid_arguments'])
      expect(problem?.message).toContain(words)
    }
  })
})

describe('defineTool with a Standard Schema', () => {
  it('H13 runs checks that JSON Schema can’t express, including asynchronous ones', async () => {
    const even = z.object({ n: z.number().refine((n) => n % 2 === 0, 'expected an even number') })
    const free = z.object({ name: z.string().refine(async (name) => name !== 'taken', 'that name is taken') })
    expect(await prepareArguments(defineTool({ name: 't', description: '', parameters: even }), '{"n":3}')).toMatchObject({
      ok: false,
      problem: { message: 'Invalid arguments for tool `t`: `n`: expected an even number, got 3. Correct them and call it again.' },
    })
    const tool = defineTool({ name: 't', description: '', parameters: free })
    expect(await prepareArguments(tool, '{"name":"taken"}')).toMatchObject({
      ok: false,
      problem: { message: expect.stringContaining('that name is taken') },
    })
    expect(await prepareArguments(tool, '{"name":"free"}')).toMatchObject({ ok: true })
  })

  it('H13 refuses the call with a message if a check throws', async () => {
    const broken = z.object({
      n: z.number().refine(() => {
        throw new Error('database gone')
      }),
    })
    expect(await prepareArguments(defineTool({ name: 't', description: '', parameters: broken }), '{"n":1}')).toMatchObject({
      ok: false,
      problem: { code: 'invalid_arguments', message: expect.stringContaining('the check failed: database gone') },
    })
  })

  it('accepts a transformation: the model sees the input, the tool receives the output', async () => {
    const tool = defineTool({
      name: 't',
      description: '',
      parameters: z.object({ when: z.string().transform((text) => new Date(text)) }),
      execute: ({ when }) => when.getTime(),
    })
    expect(tool.parameters).toMatchObject({ properties: { when: { type: 'string' } } })
    const prepared = await prepareArguments(tool, '{"when":"1970-01-01T00:00:01Z"}')
    expect(prepared).toEqual({ ok: true, call: { tool, args: { when: '1970-01-01T00:00:01Z' }, input: { when: new Date(1000) } } })
  })

  it('suggests an alternative if a schema has no JSON Schema', () => {
    const bare = v.object({ n: v.number() })
    expect(thrownBy(() => defineTool({ name: 't', description: '', parameters: bare }))).toMatchObject({
      code: 'invalid_tool',
      message:
        "Tool `t`: its valibot schema can't be converted to JSON Schema; wrap it in `toStandardJsonSchema` of @valibot/to-json-schema, or pass `jsonSchema`",
    })
    expect(thrownBy(() => defineTool({ name: 't', description: '', parameters: z.object({ at: z.date() }) }))).toMatchObject({
      code: 'invalid_tool',
      message: expect.stringMatching(/^Tool `t`: its zod schema can't be converted to JSON Schema: .+; pass `jsonSchema`$/),
    })
    const jsonSchema = { type: 'object', properties: { n: { type: 'number' } } }
    expect(defineTool({ name: 't', description: '', parameters: bare, jsonSchema }).parameters).toBe(jsonSchema)
  })

  it('refuses a schema of anything but an object', () => {
    expect(thrownBy(() => defineTool({ name: 't', description: '', parameters: z.string() })).code).toBe('invalid_tool')
    expect(thrownBy(() => defineTool({ name: 't', description: '', parameters: z.array(z.string()) })).code).toBe('invalid_tool')
  })

  it('accepts a recursive schema', async () => {
    const node = z.object({
      name: z.string(),
      get children() {
        return z.array(node).optional()
      },
    })
    const tool = defineTool({ name: 't', description: '', parameters: node })
    expect(new ToolRegistry([tool]).size).toBe(1)
    expect(await prepareArguments(tool, '{"name":"a","children":[{"name":"b","children":[]}]}')).toMatchObject({ ok: true })
    expect(await prepareArguments(tool, '{"name":"a","children":[{"name":7}]}')).toMatchObject({
      ok: false,
      problem: { message: expect.stringContaining('`children[0].name`: expected string, got number 7') },
    })
  })
})

describe('ask', () => {
  it('is the only way to make a question', () => {
    const given = { about: 'Really?', schema: { type: 'boolean' } }
    const question = ask(given)
    expect(question).toEqual(given)
    expect([question, given, { ...question }, null, 'Really?', undefined].map(isQuestion)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ])
  })
})
