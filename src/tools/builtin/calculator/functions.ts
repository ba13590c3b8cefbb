import { Fraction } from 'fraction.js'
import {
  add,
  compare,
  decimalOf,
  divide,
  double,
  type ExactNumber,
  floor,
  fraction,
  isExact,
  modulo,
  multiply,
  negate,
  power,
  problem,
  shortened,
  squareRoot,
  toDouble,
} from './exact-number.ts'

export const constants: ReadonlyMap<string, number> = new Map([
  ['pi', Math.PI],
  ['tau', 2 * Math.PI],
  ['e', Math.E],
])

interface CalculatorFunction {
  minArgs: number
  maxArgs: number
  run(args: ExactNumber[]): ExactNumber
}

const zero = fraction(0n)

const unary = (run: (x: ExactNumber) => ExactNumber): CalculatorFunction => ({ minArgs: 1, maxArgs: 1, run: ([x = zero]) => run(x) })
/** Creates a function that converts its argument to a double. */
const real = (run: (x: number) => number): CalculatorFunction => unary((x) => double(run(toDouble(x))))
const binary = (run: (x: ExactNumber, y: ExactNumber) => ExactNumber): CalculatorFunction => ({
  minArgs: 2,
  maxArgs: 2,
  run: ([x = zero, y = zero]) => run(x, y),
})
/** Creates a function that accepts any number of arguments, or a list. */
const overList = (run: (all: ExactNumber[]) => ExactNumber): CalculatorFunction => ({ minArgs: 1, maxArgs: Number.POSITIVE_INFINITY, run })

const sum = (all: ExactNumber[]): ExactNumber => all.reduce(add, zero)
const mean = (all: ExactNumber[]): ExactNumber => divide(sum(all), fraction(BigInt(all.length)))
const least = (all: ExactNumber[]): ExactNumber => all.reduce((a, b) => (compare(b, a) < 0 ? b : a))
const greatest = (all: ExactNumber[]): ExactNumber => all.reduce((a, b) => (compare(b, a) > 0 ? b : a))
const ceiling = (x: ExactNumber): ExactNumber => negate(floor(negate(x)))
const absolute = (x: ExactNumber): ExactNumber => (compare(x, zero) < 0 ? negate(x) : x)
const log: CalculatorFunction = {
  minArgs: 1,
  maxArgs: 2,
  run: ([x = zero, base]) => logarithm(Math.log, x, base),
}
const meanOf = overList(mean)

const functions = new Map<string, CalculatorFunction>(
  Object.entries({
    sqrt: unary(squareRoot),
    cbrt: real(Math.cbrt),
    abs: unary(absolute),
    round: { minArgs: 1, maxArgs: 2, run: ([x = zero, places]) => round(x, places) },
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
    gcd: overList((all) => all.map(whole).reduce((a, b) => a.gcd(b))),
    lcm: overList((all) => all.reduce((a, b) => shortened(whole(a).lcm(whole(b))))),
    factorial: unary(factorial),
    exp: real(Math.exp),
    log,
    ln: { ...log, maxArgs: 1 },
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

/** Finds a function by name. The returned function throws for a wrong number of arguments. Throws for an unknown name. */
export function functionNamed(name: string): (args: ExactNumber[]) => ExactNumber {
  const known = functions.get(name)
  if (known === undefined) {
    const names = [...constants.keys(), ...functions.keys()].join(', ')
    throw problem(`Unknown name \`${name}\`; units and variables are not supported. Known names: ${names}`)
  }
  const { minArgs, maxArgs, run } = known
  return (args) => {
    if (args.length >= minArgs && args.length <= maxArgs) return run(args)
    const count =
      minArgs === maxArgs ? `${minArgs}` : maxArgs === Number.POSITIVE_INFINITY ? `${minArgs} or more` : `${minArgs} or ${maxArgs}`
    throw problem(`Expected \`${name}\` to have ${count} argument${maxArgs === 1 ? '' : 's'}, got ${args.length}`)
  }
}

/** Rounds a number. Halves are rounded away from zero. */
function round(x: ExactNumber, places: ExactNumber = zero): ExactNumber {
  const digits = Number(whole(places))
  if (digits < -300 || digits > 300) throw problem(`Expected \`round\` to be given -300 to 300 decimal places, got ${digits}`)
  // A double is rounded as the decimal number that is printed for it.
  const shown = isExact(x) ? x : decimalOf(x)
  const scale = power(fraction(10n), fraction(BigInt(digits)))
  const rounded = divide(floor(add(multiply(absolute(shown), scale), fraction(1n, 2n))), scale)
  return compare(shown, zero) < 0 ? negate(rounded) : rounded
}

function median(all: ExactNumber[]): ExactNumber {
  const sorted = all.toSorted(compare)
  return mean(sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1))
}

function whole(x: ExactNumber): Fraction {
  if (isExact(x) && x.d === 1n) return x
  if (!isExact(x) && Number.isInteger(x)) return new Fraction(BigInt(x))
  throw problem(`Expected a whole number, got ${toDouble(x)}`)
}

export function factorial(x: ExactNumber): ExactNumber {
  const n = whole(x).valueOf()
  // 300! is the largest factorial that stays exact. 170! is the largest that fits in a double.
  if (n < 0 || n > 300) throw problem(`Expected the factorial of a whole number from 0 to 300, got ${toDouble(x)}`)
  let product = 1n
  for (let factor = 2; factor <= n; factor++) product *= BigInt(factor)
  return fraction(product)
}

function logarithm(log: (x: number) => number, x: ExactNumber, base?: ExactNumber): ExactNumber {
  for (const number of [x, ...(base === undefined ? [] : [base])]) {
    if (compare(number, zero) <= 0) throw problem(`Expected the logarithm of a number above 0, got ${toDouble(number)}`)
  }
  return base === undefined ? double(log(toDouble(x))) : divide(double(log(toDouble(x))), double(log(toDouble(base))))
}

/** Rounds a tiny result to 0, because the constant π is inexact: sin(pi) would be 1.2e-16. */
function withoutNoise(result: number, of: number): number {
  return Math.abs(result) < 1e-15 && Math.abs(of) > 1 ? 0 : result
}
