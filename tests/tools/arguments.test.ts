import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isCutJson, parseArguments, prepareArguments } from '../../src/tools/arguments.ts'
import { keepValidator, parametersOf } from '../../src/tools/schema/schema.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { turnsWhile } from '../event-loop.ts'

const jsonObject = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5, noNullPrototype: true })
const spaced = fc.tuple(jsonObject, fc.constantFrom(undefined, 1, 2, '\t')).map(([value, space]) => JSON.stringify(value, null, space))

const parses = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('parseArguments', () => {
  it.each(['', ' ', '\n\t '])('H11 returns no arguments for an empty text: %j', (raw) => {
    expect(parseArguments(raw)).toEqual({ ok: true, args: {} })
  })

  it('returns every JSON object unchanged', () => {
    fc.assert(
      fc.property(spaced, fc.constantFrom('', ' ', '\n'), (json, space) => {
        expect(parseArguments(space + json + space)).toEqual({ ok: true, args: JSON.parse(json) })
      }),
    )
  })

  it.each<[string, string]>([
    ['null', 'expected a JSON object, got null'],
    ['[]', 'expected a JSON object, got an array'],
    ['[{"a":1}]', 'expected a JSON object, got an array'],
    ['"{}"', 'expected a JSON object, got a string'],
    ['"{\\"a\\":1}"', 'expected a JSON object, got a string'],
    ['7', 'expected a JSON object, got a number'],
    ['true', 'expected a JSON object, got a boolean'],
  ])('H10 refuses JSON that is not an object: %s', (raw, problem) => {
    expect(parseArguments(raw)).toEqual({ ok: false, code: 'invalid_arguments_json', problem })
  })

  it.each([
    "{'a': 1}",
    '{a: 1}',
    '{"a": 1,}',
    '{"a": 1} {"b": 2}',
    '{"a": 1}}',
    '{"a": 1}\n```',
    '```json\n{"a": 1}\n```',
    '{"a": undefined}',
    '{"a": NaN}',
    '{"a": 01}',
    '{"a": True}',
    '{"a": "\n"}',
    '/* x */ {"a": 1}',
    'city=Oslo',
    '<city>Oslo</city>',
    '\ufeff{"a": 1}',
    'undefined',
    '{}{}',
    '{}{"a":1}',
    '}',
  ])('S3-13 H10 refuses invalid JSON and never guesses: %j', (raw) => {
    expect(parseArguments(raw)).toMatchObject({
      ok: false,
      code: 'invalid_arguments_json',
      problem: expect.stringMatching(/^not valid JSON \(.+\)$/s),
    })
  })

  it('S3-13 H10 accepts the JSON of an object or an empty text, and refuses every other text', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'a', '1', ' ') }),
      spaced.chain((json) => fc.nat(json.length).map((at) => json.slice(0, at) + json.slice(at + 1))),
    )
    fc.assert(
      fc.property(text, (raw) => {
        const parsed = parseArguments(raw)
        const value: unknown = parses(raw) ? JSON.parse(raw) : undefined
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
        if (raw.trim() === '') expect(parsed).toEqual({ ok: true, args: {} })
        else if (isObject) expect(parsed).toEqual({ ok: true, args: value })
        else expect(parsed.ok).toBe(false)
      }),
      { numRuns: 1000 },
    )
  })

  it('H14 treats `__proto__` and the like as ordinary field names', () => {
    const parsed = parseArguments('{"__proto__":{"polluted":true},"constructor":1}')
    expect(parsed.ok && Object.keys(parsed.args)).toEqual(['__proto__', 'constructor'])
    expect(parsed.ok && Object.getPrototypeOf(parsed.args)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
  })

  it('refuses arguments that are nested too deeply', () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`
    expect(parseArguments(nested(500)).ok).toBe(true)
    for (const raw of [nested(513), nested(100_000), `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`]) {
      expect(parseArguments(raw)).toEqual({ ok: false, code: 'invalid_arguments_json', problem: 'nested deeper than 512 levels' })
    }
  })
})

describe('parseArguments with `maxValues`', () => {
  const rows = (count: number) => JSON.stringify({ rows: Array.from({ length: count }, (_, id) => ({ id })) })

  it('has no limit by default', () => {
    expect(parseArguments(rows(100_000))).toMatchObject({ ok: true })
  })

  it.each([
    // The object, its array, and for each row an object and its field.
    ['fields', rows, 59],
    ['items', (count: number) => JSON.stringify({ list: Array.from({ length: count }, () => 1) }), 118],
  ])('refuses too many values and tells the model why: %s', (_what, json, allowed) => {
    expect(parseArguments(json(allowed), 120)).toMatchObject({ ok: true })
    expect(parseArguments(json(allowed + 1), 120)).toEqual({
      ok: false,
      code: 'invalid_arguments_json',
      problem: 'more than 120 values; make several calls of it',
    })
  })

  it('does not count brackets and commas inside texts', () => {
    expect(parseArguments(JSON.stringify({ text: ',:,:'.repeat(10_000) }), 120)).toMatchObject({ ok: true })
  })
})

describe('isCutJson', () => {
  it('S3-13 is true for every proper prefix of a JSON object that is not itself JSON', () => {
    fc.assert(
      fc.property(spaced, (json) => {
        for (let end = 1; end < json.length; end++) {
          const prefix = json.slice(0, end)
          const parsed = parseArguments(prefix)
          // No `expect` per prefix, because it costs more than the check.
          if (!isCutJson(prefix) || parsed.ok || parsed.code !== 'tool_call_truncated') expect.fail(prefix)
        }
      }),
    )
  })

  it.each([
    '{"a": "\\',
    '{"a": "\\"',
    '{"a": "}',
    '{"a": "\\\\',
    '{"a": "\\u00',
    '{"a": {"b": [',
    '{"a"',
    '{"a":',
    '{',
    '[',
    '"',
    '{"a": "{}", "b',
  ])('is true for %j', (text) => {
    expect(isCutJson(text)).toBe(true)
  })

  it.each(['', '{}', '{"a": "{["}', '{"a": "\\"{"}', 'a}', '{"a" 1}', "{'a': 1}", '}{', ']', '{"a": "\\\\"}'])(
    'is false for invalid text that is complete: %j',
    (text) => {
      expect(isCutJson(text)).toBe(false)
    },
  )

  it('is false for complete JSON', () => {
    fc.assert(fc.property(fc.json(), (json) => !isCutJson(json)))
  })
})

describe('prepareArguments', () => {
  const open = defineTool({ name: 'open', description: '', parameters: { type: 'object', properties: { n: { type: 'number' } } } })
  const strict = defineTool({
    name: 'strict',
    description: '',
    parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false },
  })

  it('S3-15 parses, then validates', async () => {
    expect(await prepareArguments(strict, '{"n":1}')).toEqual({ ok: true, call: { tool: strict, args: { n: 1 }, input: { n: 1 } } })
  })

  it('S3-13 names the tool, the problem, and what was expected and received if arguments can’t be read', async () => {
    expect(await prepareArguments(open, '{n: 1}')).toEqual({
      ok: false,
      problem: {
        code: 'invalid_arguments_json',
        message: expect.stringMatching(
          /^Arguments of tool `open` could not be read: not valid JSON \(.+\)\. Expected one JSON object\. Received: "\{n: 1\}"$/,
        ),
      },
    })
    expect(await prepareArguments(open, '{"n": 1')).toEqual({
      ok: false,
      problem: {
        code: 'tool_call_truncated',
        message:
          'Arguments of tool `open` could not be read: the text ends before the JSON object does. Expected one JSON object. Received: "{\\"n\\": 1"',
      },
    })
  })

  it('S3-15 H13 returns the parsed arguments if they are invalid', async () => {
    expect(await prepareArguments(strict, '{"n":"1","m":2}')).toEqual({
      ok: false,
      problem: {
        code: 'invalid_arguments',
        args: { n: '1', m: 2 },
        message:
          'Invalid arguments for tool `strict`: arguments: unknown `m`; `n`: expected number, got string "1". Correct them and call it again.',
      },
    })
  })

  it('S3-15 does not coerce native arguments', async () => {
    for (const raw of ['{"n":"1"}', '{"n":null}', '{"n":true}', '{"n":[1]}'])
      expect((await prepareArguments(open, raw)).ok, raw).toBe(false)
  })

  it('H11 accepts empty arguments for a tool that needs none, and refuses them for one that does', async () => {
    for (const raw of ['', ' ']) {
      expect(await prepareArguments(open, raw)).toMatchObject({ ok: true, call: { args: {} } })
      expect(await prepareArguments(strict, raw)).toMatchObject({
        ok: false,
        problem: { code: 'invalid_arguments', message: expect.stringContaining('missing required `n`') },
      })
    }
  })

  it('H13 never includes a stack or a path in a problem', async () => {
    for (const raw of ['{', '[]', '{"n":"x"}', 'x'.repeat(1_000_000), `{"${'k'.repeat(1_000_000)}":1}`]) {
      const prepared = await prepareArguments(strict, raw)
      const words = prepared.ok ? '' : prepared.problem.message
      expect(words).not.toMatch(/\n\s+at |\.ts\b|node_modules/)
      expect(words).not.toContain(process.cwd())
      expect([words.length > 20, words.length < 1000]).toEqual([true, true])
    }
  })

  it('lists the most useful problems of a Standard Schema first, each of them short', async () => {
    const issues = Array.from({ length: 1000 }, (_, i) => ({
      message: `${i} ${'x'.repeat(100_000)}`,
      path: ['list', { key: i }, Symbol.for('s')],
    }))
    const tool = {
      ...open,
      schema: { '~standard': { version: 1 as const, vendor: 'own', validate: () => ({ issues: [{ message: 'no good' }, ...issues] }) } },
    }
    const prepared = await prepareArguments(tool, '{}')
    const words = prepared.ok ? '' : prepared.problem.message
    expect(words).toMatch(
      /^Invalid arguments for tool `open`: arguments: no good; `list\[0\]\.Symbol\(s\)`: 0 x+… \(100002 characters\); .*and 993 more\. Correct them/,
    )
    expect(words.length).toBeLessThan(3_000)
  })

  it('protects the call and other checks from a schema that changes its input', async () => {
    const greedy = {
      ...open,
      schema: {
        '~standard': {
          version: 1 as const,
          vendor: 'own',
          validate: (value: unknown) => {
            if (typeof value === 'object' && value !== null) Reflect.deleteProperty(value, 'n')
            return { value: 'taken' }
          },
        },
      },
    }
    expect(await prepareArguments(greedy, '{"n":1}')).toMatchObject({ ok: true, call: { args: { n: 1 }, input: 'taken' } })
  })

  it('refuses a call of an unregistered tool with an unusable schema instead of throwing', async () => {
    expect(await prepareArguments({ ...open, parameters: { type: 'objekt' } }, '{}')).toMatchObject({
      ok: false,
      problem: { code: 'invalid_arguments' },
    })
  })
})

it.each<[string, number, object]>([
  ['a pattern that goes over and over', 5, { a: `${'a'.repeat(60)}!` }],
  ['very many values', 40, { b: Array.from({ length: 60_000 }, () => 1) }],
])('yields to the event loop during several slow calls: %s', async (_, calls, args) => {
  const tool = defineTool({
    name: 'strict',
    description: '',
    parameters: {
      type: 'object',
      properties: { a: { type: 'string', pattern: '^(a+)+$' }, b: { type: 'array', items: { type: 'string' } } },
    },
    execute: () => 'ok',
  })
  const raw = JSON.stringify(args)
  const { value, turns } = await turnsWhile(() => Promise.all(Array.from({ length: calls }, () => prepareArguments(tool, raw))))
  for (const prepared of value) expect(prepared).toMatchObject({ ok: false, problem: { code: 'invalid_arguments' } })
  expect(turns).toBeGreaterThanOrEqual(3)
})

it('checks arguments that do not fit their schema once, because a check may block the event loop', async () => {
  let checks = 0
  const tool = defineTool({ name: 'strict', description: '', parameters: { type: 'object', properties: {} }, execute: () => 'ok' })
  keepValidator(parametersOf(tool), () => {
    checks++
    return ['too slow']
  })
  for (const asNative of [true, false]) {
    checks = 0
    expect(await prepareArguments(tool, '{}', { asNative })).toMatchObject({ ok: false })
    expect(checks).toBe(1)
  }
})
