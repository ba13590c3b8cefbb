import { ToolloopError } from '../../../core/errors.ts'

/** A fraction in lowest terms, its denominator above 0. */
export interface Fraction {
  readonly n: bigint
  readonly d: bigint
}

/** A number of the calculator: exact as long as possible, else a double. Never NaN or infinite. */
export type ExactNumber = Fraction | number

/** Fractions with a longer numerator or denominator become doubles: 2048 bits are 616 digits. */
const maxBits = 2048
/** Decimals with more digits than this are shown as a double; https://en.wikipedia.org/wiki/Decimal128_floating-point_format has as many. */
const maxDecimalDigits = 34

export function isExact(value: ExactNumber): value is Fraction {
  return typeof value === 'object'
}

export function problem(message: string): ToolloopError {
  return new ToolloopError('invalid_arguments', message)
}

function tooSmall(): ToolloopError {
  return problem('A number in this calculation is too small: closer to 0 than 5e-324')
}

/** The fraction n/d, or a double if it would be too long. Throws for a denominator of 0. */
export function fraction(n: bigint, d = 1n): ExactNumber {
  if (d === 0n) throw problem('Division by zero')
  const divisor = greatestDivisor(n, d) * (d < 0n ? -1n : 1n)
  const exact = { n: n / divisor, d: d / divisor }
  return bitLength(exact.n) > maxBits || bitLength(exact.d) > maxBits ? double(toDouble(exact)) : exact
}

/** Throws for a double that is infinite or not a number. */
export function double(value: number): number {
  if (Number.isNaN(value)) throw problem('The result is not a real number')
  if (!Number.isFinite(value))
    throw problem('A number in this calculation is too large: whole numbers and fractions may have up to 616 digits, others reach 1.8e308')
  return value
}

/** Rounded to the nearest double, infinite for numbers too large. Throws for a number too small to tell from 0. */
export function toDouble(value: ExactNumber): number {
  if (!isExact(value)) return value
  const { n, d } = value
  // Both fit a double exactly, so that one division rounds once.
  if (d === 1n || (bitLength(n) <= 53 && bitLength(d) <= 53)) return Number(n) / Number(d)
  // Scaled to an integer of at least 64 bits; the remainder leaves a trace in the last bit, so that ties are not rounded wrongly.
  const shift = BigInt(Math.max(0, 66 + bitLength(d) - bitLength(n)))
  const scaled = n << shift
  const quotient = scaled / d
  const inexact = quotient * d !== scaled && (quotient & 1n) === 0n
  const rounded = Number(inexact ? quotient + (n < 0n ? -1n : 1n) : quotient)
  // In two steps, because 2^-shift alone may be too small for a double.
  const half = Number(shift / 2n)
  const nearest = rounded * 2 ** -half * 2 ** -(Number(shift) - half)
  if (nearest === 0 && n !== 0n) throw tooSmall()
  return nearest
}

export function add(a: ExactNumber, b: ExactNumber): ExactNumber {
  return isExact(a) && isExact(b) ? fraction(a.n * b.d + b.n * a.d, a.d * b.d) : double(toDouble(a) + toDouble(b))
}

export function negate(a: ExactNumber): ExactNumber {
  return isExact(a) ? { n: -a.n, d: a.d } : -a
}

export function multiply(a: ExactNumber, b: ExactNumber): ExactNumber {
  return isExact(a) && isExact(b) ? fraction(a.n * b.n, a.d * b.d) : double(toDouble(a) * toDouble(b))
}

export function divide(a: ExactNumber, b: ExactNumber): ExactNumber {
  if (isExact(b) ? b.n === 0n : b === 0) throw problem('Division by zero')
  return isExact(a) && isExact(b) ? fraction(a.n * b.d, a.d * b.n) : double(toDouble(a) / toDouble(b))
}

/** What is left of `a` in whole `b`s, with the sign of `b`: -7 modulo 3 is 2. */
export function modulo(a: ExactNumber, b: ExactNumber): ExactNumber {
  return add(a, negate(multiply(b, floor(divide(a, b)))))
}

/** Below 0, 0 or above 0 as `a` is less than, the same as, or greater than `b`. */
export function compare(a: ExactNumber, b: ExactNumber): number {
  if (!isExact(a) || !isExact(b)) return toDouble(a) - toDouble(b)
  const difference = a.n * b.d - b.n * a.d
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

export function floor(a: ExactNumber): ExactNumber {
  if (!isExact(a)) return Math.floor(a)
  const quotient = a.n / a.d
  return fraction(a.n < 0n && quotient * a.d !== a.n ? quotient - 1n : quotient)
}

export function power(base: ExactNumber, exponent: ExactNumber): ExactNumber {
  if (isExact(base) && isExact(exponent) && exponent.d === 1n) {
    const size = exponent.n < 0n ? -exponent.n : exponent.n
    if (exponent.n < 0n && base.n === 0n) throw problem('Division by zero')
    // 0, 1 and -1 stay small however high the power.
    const bits = BigInt(Math.max(bitLength(base.n), bitLength(base.d)) - 1)
    if (bits === 0n) return fraction(base.n === -1n && size % 2n === 0n ? 1n : size === 0n ? 1n : base.n)
    if (size * bits <= BigInt(maxBits)) {
      return exponent.n < 0n ? fraction(base.d ** size, base.n ** size) : fraction(base.n ** size, base.d ** size)
    }
  }
  if (toDouble(base) === 0 && toDouble(exponent) < 0) throw problem('Division by zero')
  const result = double(toDouble(base) ** toDouble(exponent))
  if (result === 0 && toDouble(base) !== 0) throw tooSmall()
  return result
}

/** Exact for squares of fractions. */
export function squareRoot(a: ExactNumber): ExactNumber {
  if (isExact(a) && a.n >= 0n) {
    const [n, d] = [integerRoot(a.n), integerRoot(a.d)]
    if (n * n === a.n && d * d === a.d) return fraction(n, d)
  }
  return double(Math.sqrt(toDouble(a)))
}

/** The largest integer whose square is not above `value`, by Newton's method. */
function integerRoot(value: bigint): bigint {
  if (value < 2n) return value
  let root = 1n << BigInt((bitLength(value) + 1) >> 1)
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

export function greatestDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b]
  while (y !== 0n) [x, y] = [y, x % y]
  return x
}

function bitLength(value: bigint): number {
  const digits = (value < 0n ? -value : value).toString(16)
  return digits.length * 4 - Math.clz32(Number.parseInt(digits.charAt(0), 16)) + 28
}

/**
 * A number where a double says as much as the fraction does; else its exact decimal text: for integers of any length, for decimals of up
 * to 34 digits. What has no end as a decimal, or a longer one, is the nearest double.
 */
export function toText(value: ExactNumber): number | string {
  const nearest = toDouble(value)
  // Not -0.
  if (!isExact(value)) return nearest === 0 ? 0 : nearest
  const text = decimalText(value)
  if (text === undefined) return double(nearest)
  // Such a double may be shown as the same integer and still be another.
  if (value.d === 1n && !Number.isSafeInteger(nearest)) return text
  return Number.isFinite(nearest) && (isDouble(value) || decimalText(decimalOf(nearest)) === text) ? nearest : text
}

/** Whether a double can be this very fraction. */
function isDouble({ n, d }: Fraction): boolean {
  return bitLength(n) <= 53 && (d & (d - 1n)) === 0n
}

/** The decimal a double is shown as: 1/10 of `0.1`. */
export function decimalOf(value: number): Fraction {
  const [digits = '0', exponent = '0'] = value.toExponential().split('e')
  const [integer = '0', decimals = ''] = digits.split('.')
  const n = BigInt(integer + decimals)
  const places = decimals.length - Number(exponent)
  const [top, bottom] = places < 0 ? [n * 10n ** BigInt(-places), 1n] : [n, 10n ** BigInt(places)]
  const divisor = greatestDivisor(top, bottom)
  return { n: top / divisor, d: bottom / divisor }
}

/** The whole decimal text, undefined if it has no end or, of a decimal, more than 34 digits. */
function decimalText({ n, d }: Fraction): string | undefined {
  if (d === 1n) return n.toString()
  let rest = d
  let places = 0
  for (; rest % 10n === 0n; rest /= 10n) places++
  const factor = rest % 2n === 0n ? 2n : 5n
  for (; rest % factor === 0n; rest /= factor) places++
  if (rest !== 1n) return undefined
  const digits = ((n < 0n ? -n : n) * 10n ** BigInt(places)) / d
  const text = digits.toString().padStart(places + 1, '0')
  if (digits.toString().length > maxDecimalDigits) return undefined
  return `${n < 0n ? '-' : ''}${text.slice(0, -places)}.${text.slice(-places)}`
}
