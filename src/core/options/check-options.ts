import { InvalidOptionError } from '../errors.ts'
import { checkOptionNames, type OtherOptions } from '../option-names.ts'

/** Throws `invalid_option` for a value that an option can't have. Not called for undefined. `at`: the path of the option, for the message. */
export type Check = (value: unknown, at: string) => void

/** How each option of a type is checked. The compiler rejects a missing option and an unknown one. */
export type OptionChecks<Options> = Readonly<Record<keyof Options, Check>>

/** Throws `invalid_option` for an unknown option and for a value that is not allowed. The parameters are those of `checkOptionNames`. */
export function checkOptions(
  options: object,
  checks: Readonly<Record<string, Check>>,
  of: string,
  at?: string,
  other?: OtherOptions,
): void {
  checkOptionNames(options, checks, of, at, other)
  checkValues(options, checks, at)
}

/** Throws `invalid_option` for a value that is not allowed. */
export function checkValues(options: object, checks: Readonly<Record<string, Check>>, at?: string): void {
  for (const name in options) {
    const value: unknown = Reflect.get(options, name)
    if (value !== undefined && Object.hasOwn(checks, name)) checks[name]?.(value, at === undefined ? name : `${at}.${name}`)
  }
}

/** A check in one line: `expected` completes "Expected `option` to be …". */
export function expecting(expected: string, isAllowed: (value: unknown) => boolean): Check {
  return (value, at) => {
    if (!isAllowed(value)) throw new InvalidOptionError(at, expected, value)
  }
}

/** For options that are checked where they are used, or by their types alone. */
export const unchecked: Check = () => {}

export const boolean: Check = expecting('true or false', (value) => typeof value === 'boolean')
export const callback: Check = expecting('a function', (value) => typeof value === 'function')
export const text: Check = expecting('a string, not empty', (value) => typeof value === 'string' && value !== '')
export const amount: Check = expecting('a number > 0', isPositive)
export const milliseconds: Check = expecting('a number of milliseconds > 0', isPositive)

export function integer(least: number): Check {
  return expecting(`an integer ≥ ${least}`, (value) => isInteger(value, least))
}

/** An integer, or `Infinity` for no limit. */
export function integerOrNone(least: number): Check {
  return expecting(`an integer ≥ ${least}`, (value) => value === Number.POSITIVE_INFINITY || isInteger(value, least))
}

export function oneOf(...values: readonly string[]): Check {
  const quoted = values.map((value) => `'${value}'`)
  const expected = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter((part) => part !== '').join(' or ')
  return expecting(expected, (value) => values.includes(value as string))
}

/** An object with options of its own. */
export function optionsOf(checks: Readonly<Record<string, Check>>, of: string): Check {
  return (value, at) => checkOptions(value as object, checks, of, at)
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0
}

function isInteger(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least
}
