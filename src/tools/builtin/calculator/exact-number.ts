import { Fraction } from 'fraction.js'
import { ToolloopError } from '../../../core/errors.ts'

/** A number of the calculator: exact as long as possible, otherwise a double. Never NaN or infinite. */
export type ExactNumber = Fraction | number

/** Maximum number of bits of a numerator or denominator. Longer fractions become doubles. 2048 bits are 616 digits. */
const maxBits = 2048
/**
 * Maximum number of digits of a decimal. Longer decimals are shown as a double. The format decimal128 has the same limit:
 * https://en.wikipedia.org/wiki/Decimal128_floating-point_format
 */
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

/** Returns the fraction n/d, or a double if the fraction would be too long. Throws if the denominator is 0. */
export function fraction(n: bigint, d = 1n): ExactNumber {
  if (d === 0n) throw problem('Division by zero')
  return shortened(new Fraction(n, d))
}

/** Returns the fraction, or a double if the fraction is too long. */
export function shortened(exact: Fraction): ExactNumber {
  return bitLength(exact.n) > maxBits || bitLength(exact.d) > maxBits ? double(toDouble(exact)) : exact
}

/** Checks a double. Throws if the value is infinite or not a number. */
export function double(value: number): number {
  if (Number.isNaN(value)) throw problem('The result is not a real number')
  if (!Number.isFinite(value))
    throw problem('A number in this calculation is too large: whole numbers and fractions may have up to 616 digits, others reach 1.8e308')
  return value
}

/** Rounds to the nearest double. Returns infinity if the number is too large. Throws if a number other than 0 would become 0. */
export function toDouble(value: ExactNumber): number {
  if (!isExact(value)) return value
  const { s, n, d } = value
  // Both numbers fit in a double exactly, so a single division rounds only once.
  if (d === 1n || (bitLength(n) <= 53 && bitLength(d) <= 53)) return Number(s * n) / Number(d)
  // Scales to an integer of at least 64 bits. A remainder sets the last bit, so that ties are rounded correctly.
  const shift = BigInt(Math.max(0, 66 + bitLength(d) - bitLength(n)))
  const scaled = n << shift
  const quotient = scaled / d
  const inexact = quotient * d !== scaled && (quotient & 1n) === 0n
  const rounded = Number(s * (inexact ? quotient + 1n : quotient))
  // The scaling is done in two steps, because 2^-shift alone may be too small for a double.
  const half = Number(shift / 2n)
  const nearest = rounded * 2 ** -half * 2 ** -(Number(shift) - half)
  if (nearest === 0 && n !== 0n) throw tooSmall()
  return nearest
}

export function add(a: ExactNumber, b: ExactNumber): ExactNumber {
  return isExact(a) && isExact(b) ? shortened(a.add(b)) : double(toDouble(a) + toDouble(b))
}

export function negate(a: ExactNumber): ExactNumber {
  return isExact(a) ? a.neg() : -a
}

export function multiply(a: ExactNumber, b: ExactNumber): ExactNumber {
  return isExact(a) && isExact(b) ? shortened(a.mul(b)) : double(toDouble(a) * toDouble(b))
}

export function divide(a: ExactNumber, b: ExactNumber): ExactNumber {
  if (isExact(b) ? b.n === 0n : b === 0) throw problem('Division by zero')
  return isExact(a) && isExact(b) ? shortened(a.div(b)) : double(toDouble(a) / toDouble(b))
}

/** Returns the remainder of `a` divided by `b`, with the sign of `b`: -7 modulo 3 is 2. */
export function modulo(a: ExactNumber, b: ExactNumber): ExactNumber {
  return add(a, negate(multiply(b, floor(divide(a, b)))))
}

/** Compares two numbers like the callback of `Array.prototype.sort`. */
export function compare(a: ExactNumber, b: ExactNumber): number {
  return isExact(a) && isExact(b) ? a.compare(b) : toDouble(a) - toDouble(b)
}

export function floor(a: ExactNumber): ExactNumber {
  return isExact(a) ? a.floor() : Math.floor(a)
}

export function power(base: ExactNumber, exponent: ExactNumber): ExactNumber {
  if (isExact(base) && isExact(exponent) && exponent.d === 1n) {
    if (exponent.s < 0n && base.n === 0n) throw problem('Division by zero')
    // Powers of 0, 1 and -1 stay small for every exponent.
    const bits = BigInt(Math.max(bitLength(base.n), bitLength(base.d)) - 1)
    if (bits === 0n) return exponent.n === 0n || (base.s < 0n && exponent.n % 2n === 0n) ? fraction(1n) : base
    const raised = exponent.n * bits <= BigInt(maxBits) ? base.pow(exponent) : null
    if (raised !== null) return shortened(raised)
  }
  if (toDouble(base) === 0 && toDouble(exponent) < 0) throw problem('Division by zero')
  const result = double(toDouble(base) ** toDouble(exponent))
  if (result === 0 && toDouble(base) !== 0) throw tooSmall()
  return result
}

/** Returns the square root. It is exact for squares of fractions. */
export function squareRoot(a: ExactNumber): ExactNumber {
  if (isExact(a) && a.s >= 0n) {
    const [n, d] = [integerRoot(a.n), integerRoot(a.d)]
    if (n * n === a.n && d * d === a.d) return fraction(n, d)
  }
  return double(Math.sqrt(toDouble(a)))
}

/** Returns the largest integer whose square is at most `value`, by Newton's method. */
function integerRoot(value: bigint): bigint {
  if (value < 2n) return value
  let root = 1n << BigInt((bitLength(value) + 1) >> 1)
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

function bitLength(value: bigint): number {
  const digits = value.toString(16)
  return digits.length * 4 - Math.clz32(Number.parseInt(digits.charAt(0), 16)) + 28
}

/**
 * Converts a result for output. Returns a number if it loses no digits. Otherwise returns the exact decimal text, for integers of any
 * length and decimals of up to 34 digits. For infinite or longer decimals, returns the nearest double.
 */
export function toText(value: ExactNumber): number | string {
  const nearest = toDouble(value)
  // Never returns -0.
  if (!isExact(value)) return nearest === 0 ? 0 : nearest
  const text = decimalText(value)
  if (text === undefined) return double(nearest)
  // Beyond the safe integers, a double may differ from the exact number although both print the same digits.
  if (value.d === 1n && !Number.isSafeInteger(nearest)) return text
  return Number.isFinite(nearest) && (isDouble(value) || decimalText(decimalOf(nearest)) === text) ? nearest : text
}

/** Whether a double can represent this fraction exactly. */
function isDouble({ n, d }: Fraction): boolean {
  return bitLength(n) <= 53 && (d & (d - 1n)) === 0n
}

/** Returns the decimal number that is printed for a double, for example 1/10 for `0.1`. */
export function decimalOf(value: number): Fraction {
  const [digits = '0', exponent = '0'] = value.toExponential().split('e')
  const [integer = '0', decimals = ''] = digits.split('.')
  const n = BigInt(integer + decimals)
  const places = decimals.length - Number(exponent)
  return places < 0 ? new Fraction(n * 10n ** BigInt(-places)) : new Fraction(n, 10n ** BigInt(places))
}

/** Returns the complete decimal text. Undefined if the decimal is infinite or has more than 34 digits. */
function decimalText({ s, n, d }: Fraction): string | undefined {
  if (d === 1n) return (s * n).toString()
  let rest = d
  let places = 0
  for (; rest % 10n === 0n; rest /= 10n) places++
  const factor = rest % 2n === 0n ? 2n : 5n
  for (; rest % factor === 0n; rest /= factor) places++
  if (rest !== 1n) return undefined
  const digits = (n * 10n ** BigInt(places)) / d
  const text = digits.toString().padStart(places + 1, '0')
  if (digits.toString().length > maxDecimalDigits) return undefined
  return `${s < 0n ? '-' : ''}${text.slice(0, -places)}.${text.slice(-places)}`
}
