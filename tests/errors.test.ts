import { describe, expect, expectTypeOf, it } from 'vitest'
import { errorCodes, InvalidOptionError, ModelError, messageOf, show, ToolArgumentsError, ToolloopError } from '../src/core/errors.ts'
import { hostileValues } from './hostile-values.ts'

describe('error codes', () => {
  it('each has a fault and a meaning that is a sentence', () => {
    const faults = ['programmer', 'model', 'tool', 'provider', 'caller']
    for (const [code, { fault, meaning }] of Object.entries(errorCodes)) {
      expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(faults, code).toContain(fault)
      expect(meaning, code).toMatch(/^[A-Z].{10,}\.$/)
    }
    expect(new Set(Object.values(errorCodes).map(({ meaning }) => meaning)).size).toBe(Object.keys(errorCodes).length)
    expect(new Set(Object.values(errorCodes).map(({ fault }) => fault))).toEqual(new Set(faults))
  })

  it('an error knows whose fault it is', () => {
    expect(new ToolloopError('tool_timeout', 'x').fault).toBe('tool')
    expect(new InvalidOptionError('n', 'a number', 1).fault).toBe('programmer')
    expect(new ModelError('rate_limited', 'x', { provider: 'p', retryable: true }).fault).toBe('provider')
    expect(new ToolArgumentsError('t', '{', 'cut').fault).toBe('model')
  })
})

describe('ToolloopError', () => {
  const cause = new Error('below')
  const errors = [
    new ToolloopError('aborted', 'stop', { cause }),
    new InvalidOptionError('n', 'a number', '1'),
    new ToolArgumentsError('add', '{"a":', 'the text ends'),
    new ModelError('provider_error', 'no', { provider: 'p', status: 500, retryable: true, retryAfterMs: 10, requestId: 'r', cause }),
  ]

  it.each(errors.map((error) => [error.name, error] as const))(
    '%s is an Error with a code, a name and a stack that begins with both',
    (name, error) => {
      expect(error).toBeInstanceOf(Error)
      expect(error).toBeInstanceOf(ToolloopError)
      expect(ToolloopError.isInstance(error)).toBe(true)
      expect(Object.keys(errorCodes)).toContain(error.code)
      expect(String(error)).toBe(`${name}: ${error.message}`)
      expect(error.stack).toContain('errors.test.ts')
    },
  )

  it('isInstance recognizes errors of another copy of this package, unlike instanceof', async () => {
    const path = '../src/core/errors.ts?another-copy'
    const copy: { ToolloopError: typeof ToolloopError } = await import(path)
    const foreign = new copy.ToolloopError('aborted', 'x')
    expect(copy.ToolloopError).not.toBe(ToolloopError)
    expect(foreign instanceof ToolloopError).toBe(false)
    expect(ToolloopError.isInstance(foreign)).toBe(true)
    expect(copy.ToolloopError.isInstance(new InvalidOptionError('n', 'a number', 1))).toBe(true)
  })

  it('isInstance accepts any value, and is false for everything else', () => {
    for (const [name, value] of hostileValues()) expect(ToolloopError.isInstance(value), name).toBe(false)
    expect(ToolloopError.isInstance(new Error('x'))).toBe(false)
    expect(ToolloopError.isInstance({ name: 'ToolloopError', code: 'aborted', message: 'x' })).toBe(false)
    const value: unknown = errors[0]
    if (ToolloopError.isInstance(value)) expectTypeOf(value).toEqualTypeOf<ToolloopError>()
  })

  it('toJSON has the fields, without stack and cause', () => {
    expect(JSON.parse(JSON.stringify(errors[0]))).toEqual({ name: 'ToolloopError', code: 'aborted', message: 'stop' })
    expect(JSON.parse(JSON.stringify(errors[3]))).toEqual({
      name: 'ModelError',
      code: 'provider_error',
      message: 'no',
      provider: 'p',
      status: 500,
      retryable: true,
      retryAfterMs: 10,
      requestId: 'r',
    })
    expect(JSON.parse(JSON.stringify(errors[2]))).toMatchObject({ toolName: 'add', rawArguments: '{"a":' })
    expect(errors[0]?.cause).toBe(cause)
  })

  it('a ModelError only shows the fields it was given', () => {
    const error = new ModelError('stream_cut', 'x', { provider: 'p', retryable: false })
    expect(Object.keys(JSON.parse(JSON.stringify(error))).sort()).toEqual(['code', 'message', 'name', 'provider', 'retryable'])
    expect('cause' in error).toBe(false)
  })
})

describe('wording', () => {
  it.each<[unknown, string]>([
    [0, 'Expected `maxIterations` to be an integer ≥ 1, got `0`'],
    ['5', 'Expected `maxIterations` to be an integer ≥ 1, got `"5"`'],
    [Number.NaN, 'Expected `maxIterations` to be an integer ≥ 1, got `NaN`'],
    [-0, 'Expected `maxIterations` to be an integer ≥ 1, got `-0`'],
    [undefined, 'Expected `maxIterations` to be an integer ≥ 1, got `undefined`'],
    [null, 'Expected `maxIterations` to be an integer ≥ 1, got `null`'],
    [{ a: [1] }, 'Expected `maxIterations` to be an integer ≥ 1, got `{"a":[1]}`'],
    [3n, 'Expected `maxIterations` to be an integer ≥ 1, got `3`'],
    [Symbol('s'), 'Expected `maxIterations` to be an integer ≥ 1, got `Symbol(s)`'],
    [function add() {}, 'Expected `maxIterations` to be an integer ≥ 1, got `function add`'],
    [new TypeError('no'), 'Expected `maxIterations` to be an integer ≥ 1, got `TypeError: no`'],
  ])('an option that is not allowed: expected and got, %#', (got, message) => {
    const error = new InvalidOptionError('maxIterations', 'an integer ≥ 1', got)
    expect(error).toMatchObject({ name: 'InvalidOptionError', code: 'invalid_option', message })
  })

  it('S0-12 includes the tool’s name and the text of its arguments as they arrived', () => {
    const raw = '{"city": "Pa'
    const error = new ToolArgumentsError('get_weather', raw, 'the text ends before the JSON object does')
    expect(error).toMatchObject({ name: 'ToolArgumentsError', code: 'invalid_arguments_json', toolName: 'get_weather', rawArguments: raw })
    expect(error.message).toContain('get_weather')
    expect(error.message).toContain(raw)
  })
})

describe('show', () => {
  it.each(hostileValues())('never throws and is never long: %s', (_, value) => {
    const text = show(value)
    expect(text).toBeTypeOf('string')
    expect(text).not.toBe('')
    expect(text.length).toBeLessThan(250)
    expect(text.isWellFormed()).toBe(true)
  })

  it('says how long a text was that it cut', () => {
    expect(show('x'.repeat(200))).toBe(`"${'x'.repeat(199)}… (200 characters)`)
    expect(show('x'.repeat(198))).toBe(`"${'x'.repeat(198)}"`)
    expect(show('x'.repeat(5000))).toBe(`"${'x'.repeat(199)}… (5000 characters)`)
    expect(show([...'x'.repeat(500)])).toMatch(/^\["x",.*… \(2001 characters\)$/)
  })

  it('never splits a character', () => {
    for (const before of ['', 'a']) expect(show(`${before}${'🙂'.repeat(300)}`).isWellFormed()).toBe(true)
  })

  it('quotes a text so that its ends and control characters are visible', () => {
    expect(show(' a\n"b" ')).toBe('" a\\n\\"b\\" "')
  })
})

describe('messageOf', () => {
  it.each(hostileValues())('never throws and always says something: %s', (_, value) => {
    expect(messageOf(value)).toBeTypeOf('string')
    expect(messageOf(value)).not.toBe('')
  })

  it.each<[unknown, string]>([
    [new Error('said'), 'said'],
    [new TypeError(''), 'TypeError'],
    [{ message: 'said by no Error' }, 'said by no Error'],
    [{ message: '' }, '{"message":""}'],
    [{ message: { nested: true } }, '{"message":{"nested":true}}'],
    ['a text', 'a text'],
    ['', ''],
    [undefined, 'failed without saying why'],
    [null, 'null'],
    [404, '404'],
    [{ status: 404 }, '{"status":404}'],
    [new AggregateError([new Error('first'), new Error('second')], 'all'), 'all'],
    [new AggregateError([new Error(''), new Error('second')]), 'second'],
    [new AggregateError([]), 'AggregateError'],
  ])('%#: %s', (thrown, message) => {
    expect(messageOf(thrown)).toBe(message)
  })
})
