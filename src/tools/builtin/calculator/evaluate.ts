import { show } from '../../../core/errors.ts'
import {
  add,
  compare,
  decimalOf,
  divide,
  double,
  type ExactNumber,
  floor,
  fraction,
  greatestDivisor,
  isExact,
  multiply,
  negate,
  power,
  problem,
  squareRoot,
  toDouble,
} from './exact-number.ts'

/** What is read of a parsed expression's nodes; which fields are there depends on the type. */
export interface ExpressionNode {
  readonly type: string
  readonly value?: unknown
  readonly name?: unknown
  readonly op?: unknown
  readonly fn?: unknown
  readonly content?: ExpressionNode
  readonly args?: readonly ExpressionNode[]
  readonly items?: readonly ExpressionNode[]
}

/** The operator that stands for percent in a parsed expression. */
export const percentOperator = "'"

/** Lists are taken by functions only. */
type Value = ExactNumber | Value[]

/**
 * The value of a parsed expression. Only the tree is the parser's: nodes not known here are refused, and every operation is one of ours
 * and bounded, so that an expression costs time in proportion to its length. Throws `invalid_arguments`.
 */
export function evaluate(node: ExpressionNode): ExactNumber {
  const value = reduce(node)
  if (Array.isArray(value)) throw problem('Expected a number, got a list; `sum`, `mean`, `min` or `max` make one number of it')
  return value
}

function reduce(node: ExpressionNode): Value {
  const { type, content, items, args, fn } = node
  if (type === 'ConstantNode') return literal(node.value)
  if (type === 'ParenthesisNode' && content !== undefined) return reduce(content)
  if (type === 'SymbolNode') return constant(String(node.name))
  if (type === 'ArrayNode' && items !== undefined) return items.map(reduce)
  if (type === 'OperatorNode' && args !== undefined) return operate(String(node.op), args)
  if (type === 'FunctionNode' && args !== undefined && isNode(fn) && fn.type === 'SymbolNode') return call(String(fn.name), args)
  throw problem(`Expected numbers, operators and functions, got something else (${type.replace(/Node$/, '').toLowerCase()})`)
}

function isNode(value: unknown): value is ExpressionNode {
  return typeof value === 'object' && value !== null && 'type' in value
}

/** Numbers are parsed as fractions: sign, numerator, denominator. */
function literal(value: unknown): ExactNumber {
  if (typeof value === 'object' && value !== null && 's' in value && 'n' in value && 'd' in value) {
    const { s, n, d } = value
    if (typeof s === 'bigint' && typeof n === 'bigint' && typeof d === 'bigint') return fraction(s * n, d)
  }
  throw problem(`Expected a number, got ${show(value)}`)
}

const constants = new Map<string, number>([
  ['pi', Math.PI],
  ['tau', 2 * Math.PI],
  ['e', Math.E],
])

function constant(name: string): ExactNumber {
  const known = constants.get(name)
  if (known !== undefined) return known
  if (functions.has(name)) throw problem(`Expected \`${name}\` to be followed by its arguments in parentheses`)
  throw unknownName(name)
}

function unknownName(name: string): Error {
  const names = [...constants.keys(), ...functions.keys()].join(', ')
  return problem(`Unknown name \`${name}\`; units and variables are not supported. Known names: ${names}`)
}

function operate(op: string, [left, right]: readonly ExpressionNode[]): ExactNumber {
  if (left === undefined) throw problem('Expected an operand')
  if (right === undefined) {
    const value = evaluate(left)
    if (op === '-') return negate(value)
    if (op === '+') return value
    if (op === '!') return factorial(value)
    if (op === percentOperator) return divide(value, fraction(100n))
    throw problem(`Unknown operator \`${op}\``)
  }
  const base = evaluate(left)
  if ((op === '+' || op === '-') && right.op === percentOperator) {
    // `200 + 5%` is five percent more than 200, as on every pocket calculator.
    const part = evaluate(right)
    return multiply(base, add(fraction(1n), op === '+' ? part : negate(part)))
  }
  const other = evaluate(right)
  switch (op) {
    case '+':
      return add(base, other)
    case '-':
      return add(base, negate(other))
    case '*':
      return multiply(base, other)
    case '/':
      return divide(base, other)
    case '%':
    case 'mod':
      return modulo(base, other)
    case '^':
      return power(base, other)
    default:
      throw problem(`Unknown operator \`${op}\`; known are + - * / ^ % ! and parentheses`)
  }
}

interface CalculatorFunction {
  least: number
  most: number
  run(args: ExactNumber[]): ExactNumber
}

const zero = fraction(0n)

/** A function of one number. */
const unary = (run: (x: ExactNumber) => ExactNumber): CalculatorFunction => ({ least: 1, most: 1, run: ([x = zero]) => run(x) })
/** A function of one number whose value has no end as a decimal: as exact as a double. */
const real = (run: (x: number) => number): CalculatorFunction => unary((x) => double(run(toDouble(x))))
const binary = (run: (x: ExactNumber, y: ExactNumber) => ExactNumber): CalculatorFunction => ({
  least: 2,
  most: 2,
  run: ([x = zero, y = zero]) => run(x, y),
})
/** A function of any number of numbers, or of a list of them. */
const overList = (run: (all: ExactNumber[]) => ExactNumber): CalculatorFunction => ({ least: 1, most: Number.POSITIVE_INFINITY, run })

const sum = (all: ExactNumber[]): ExactNumber => all.reduce(add, zero)
const mean = (all: ExactNumber[]): ExactNumber => divide(sum(all), fraction(BigInt(all.length)))
const least = (all: ExactNumber[]): ExactNumber => all.reduce((a, b) => (compare(b, a) < 0 ? b : a))
const greatest = (all: ExactNumber[]): ExactNumber => all.reduce((a, b) => (compare(b, a) > 0 ? b : a))
const ceiling = (x: ExactNumber): ExactNumber => negate(floor(negate(x)))
const absolute = (x: ExactNumber): ExactNumber => (compare(x, zero) < 0 ? negate(x) : x)
const log: CalculatorFunction = {
  least: 1,
  most: 2,
  run: ([x = zero, base]) => logarithm(Math.log, x, base),
}
const meanOf = overList(mean)

const functions = new Map<string, CalculatorFunction>(
  Object.entries({
    sqrt: unary(squareRoot),
    cbrt: real(Math.cbrt),
    abs: unary(absolute),
    round: { least: 1, most: 2, run: ([x = zero, places]) => round(x, places) },
    floor: unary(floor),
    ceil: unary(ceiling),
    trunc: unary((x) => (compare(x, zero) < 0 ? ceiling(x) : floor(x))),
    sign: unary((x) => fraction(BigInt(Math.sign(compare(x, zero))))),
    min: overList(least),
    max: overList(greatest),
    sum: overList(sum),
    mean: meanOf,
    avg: meanOf,
    average: meanOf,
    median: overList(median),
    mod: binary(modulo),
    pow: binary(power),
    gcd: overList((all) => fraction(all.map(whole).reduce(greatestDivisor))),
    lcm: overList((all) => all.reduce(commonMultiple)),
    factorial: unary(factorial),
    exp: real(Math.exp),
    log,
    ln: { ...log, most: 1 },
    log10: unary((x) => logarithm(Math.log10, x)),
    log2: unary((x) => logarithm(Math.log2, x)),
    sin: real((x) => withoutNoise(Math.sin(x), x)),
    cos: real((x) => withoutNoise(Math.cos(x), x)),
    tan: real((x) => withoutNoise(Math.tan(x), x)),
    asin: real(Math.asin),
    acos: real(Math.acos),
    atan: real(Math.atan),
  }),
)

function call(name: string, args: readonly ExpressionNode[]): ExactNumber {
  const known = functions.get(name)
  if (known === undefined) throw unknownName(name)
  const values = args.flatMap((arg) => flatten(reduce(arg)))
  if (values.length < known.least || values.length > known.most) {
    const expected = known.least === known.most ? `${known.least}` : `${known.least} or more`
    throw problem(
      `Expected \`${name}\` to have ${known.most === 2 && known.least === 1 ? '1 or 2' : expected} arguments, got ${values.length}`,
    )
  }
  return known.run(values)
}

function flatten(value: Value): ExactNumber[] {
  return Array.isArray(value) ? value.flatMap(flatten) : [value]
}

/** With the sign of the divisor: -7 mod 3 is 2. */
function modulo(x: ExactNumber, y: ExactNumber): ExactNumber {
  return add(x, negate(multiply(y, floor(divide(x, y)))))
}

/** Halves away from zero. */
function round(x: ExactNumber, places: ExactNumber = zero): ExactNumber {
  const digits = Number(whole(places))
  if (digits < -300 || digits > 300) throw problem(`Expected \`round\` to be given -300 to 300 decimal places, got ${digits}`)
  // A double is rounded as the decimal it shows.
  const shown = isExact(x) ? x : decimalOf(x)
  const scale = power(fraction(10n), fraction(BigInt(digits)))
  const rounded = divide(floor(add(multiply(absolute(shown), scale), fraction(1n, 2n))), scale)
  return compare(shown, zero) < 0 ? negate(rounded) : rounded
}

function median(all: ExactNumber[]): ExactNumber {
  const sorted = all.toSorted(compare)
  return mean(sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1))
}

function whole(x: ExactNumber): bigint {
  if (isExact(x) && x.d === 1n) return x.n
  if (!isExact(x) && Number.isInteger(x)) return BigInt(x)
  throw problem(`Expected a whole number, got ${toDouble(x)}`)
}

function commonMultiple(a: ExactNumber, b: ExactNumber): ExactNumber {
  const [x, y] = [whole(a), whole(b)]
  return x === 0n || y === 0n ? zero : absolute(fraction((x / greatestDivisor(x, y)) * y))
}

function factorial(x: ExactNumber): ExactNumber {
  const n = whole(x)
  // 300! is the last that is kept exact; 170! the last that fits a double.
  if (n < 0n || n > 300n) throw problem(`Expected the factorial of a whole number from 0 to 300, got ${toDouble(x)}`)
  let product = 1n
  for (let factor = 2n; factor <= n; factor++) product *= factor
  return fraction(product)
}

function logarithm(log: (x: number) => number, x: ExactNumber, base?: ExactNumber): ExactNumber {
  for (const number of [x, ...(base === undefined ? [] : [base])]) {
    if (compare(number, zero) <= 0) throw problem(`Expected the logarithm of a number above 0, got ${toDouble(number)}`)
  }
  return base === undefined ? double(log(toDouble(x))) : divide(double(log(toDouble(x))), double(log(toDouble(base))))
}

/** π is not exactly what the constant says, so sin(pi) comes out as 1.2e-16 where 0 is meant. */
function withoutNoise(result: number, of: number): number {
  return Math.abs(result) < 1e-15 && Math.abs(of) > 1 ? 0 : result
}
