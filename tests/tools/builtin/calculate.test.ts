import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Calculation, calculateTool } from '../../../src/tools/builtin/calculate.ts'
import { callTool, errorOf } from './workbench.ts'

const tool = calculateTool()
const calculate = async (expression: string) => (await callTool<Calculation>(tool, { expression })).result
const refusal = async (expression: string) => (await errorOf(calculate(expression))).message

describe('calculate', () => {
  it('returns the expression with its result', async () => {
    expect(await callTool(tool, { expression: ' 437 * 37 ' })).toEqual({ expression: ' 437 * 37 ', result: 16169 })
  })

  it.each([
    ['0.1 + 0.2', 0.3],
    ['1 - 0.9', 0.1],
    ['1.1 * 1.1', 1.21],
    ['4.35 * 100', 435],
    ['1.005 * 1000', 1005],
    ['1/3*3', 1],
    ['1/3', 1 / 3],
    ['2/3', 2 / 3],
    ['-7/2', -3.5],
    ['1e3 + 1E-3', 1000.001],
    ['2*1e3^2', 2_000_000],
    ['.5 + 5.', 5.5],
    ['0x1F + 0b11', 34],
    ['1_000 + 1', 1001],
    ['0 * -1', 0],
    ['2^-40', 2 ** -40],
    ['2^-1074', 5e-324],
  ])('is exact: %s = %d', async (expression, expected) => {
    expect(await calculate(expression)).toBe(expected)
  })

  it.each([
    ['2^53 + 1', '9007199254740993'],
    ['2^64', '18446744073709551616'],
    ['99999999999999999 + 0', '99999999999999999'],
    ['12345678901234567.89 + 0.01', '12345678901234567.9'],
    ['-(10^20 + 1)', '-100000000000000000001'],
    ['25!', '15511210043330985984000000'],
    ['1000 * 1.05^10', '1628.89462677744140625'],
  ])('returns a text if a number would lose digits: %s', async (expression, expected) => {
    expect(await calculate(expression)).toBe(expected)
  })

  it.each([
    ['2 + 3 * 4', 14],
    ['(2 + 3) * 4', 20],
    ['2^3^2', 512],
    ['-3^2', -9],
    ['2^-1', 0.5],
    ['10 - 2 - 3', 5],
    ['100 / 10 / 5', 2],
    ['17 % 5', 2],
    ['17 mod 5', 2],
    ['-7 % 3', 2],
    ['5 % -3', -1],
    ['7.5 % 2', 1.5],
    ['5!', 120],
    ['0^0', 1],
    ['(-1)^99999999999999', -1],
    ['(-8)^3', -512],
    ['2(3 + 4)', 14],
    ['3 × 4 ÷ 2 − 1', 5],
    ['2**10', 1024],
    ['√(16)', 4],
    ['2 (3) 4', 24],
    ['2 * 3 (4)', 24],
    ['(1 + 2) (3)^2', 27],
    ['1 +\n 2', 3],
  ])('%s = %d', async (expression, expected) => {
    expect(await calculate(expression)).toBe(expected)
  })

  it.each([
    ['15% of 80', 12],
    ['50% of 20% of 80', 8],
    ['15% * 80', 12],
    ['200 + 5%', 210],
    ['200 - 5%', 190],
    ['100 + 5% - 3', 102],
    ['200 + 5% * 2', 200.1],
    ['5% - 3', -2.95],
    ['20%+1', 1.2],
    ['200 + (5%)', 200.05],
    ['200 + -5%', 199.95],
    ['50%% of 200', 1],
    ['5 % of 80', 4],
    ['5% % 3', 0.05],
    ['-20% ^ 2', -0.04],
    ['π% + 3', 3 + Math.PI / 100],
    ['(1 + 2)%', 0.03],
    ['max(5%, 1%)', 0.05],
  ])('understands percent: %s = %d', async (expression, expected) => {
    expect(await calculate(expression)).toBe(expected)
  })

  it.each([
    ['sqrt(9/4)', 1.5],
    ['sqrt(2)', Math.SQRT2],
    ['sqrt((10^20 + 1)^2)', '100000000000000000001'],
    ['cbrt(27)', 3],
    ['abs(-1.5)', 1.5],
    ['round(2.5)', 3],
    ['round(-2.5)', -3],
    ['round(1.005, 2)', 1.01],
    ['round(2.345, 2)', 2.35],
    ['round(1234.5, -2)', 1200],
    ['round(10/7, 4)', 1.4286],
    ['floor(-1.5)', -2],
    ['floor(10/3*3)', 10],
    ['ceil(1.2)', 2],
    ['trunc(-1.7)', -1],
    ['sign(-3)', -1],
    ['min(3, 1, 2)', 1],
    ['max([3, 1, 2])', 3],
    ['sum(0.1, 0.2, 0.3)', 0.6],
    ['mean([1, 2, 3, 4])', 2.5],
    ['average(1, 2)', 1.5],
    ['median(3, 1, 2)', 2],
    ['median(4, 1, 2, 3)', 2.5],
    ['gcd(12, 18)', 6],
    ['lcm(4, 6)', 12],
    ['mod(-1, 5)', 4],
    ['pow(2, 0.5)', Math.SQRT2],
    ['factorial(5)', 120],
    ['exp(1)', Math.E],
    ['ln(e)', 1],
    ['log(8, 2)', 3],
    ['log10(1000)', 3],
    ['log2(8)', 3],
    ['sin(pi)', 0],
    ['cos(0)', 1],
    ['2 pi', 2 * Math.PI],
  ])('knows %s', async (expression, expected) => {
    expect(await calculate(expression)).toEqual(typeof expected === 'number' ? expect.closeTo(expected, 12) : expected)
  })

  it.each([
    ['1 / 0', 'Division by zero'],
    ['5 % 0', 'Division by zero'],
    ['0^-1', 'Division by zero'],
    ['sqrt(-1)', 'not a real number'],
    ['(-8)^(1/3)', 'not a real number'],
    ['ln(0)', 'Expected the logarithm of a number above 0, got 0'],
    ['factorial(2.5)', 'Expected a whole number, got 2.5'],
    ['1,000 + 2', 'without thousands separators'],
    ['1 +', 'Expected `expression` to be arithmetic, got "1 +": Unexpected end of expression'],
    ['5 cm', 'Unknown name `cm`; units and variables are not supported'],
    ['sqrt 4', 'Expected `sqrt` to be followed by its arguments'],
    ['round()', 'Expected `round` to have 1 or 2 arguments, got 0'],
    ['sqrt(1, 2)', 'Expected `sqrt` to have 1 argument, got 2'],
    ['[1, 2]', 'Expected a number, got a list'],
    ['1e5.5', 'Expected `expression` to be arithmetic'],
    ['2 3', 'Unexpected "3" at character 3'],
    ['5 of 80', 'Unknown name `of`'],
    ['1 $ 2', 'which has a "$"'],
    ['(1 + 2', 'Unexpected end of expression'],
    ['1/2 pi', '`a / b c` can be read in two ways: write `a / b * c` or `a / (b * c)`'],
    ['6 / 2(1 + 2)', '`a / b c` can be read in two ways'],
    ['17 % 5(2)', '`a % b c` can be read in two ways'],
    ['', 'expression'],
    ['  ', 'Expected a number'],
  ])('refuses %j with a message', async (expression, words) => {
    expect(await refusal(expression)).toContain(words)
  })

  it.each([
    '9^9^9^9',
    '9**9**9**9',
    '2^99999999999',
    '1e999999999',
    '10^10^10',
    'factorial(1e9)',
    '1000000!',
    '9!!!!!',
    'exp(1e9)',
    '0.5^99999999',
    '1e-999999999',
    'round(1, 1e9)',
    'round(1, -1e9)',
    '1e300 % 1e-300 ^ 9',
    'lcm(2^2000, 3^1200)',
    `${'('.repeat(200)}1${')'.repeat(200)}`,
    `${'2^'.repeat(240)}2`,
    'ones(1e9)',
    'range(1, 1e9)',
    'zeros(100000, 100000)',
    'a = 1',
    'f(x) = x',
    'import({a: 1}, {})',
    'createUnit("x")',
    'evaluate("1")',
    'parse("1")',
    'simplify("x")',
    'derivative("x", "x")',
    'cos.constructor("return process")()',
    'constructor',
    '__proto__',
    'toString()',
    'hasOwnProperty(1)',
    'process.exit()',
    '[1, 2; 3, 4]',
    '1:1000000000',
    '"text"',
    'true',
    'null',
    'i',
    '1 == 1',
    '1; 2',
    'random()',
    '5 in',
    '2 to 3',
    '# comment',
    "3'",
  ])('refuses %j immediately', async (expression) => {
    expect(await errorOf(calculate(expression))).toMatchObject({ code: 'invalid_arguments' })
  })

  it('handles the deepest nesting that its length limit allows', async () => {
    expect(await calculate(`${'-'.repeat(498)}1`)).toBe(1)
    expect(await calculate(`${'('.repeat(50)}1${')'.repeat(50)}`)).toBe(1)
    expect(await calculate(`1${'+1'.repeat(249)}`)).toBe(250)
    await expect(calculate(`1${'+1'.repeat(250)}`)).rejects.toThrow('expression')
  })

  it('adds, subtracts and multiplies integers like BigInt', async () => {
    const integers = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n })
    await fc.assert(
      fc.asyncProperty(integers, integers, integers, async (a, b, c) => {
        expect(BigInt(await calculate(`(${a}) * (${b}) - (${c})`))).toBe(a * b - c)
      }),
    )
  })

  it('rounds infinite decimals to the nearest double', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 1 }), async (a, b) => {
        // Two integers that fit in a double: JavaScript rounds their quotient once, and correctly.
        expect(Number(await calculate(`(${a}) / ${b}`))).toBe(a / b + 0)
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.double({ noNaN: true, noDefaultInfinity: true }), async (value) => {
        // A double written out in full is returned unchanged, however many digits that takes.
        expect(Number(await calculate(`(${value}) * 10^300 / 10^300`))).toBe(value + 0)
      }),
    )
  })

  it('only throws errors with a message, whatever the input', async () => {
    const piece = fc.constantFrom(
      '1',
      '2.5',
      '1e9',
      '+',
      '-',
      '*',
      '/',
      '^',
      '%',
      '!',
      '(',
      ')',
      '[',
      ']',
      ',',
      ' ',
      'sqrt(',
      'max(',
      'pi',
      'of',
      'mod',
      'x',
      '.',
    )
    const text = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.array(piece, { minLength: 1, maxLength: 20 }).map((all) => all.join('')),
    )
    await fc.assert(
      fc.asyncProperty(text, async (expression) => {
        const outcome = await calculate(expression).catch((error: unknown) => error)
        if (typeof outcome === 'number') expect(Number.isFinite(outcome)).toBe(true)
        else if (typeof outcome !== 'string') expect(outcome).toMatchObject({ code: 'invalid_arguments' })
      }),
      { numRuns: 500 },
    )
  })
})
